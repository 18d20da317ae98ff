package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SubmissionTest {
  @TempDir Path folder;

  @BeforeEach
  void jars() throws IOException {
    Files.createDirectories(folder.resolve("lib"));
    Files.writeString(folder.resolve("lib/shop.jar"), "");
    Files.writeString(folder.resolve("lib/more.jar"), "");
  }

  private DeployPayload submission(String text, Setting... settings) throws IOException {
    Path file = Files.writeString(folder.resolve("serve.yaml"), text);
    return ConfigReader.submission(file, List.of(settings));
  }

  @Test
  void itIsTheFileWithWhatIsSetOverItAndWhatIsNotSaidIsNotInIt() throws IOException {
    DeployPayload submission =
        submission(
            """
            target_capacity: 50
            applications:
              - name: shop
                import_path: a.B:c
                args: {n: 0x10, deep: [1.5, null, "1"]}
                deployments: [{name: cart}]
            """,
            Setting.parse("--set", "applications.shop.deployments.cart.num_replicas=3"));

    assertThat(submission.document())
        .isEqualTo(
            Map.of(
                "target_capacity",
                50,
                "applications",
                List.of(submission.applications().get("shop"))));
    assertThat(submission.applications().get("shop"))
        .isEqualTo(
            Map.of(
                "name",
                "shop",
                "import_path",
                "a.B:c",
                "args",
                Map.of("n", 16, "deep", Arrays.asList(1.5, null, "1")),
                "deployments",
                List.of(Map.of("name", "cart", "num_replicas", 3))));
    assertThat(submission.config().applications()).hasSize(1);
  }

  @Test
  void jarsAreAbsoluteFromTheFileOrFromTheCurrentFolderWhereTheyAreSet() throws IOException {
    String text = "applications: [{name: shop, import_path: 'a.B:c', runtime_env: {jars: [lib]}}]";

    assertThat(submission(text).applications().get("shop").get("runtime_env"))
        .isEqualTo(
            Map.of(
                "jars",
                List.of(
                    folder.resolve("lib/more.jar").toString(),
                    folder.resolve("lib/shop.jar").toString())));

    Path current = Path.of("").toAbsolutePath();
    String fromHere = current.relativize(folder.resolve("lib/more.jar")).toString();
    assertThat(
            submission(
                    text,
                    Setting.parse(
                        "--set", "applications.shop.runtime_env.jars=['" + fromHere + "']"))
                .applications()
                .get("shop")
                .get("runtime_env"))
        .isEqualTo(Map.of("jars", List.of(folder.resolve("lib/more.jar").toString())));
  }

  @Test
  void whatIsOfTheInstanceIsLeftOutWithItsSecrets() throws IOException {
    DeployPayload submission =
        submission(
            """
            http_options: {port: 1}
            logging_config: {encoding: JSON}
            applications: []
            berth: {reservations: {bearer_tokens: [{name: ci, token: 0123456789abcdef}]}}
            """);

    assertThat(submission.leftOut()).containsExactly("http_options", "logging_config", "berth");
    assertThat(submission.document()).isEqualTo(Map.of("applications", List.of()));
  }

  @Test
  void aFileWithProblemsIsNoSubmission() {
    assertThatThrownBy(() -> submission("applications: [{name: 1}]\nfoo: 1\n"))
        .isInstanceOfSatisfying(
            ConfigException.class, refused -> assertThat(refused.problems()).hasSize(3));
  }
}
