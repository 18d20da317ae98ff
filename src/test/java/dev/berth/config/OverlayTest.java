package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

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
  void aKeyOfTheFileIsReplacedAndAMissingOneIsMade() {
    ServeConfig config =
        read(
            "http_options.port=2",
            "http_options.host=h",
            "berth.limits.max_body_bytes=3",
            "logging_config={log_level: ERROR}");

    assertThat(config.httpOptions().port()).isEqualTo(2);
    assertThat(config.httpOptions().host()).isEqualTo("h");
    assertThat(config.berth().limits().maxBodyBytes()).isEqualTo(3);
    assertThat(config.logging().level()).isEqualTo(LogLevel.ERROR);
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
    assertThat(echo.deployment("echo").orElseThrow().given()).containsEntry("num_replicas", 4);
    assertThat(echo.deployment("other").orElseThrow().given())
        .containsEntry("max_ongoing_requests", 5);
    assertThat(echo.args()).isEqualTo(Map.of("list", List.of(1, Map.of("x", 3)), "1", "two"));
    assertThat(config.applications().get(1).routePrefix()).isEqualTo("/d");
    assertThat(config.applications().get(1).args()).isEqualTo(Map.of("a", "x"));
  }

  @Test
  void aDeploymentThatTheFileDoesNotOverrideGetsAnEntry() {
    ServeConfig config =
        read(
            "applications.echo.deployments.third.num_replicas=2",
            "applications.default.deployments.first.berth.spread=event_loops");

    assertThat(config.applications().get(0).deployments())
        .extracting(DeploymentConfig::name)
        .containsExactly("echo", "other", "third");
    assertThat(config.applications().get(1).deployment("first").orElseThrow().given())
        .containsEntry("spread", Spread.EVENT_LOOPS);
  }

  @Test
  void theLastOneWins() {
    assertThat(read("http_options.port=2", "http_options={port: 3}").httpOptions().port())
        .isEqualTo(3);
    assertThat(read("http_options=null", "http_options.port=3").httpOptions().port()).isEqualTo(3);
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
            .args();

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

    assertThat(config.applications().get(0).args()).isEqualTo(Map.of("x", 1));
    assertThat(config.applications().get(1).args()).isEqualTo(Map.of("x", 2));
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
            + " applications[0].deployments[0].num_replicas: 0 (expected: an integer from 1 to 10000)",
        "applications.echo.deployments.third.num_replicas=0 |"
            + " applications[0].deployments[2].num_replicas: 0 (expected: an integer from 1 to 10000)",
        "http_options={port: 1, port: 2} | http_options.port: given twice",
        "http_options.port=[1 | http_options.port: ",
        "http_options.port | http_options.port: no value (expected: key=value",
        "http_options.port=--- 1~--- 2 | http_options.port: ",
        "tracing_config={} | warning"
      })
  void aProblemNamesTheOptionInPlaceOfTheLine(String assignment, String message) {
    Setting setting = Setting.parse("--set", assignment.replace('~', '\n'));
    List<Problem> problems;
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
                + "no such key (expected: key=value, with a key as in applications.shop.name)");
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

    assertThat(config.httpOptions().tls())
        .isEqualTo(new TlsFiles(key.toAbsolutePath(), key.toAbsolutePath(), null, null));
  }

  @Test
  void aTextIsTakenAsItStands() {
    assertThat(
            read(FILE, List.of(Setting.text("--host", "http_options.host", "12")))
                .httpOptions()
                .host())
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
            "berth.yaml:8:5: applications[1].name: \"default\", the default, twice"
                + " (expected: unique; --set has it already)");
  }

  private static ServeConfig read(String... assignments) {
    return read(FILE, Stream.of(assignments).map(text -> Setting.parse("--set", text)).toList());
  }

  private static ServeConfig read(String text, List<Setting> settings) {
    return ConfigReader.read("berth.yaml", Path.of(""), text, settings);
  }

  private static List<String> problems(Setting setting) {
    try {
      read(FILE, List.of(setting));
      return List.of();
    } catch (ConfigException refused) {
      return refused.problems().stream().map(Problem::toString).toList();
    }
  }
}
