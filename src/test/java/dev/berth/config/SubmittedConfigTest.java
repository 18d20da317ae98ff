package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.config.keys.ConfigProblem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SubmittedConfigTest {

  private static final ServeConfig RUNNING =
      Yaml.read(
          """
          http_options: {host: 127.0.0.1, port: 8001}
          logging_config: {encoding: JSON}
          berth: {limits: {max_reservation_ttl_s: 5}}
          applications: [{import_path: a.Old}]
          """);

  @TempDir Path folder;

  private ServeConfig read(String text) {
    return SubmittedConfig.read("PUT", folder, text, null, RUNNING, jar -> null);
  }

  private ServeConfig readOne(String text) {
    return SubmittedConfig.read("PUT", folder, text, "shop", RUNNING, jar -> null);
  }

  @Test
  void applicationsAndCapacityAreTakenAndTheRestIsAsItRuns() {
    ServeConfig read =
        read("{\"applications\": [{\"import_path\": \"a.B:c\"}], \"target_capacity\": 50}");

    assertThat(read.applications()).extracting(ApplicationConfig::name).containsExactly("default");
    assertThat(
            read.applications()
                .get(0)
                .get(ApplicationConfig.LOGGING_CONFIG)
                .get(LoggingOptions.ENCODING))
        .isEqualTo(LogEncoding.JSON);
    assertThat(read.find(ServeConfig.TARGET_CAPACITY)).isEqualTo(50);
    assertThat(read.get(ServeConfig.HTTP_OPTIONS)).isEqualTo(RUNNING.get(ServeConfig.HTTP_OPTIONS));
    assertThat(read.get(ServeConfig.BERTH)).isEqualTo(RUNNING.get(ServeConfig.BERTH));
    assertThat(read.warnings()).isEmpty();
  }

  @Test
  void whatHoldsSinceTheStartIsWarnedOfWhenItDiffers() {
    assertThat(read("{applications: [], http_options: {port: 8001}}").warnings()).isEmpty();
    assertThat(
            read("""
                    applications: []
                    http_options: {host: 127.0.0.1, port: 8000}
                    logging_config: {encoding: TEXT}
                    berth: {event_loops: 77}
                    """)
                .warnings())
        .extracting(ConfigProblem::toString)
        .containsExactly(
            "PUT:2:39: warning: http_options.port: has no effect: set at the start of the instance (expected: the same, or a restart with another file)",
            "PUT:3:17: warning: logging_config: has no effect: set at the start of the instance (expected: the same, or a restart with another file)",
            "PUT:4:8: warning: berth: has no effect: set at the start of the instance"
                + " (expected: the same, or a restart with another file)");
  }

  @Test
  void everyProblemIsToldAtOnceWithItsPath() {
    assertThat(
            Yaml.problems(
                () ->
                    read(
                        "{applications: [{name: a, colour: red, route_prefix: /a}, {import_path: a.B, deployments:"
                            + " [{name: d, num_replicas: 0}]}]}")))
        .extracting(line -> line.replaceFirst(".*?: (\\S*): .*", "$1"))
        .containsExactlyInAnyOrder(
            "applications[0].colour",
            "applications[0].import_path",
            "applications[1].deployments[0].num_replicas");
  }

  @Test
  void aReservationIsHeldToTheBoundOfTheRunningInstance() {
    String deployments = "deployments: [{name: d, berth: {reservation_ttl_s: 6}}]";
    onlyProblem(Yaml.problems(() -> readOne("{import_path: a.B, " + deployments + "}")))
        .contains("deployments[0].berth.reservation_ttl_s: 6 (expected: at most berth.limits");
  }

  @Test
  void oneEntryHasItsNameFromWhereItIsSent() {
    ApplicationConfig one = readOne("{import_path: a.B, args: {x: 1}}").applications().get(0);

    assertThat(one.name()).isEqualTo("shop");
    assertThat(one.entry())
        .isEqualTo(Map.of("name", "shop", "import_path", "a.B", "args", Map.of("x", 1)));
    assertThat(readOne("{name: shop, import_path: a.B}").applications().get(0).entry())
        .isEqualTo(Map.of("name", "shop", "import_path", "a.B"));
    assertThat(Yaml.problems(() -> readOne("{name: other, import_path: a.B}")))
        .containsExactly("PUT:1:8: name: \"other\" (expected: shop, or nothing)");
    onlyProblem(Yaml.problems(() -> readOne("[]"))).contains("a mapping");
    onlyProblem(Yaml.problems(() -> readOne(""))).contains("empty");
  }

  @Test
  void relativeJarsStartFromTheGivenFolder() throws IOException {
    Files.write(folder.resolve("shop.jar"), new byte[0]);

    assertThat(
            readOne("{import_path: a.B, runtime_env: {jars: [shop.jar]}}")
                .applications()
                .get(0)
                .jars())
        .containsExactly(folder.resolve("shop.jar"));
    onlyProblem(Yaml.problems(() -> readOne("{import_path: a.B, runtime_env: {jars: [gone.jar]}}")))
        .contains("runtime_env.jars[0]: \"gone.jar\", which does not exist");
  }

  @Test
  void whatIsSubmittedHasABound() {
    String long1 = " ".repeat(BoundedParser.MAX_BYTES) + "{}";
    assertThatThrownBy(() -> read(long1))
        .isInstanceOf(ConfigException.class)
        .hasMessage("PUT: 4194306 bytes (expected: at most 4194304 bytes)");
    String lines = "\n".repeat(3_200_000);
    assertThat(readOne("{import_path: a.B}" + lines).applications()).hasSize(1);
  }

  @Test
  void anEntryIsKeptAsItWasSubmitted() {
    assertThat(
            read("applications: [&a {import_path: a.B, route_prefix: null, deployments: []}]")
                .applications()
                .get(0)
                .entry()
                .toString())
        .isEqualTo("{import_path=a.B, route_prefix=null, deployments=[]}");
  }
}
