package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whose {@code request_timeout_s} a request by HTTP has. */
class RequestTimeoutsTest {
  @AutoClose private static @Nullable TestNode node;

  private static String of(String name, String more) {
    String code = "dev.berth.node.TestApplications:never";
    return "{name: %1$s, route_prefix: /%1$s, import_path: '%2$s', %3$s}"
        .formatted(name, code, more);
  }

  @BeforeAll
  static void start() throws Exception {
    node =
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0, request_timeout_s: 0.3}
            applications: [%s, %s, %s]
            berth: {event_loops: 1, admin: {port: 0}}
            """
                .formatted(
                    of("plain", "args: {}"),
                    of("app", "berth: {request_timeout_s: 0.2}"),
                    of(
                        "both",
                        "berth: {request_timeout_s: 0.2}, deployments: [{name: never, berth:"
                            + " {request_timeout_s: 0.1}}]")));
  }

  private static HttpResponse<String> ask(String path, String... headers) {
    return Objects.requireNonNull(node).get(path, headers);
  }

  @ParameterizedTest
  @CsvSource({"/plain, 0.3", "/app, 0.2", "/both, 0.1"})
  void theNearestScopeThatSaysOneWins(String path, String seconds) {
    HttpResponse<String> answer = ask(path);
    assertThat(answer.statusCode()).isEqualTo(408);
    assertThat(answer.body()).endsWith(" timed out after " + seconds + "s.");
  }

  @Test
  void theClientsHeaderGoesBeforeAllOfThem() {
    assertThat(ask("/both", "x-request-timeout-seconds", "0.15").body())
        .endsWith(" timed out after 0.15s.");
    assertThat(ask("/both", "x-request-timeout-seconds", "soon").body())
        .as("what is no number is ignored")
        .endsWith(" timed out after 0.1s.");
  }

  @Test
  void whoSpentItsOwnBudgetIsAnsweredSoAndAtOnce() {
    HttpResponse<String> answer = ask("/plain/spent", "x-request-timeout-seconds", "60");
    assertThat(answer.statusCode()).isEqualTo(408);
    assertThat(answer.body()).endsWith(" timed out.");
  }
}
