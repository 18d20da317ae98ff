package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReservationOptionsTest {
  private static List<String> problems(String reservations) {
    return Yaml.problems("applications: []\nberth:\n  reservations: " + reservations + "\n");
  }

  @Test
  void theDataPortWantsToKnowWhoAsks() {
    assertThat(problems("{data_port: true}"))
        .containsExactly(
            "berth.yaml:3:29: berth.reservations.data_port: true, without client authentication"
                + " (expected: bearer_tokens too, or http_options.ssl_ca_certs)");
    assertThat(problems("{data_port: true, bearer_tokens: [{name: ci, token: 0123456789abcdef}]}"))
        .isEmpty();
  }

  @Test
  void aBearerTokenIsLongEnoughAndNotShown() {
    assertThat(problems("{bearer_tokens: [{name: ci, token: hunter2}]}"))
        .hasSize(1)
        .first()
        .asString()
        .contains("token: duplicate; its value is not shown", "at least 16 printable")
        .doesNotContain("hunter2");
    assertThat(BearerToken.of("ci", "0123456789abcdef"))
        .hasToString("{name=ci, token=(not shown), role=operator}");
  }

  @Test
  void aBearerTokenHasOnePlaceAndOneName() {
    onlyProblem(problems("{bearer_tokens: [{name: ci}]}"))
        .contains("token: missing (expected: token or token_file)");
    assertThat(
            problems(
                "{bearer_tokens: [{name: a, token: 0123456789abcdef},"
                    + " {name: a, token: 0123456789abcdeg}]}"))
        .hasSize(1);
  }

  @Test
  void aBearerTokenMayComeFromAFile(@TempDir Path folder) throws IOException {
    Path secret = Files.writeString(folder.resolve("secret"), "0123456789abcdef\n");
    ServeConfig config =
        Yaml.read(
            "applications: []\nberth: {reservations: {bearer_tokens: [{name: ci, token_file: '"
                + secret
                + "'}]}}");
    assertThat(BearerToken.secrets(config.get(ReservationOptions.BEARER_TOKENS)))
        .isEqualTo(Map.of("ci", "0123456789abcdef"));
  }
}
