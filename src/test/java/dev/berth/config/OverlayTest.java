package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.config.keys.ConfigProblem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.event.Level;

/** {@code --set key=value}. */
class OverlayTest {

  private static final String FILE =
      """
      http_options: {port: 1}
      applications:
        - name: echo
          route_prefix: /echo
          import_path: a.Echo
          args: {list: [1, {x: 2}], "1": one}
          deployments: [{name: echo, num_replicas: 1}, {name: other}]
        - import_path: a.Default
      """;

  @TempDir Path folder;

  @Test
  void problemThatTheFileAloneDoesNotHaveNamesTheOptions() {
    String file = "http_options: {ssl_keyfile: pom.xml}\napplications: []\nberth: {ephemeral: 1}\n";
    Setting authority = Setting.parse("--set", "http_options.ssl_ca_certs=pom.xml");

    assertThatThrownBy(() -> ConfigReader.read("f", Path.of(""), file, List.of(authority)))
        .hasMessageContaining("f:1:15: http_options.ssl_certfile: missing")
        .hasMessageContaining("f:3:20: berth.ephemeral: 1");
    Setting certificate = Setting.parse("--set", "http_options.ssl_certfile=pom.xml");
    Setting port = Setting.yaml("--port", "http_options.port", "1");
    String right = "http_options: {host: h}\napplications: []\n";
    assertThatThrownBy(() -> ConfigReader.read("f", Path.of(""), right, List.of(certificate, port)))
        .hasMessage(
            "--set, --port: http_options.ssl_keyfile: missing (expected: a path, since"
                + " ssl_certfile is set)");
  }

  @Test
  void aKeyOfTheFileIsReplacedAndAMissingOneIsMade() {
    ServeConfig config =
        read(
            "http_options.port=2",
            "http_options.host=h",
            "berth.limits.max_body_bytes=3",
            "logging_config={log_level: ERROR}");

    assertThat(config.get(HttpOptions.PORT)).isEqualTo(2);
    assertThat(config.get(HttpOptions.HOST)).isEqualTo("h");
    assertThat(config.get(LimitOptions.MAX_BODY_BYTES)).isEqualTo(3);
    assertThat(config.get(ServeConfig.LOGGING_CONFIG).get(LoggingOptions.LOG_LEVEL))
        .isEqualTo(Level.ERROR);
  }

  @Test
  void anEntryOfAListGoesByNameOrIndex() {
    ServeConfig config =
        read(
            "applications.echo.deployments.echo.num_replicas=4",
            "applications[0].deployments[1].max_ongoing_requests=5",
            "applications.1.route_prefix=/d",
            "applications.default.args.a=x",
            "applications.echo.args.list[1].x=3",
            "applications[echo].args[1]=two");

    ApplicationConfig echo = config.applications().get(0);
    assertThat(echo.deployment("echo").orElseThrow().get(DeploymentConfig.NUM_REPLICAS))
        .isEqualTo(4);
    assertThat(echo.deployment("other").orElseThrow().get(DeploymentConfig.MAX_ONGOING_REQUESTS))
        .isEqualTo(5);
    assertThat(echo.get(ApplicationConfig.ARGS))
        .isEqualTo(Map.of("list", List.of(1, Map.of("x", 3)), "1", "two"));
    assertThat(config.applications().get(1).routePrefix()).isEqualTo("/d");
    assertThat(config.applications().get(1).get(ApplicationConfig.ARGS))
        .isEqualTo(Map.of("a", "x"));
  }

  @Test
  void aDeploymentThatTheFileDoesNotOverrideGetsAnEntry() {
    ServeConfig config =
        read(
            "applications.echo.deployments.third.num_replicas=2",
            "applications.default.deployments.first.berth.spread=event_loops");

    assertThat(config.applications().get(0).deployments())
        .extracting(each -> each.get(DeploymentConfig.NAME))
        .containsExactly("echo", "other", "third");
    assertThat(
            config
                .applications()
                .get(1)
                .deployment("first")
                .orElseThrow()
                .get(DeploymentConfig.SPREAD))
        .isEqualTo(HandlerSpread.EVENT_LOOPS);
  }

  @Test
  void theLastOneWins() {
    assertThat(read("http_options.port=2", "http_options={port: 3}").get(HttpOptions.PORT))
        .isEqualTo(3);
    assertThat(read("http_options=null", "http_options.port=3").get(HttpOptions.PORT)).isEqualTo(3);
  }

  @Test
  void aValueIsYaml() {
    Map<String, Object> args =
        read(
                "applications.echo.args={a: 1, b: [x, 'true', true], c: null}",
                "applications.echo.args.d=",
                "applications.echo.args.e='k=v'")
            .applications()
            .get(0)
            .get(ApplicationConfig.ARGS);

    assertThat(args)
        .containsEntry("a", 1)
        .containsEntry("b", List.of("x", "true", true))
        .containsEntry("c", null)
        .containsEntry("d", null)
        .containsEntry("e", "k=v");
  }

  @Test
  void whatAnAliasSharesIsSetInOnePlaceOnly() {
    ServeConfig config =
        read(
            """
            applications:
              - {name: a, route_prefix: /a, import_path: a.B, args: &shared {x: 1}}
              - {name: b, route_prefix: /b, import_path: a.B, args: *shared}
            """,
            List.of(Setting.parse("--set", "applications.b.args.x=2")));

    assertThat(config.applications().get(0).get(ApplicationConfig.ARGS)).isEqualTo(Map.of("x", 1));
    assertThat(config.applications().get(1).get(ApplicationConfig.ARGS)).isEqualTo(Map.of("x", 2));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "http_options.port=x | http_options.port: \"x\", a string (expected: an integer from 0 to"
            + " 65535)",
        "colour=red | colour: unknown key",
        "http_options.port.x=1 | http_options.port.x: http_options.port is 1, an integer"
            + " (expected: a mapping or a list there)",
        "applications.ecoh.name=x | applications.ecoh.name: no entry ecoh in a list (expected: one"
            + " of echo, default)",
        "applications[2].name=x | applications[2].name: no entry 2 in a list (expected: one of"
            + " echo, default)",
        "applications.echo.deployments.echo.num_replicas=0 |"
            + " applications[0].deployments[0].num_replicas: 0 (expected: auto, or an integer from 1 to 10000)",
        "applications.echo.deployments.third.num_replicas=0 |"
            + " applications[0].deployments[2].num_replicas: 0 (expected: auto, or an integer from 1 to 10000)",
        "http_options={port: 1, port: 2} | http_options.port: given twice",
        "http_options.port=[1 | http_options.port: ",
        "http_options.port | http_options.port: no value (expected: key=value",
        "http_options.port=--- 1~--- 2 | http_options.port: ",
        "tracing_config={} | warning"
      })
  void aProblemNamesTheOptionInPlaceOfTheLine(String assignment, String message) {
    Setting setting = Setting.parse("--set", assignment.replace('~', '\n'));
    List<ConfigProblem> problems;
    try {
      problems = read(FILE, List.of(setting)).warnings();
    } catch (ConfigException refused) {
      problems = refused.problems();
    }
    assertThat(problems)
        .singleElement()
        .asString()
        .startsWith("--set: " + message)
        .contains("(expected: ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ".", "a..b", ".a", "a.", "a[", "a]", "a[]", "a.[b]", "[a]b", "a[b]c"})
  void aKeyThatIsNoneIsRefused(String key) {
    assertThat(problems(Setting.yaml("--set", key, "1")))
        .containsExactly(
            "--set: "
                + (key.isEmpty() ? "" : key + ": ")
                + "no such key (expected: key=value, with a key such as applications.shop.name)");
  }

  @Test
  void pathsOfTheCommandLineStartFromTheCurrentFolder() throws IOException {
    Path key = Files.createFile(folder.resolve("key.pem"));
    Path current = Path.of("").toAbsolutePath();
    String relative = current.relativize(key.toAbsolutePath()).toString();

    ServeConfig config =
        ConfigReader.read(
            "berth.yaml",
            folder.resolve("elsewhere"),
            FILE,
            List.of(
                Setting.text("--set", "http_options.ssl_keyfile", relative),
                Setting.text("--set", "http_options.ssl_certfile", key.toString())));

    assertThat(config.get(HttpOptions.SSL_KEYFILE)).isEqualTo(key.toAbsolutePath());
    assertThat(config.get(HttpOptions.SSL_CERTFILE)).isEqualTo(key.toAbsolutePath());
  }

  @Test
  void aTextIsTakenAsItStands() {
    assertThat(
            read(FILE, List.of(Setting.text("--host", "http_options.host", "12")))
                .get(HttpOptions.HOST))
        .isEqualTo("12");
  }

  @Test
  void aNameThatASettingGivesTwiceNamesTheOption() {
    assertThat(problems(Setting.yaml("--set", "applications.default.name", "echo")))
        .containsExactly(
            "--set: applications[1].name: \"echo\" twice (expected: unique; line 3 has it"
                + " already)");
    assertThat(problems(Setting.yaml("--set", "applications.echo.name", "default")))
        .containsExactly(
            "--set: applications[1].name: \"default\", the default, twice"
                + " (expected: unique; --set has it already)");
  }

  private static ServeConfig read(String... assignments) {
    return read(FILE, Stream.of(assignments).map(text -> Setting.parse("--set", text)).toList());
  }

  private static ServeConfig read(String text, List<Setting> settings) {
    return ConfigReader.read("berth.yaml", Path.of(""), text, settings);
  }

  private static List<String> problems(Setting setting) {
    return Yaml.problems(() -> read(FILE, List.of(setting)));
  }
}
