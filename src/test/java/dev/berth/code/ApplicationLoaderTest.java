package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentId;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.SecretArguments;
import dev.berth.config.ServeConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ApplicationLoaderTest {
  private static final String APPS = "dev.berth.node.TestApplications";

  private static LoadedApplication load(String importPath, String... more) {
    String text =
        "applications: [{name: a, import_path: '"
            + importPath
            + "'"
            + (more.length == 0 ? "" : ", " + String.join(", ", more))
            + "}]";
    ServeConfig file = ConfigReader.read("test.yaml", Path.of("."), text);
    return ApplicationLoader.read(
            new BuildCache.BuildInputs(file.applications().get(0), file),
            Map.of(),
            BuiltInHandlers.NONE)
        .code();
  }

  @Test
  void aBuilderWithoutParameterIsCalled() {
    LoadedApplication loaded = load(APPS + ":plain");

    assertThat(loaded.id(loaded.application().ingress())).isEqualTo(new DeploymentId("a", "front"));
    assertThat(loaded.settings()).containsOnlyKeys(loaded.id("front"), loaded.id("back"));
    assertThat(loaded.classLoader()).isNull();
  }

  @Test
  void aBuilderWithAMapGetsTheArgs() {
    assertThat(load(APPS + ":named", "args: {name: hello}").application().ingress())
        .isEqualTo("hello");
  }

  @Test
  void theFileWinsOverTheCodeAndTheCodeOverTheDefaults() {
    LoadedApplication loaded =
        load(APPS + ":plain", "deployments: [{name: back, max_ongoing_requests: 9}]");

    assertThat(loaded.settings().get(loaded.id("back")).get(DeploymentConfig.MAX_ONGOING_REQUESTS))
        .isEqualTo(9);
    assertThat(loaded.settings().get(loaded.id("back")).get(DeploymentConfig.NUM_REPLICAS))
        .isEqualTo(3);
    assertThat(loaded.settings().get(loaded.id("front")).get(DeploymentConfig.MAX_ONGOING_REQUESTS))
        .isEqualTo(5);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          APPS:plain | deployments: [{name: bakc}] | 1:101: applications[0].deployments[0].name: "bakc", unknown to APPS:plain (expected: one of front, back)
          com.acme.Nothing:build | args: {} | 1:39: applications[0].import_path: com.acme.Nothing:build: no such class (expected: a class of Berth; runtime_env.jars is empty)
          APPS:absent | args: {} | absent: no such method (expected: a public static method
          APPS:withNumber | args: {} | withNumber: no such method (expected: a public static method
          APPS:ofInstance | args: {} | ofInstance: no such method (expected: a public static method
          APPS:plain | args: {a: 1} | applications[0].args: set, and APPS:plain has no parameter
          APPS:text | args: {} | :text: returns java.lang.String (expected: a public static method
          APPS:nothing | args: {} | returned null
          """)
  void whatDoesNotFitIsRefusedAtItsPlace(String path, String more, String said) {
    assertThatThrownBy(() -> load(path.replace("APPS", APPS), more))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(said.replace("APPS", APPS));
  }

  @Test
  void allThatTrafficNamesAndTheCodeLacksIsToldAtOnce() {
    assertThatThrownBy(
            () ->
                load(
                    APPS + ":plain",
                    "berth: {traffic: [{deployment: front, weight: 1}, {deployment: x, weight: 1}],"
                        + " match: [{header: h, deployment: y}], shadow: [{deployment: z}]}"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContainingAll(
            "berth.traffic[1].deployment: \"x\", unknown to",
            "berth.match[0].deployment: \"y\", unknown to",
            "berth.shadow[0].deployment: \"z\", unknown to " + APPS + ":plain (expected: one of");
  }

  @ParameterizedTest
  @CsvSource({
    ":failing, IllegalStateException: two lines; caused by ArithmeticException: why",
    "$Broken:build, ExceptionInInitializerError"
  })
  void codeThatThrowsIsTheReasonInOneLine(String builder, String why) {
    assertThatThrownBy(() -> load(APPS + builder))
        .isInstanceOf(StartFailedException.class)
        .hasMessageStartingWith("application a: import_path: " + APPS + builder + ": " + why);
  }

  /** Whatever stands on the class path of Berth can be named. */
  @ParameterizedTest
  @CsvSource({
    "java.lang.System:gc, void",
    "java.lang.Runtime:getRuntime, java.lang.Runtime",
    "java.util.Collections:emptyMap, java.util.Map",
    "java.lang.System:getenv, java.util.Map",
    "dev.berth.code.ApplicationLoaderTest$Trap:build, java.lang.Object",
  })
  void whatIsNoBuilderIsNeverCalledNorItsClassInitialised(String path, String type) {
    assertThatThrownBy(() -> load(path))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(path + ": returns " + type + " (expected: a public static method");
    assertThat(System.getProperty("trap")).isNull();
  }

  /** Says so when it is initialised. */
  public static final class Trap {
    static {
      System.setProperty("trap", "sprung");
    }

    private Trap() {}

    public static Object build() {
      throw new AssertionError("called");
    }
  }

  @Test
  void targetCapacityLeavesAShareOfTheReplicas() {
    ServeConfig file =
        ConfigReader.read(
            "test.yaml",
            Path.of("."),
            "target_capacity: 50\napplications: [{import_path: '" + APPS + ":plain'}]");

    LoadedApplication loaded =
        ApplicationLoader.read(
                new BuildCache.BuildInputs(file.applications().get(0), file),
                Map.of(),
                BuiltInHandlers.NONE)
            .code();

    assertThat(loaded.built().targets())
        .extracting(
            target ->
                target.id().name() + " " + target.settings().get(DeploymentConfig.NUM_REPLICAS))
        .containsExactly("front 1", "back 2");
  }

  @Test
  void secretArgumentsAreReadWhenTheBuilderRuns(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("name"), "first\n");
    String args = "args: {name: {$file: '%s'}}".formatted(file);
    assertThat(load(APPS + ":named", args).application().ingress()).isEqualTo("first");
    Files.writeString(file, "second\r\n");
    assertThat(load(APPS + ":named", args).application().ingress()).isEqualTo("second");
    System.getenv().entrySet().stream()
        .filter(each -> each.getKey().matches("[A-Z_]+") && each.getValue().matches("[a-z]+"))
        .limit(1)
        .forEach(
            variable ->
                assertThat(
                        load(APPS + ":named", "args: {name: {$env: " + variable.getKey() + "}}")
                            .application()
                            .ingress())
                    .isEqualTo(variable.getValue()));
    assertThat(SecretArguments.read(Map.of("a", List.of(Map.of("b", 1))), (key, each) -> "x"))
        .isEqualTo(Map.of("a", List.of(Map.of("b", 1))));
  }

  @Test
  void unreadableSecretNamesItsKeyAndItsFileAlone(@TempDir Path folder) throws IOException {
    Path missing = folder.resolve("missing");
    assertThatThrownBy(() -> load(APPS + ":named", "args: {name: {$file: '" + missing + "'}}"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("args.name: $file " + missing + ": ");
    assertThatThrownBy(() -> load(APPS + ":named", "args: {a: {b: [1, {$env: NOT_THERE_1}]}}"))
        .hasMessageContaining("args.a.b[1]: $env NOT_THERE_1: not set (expected: ");
    Path binary = Files.write(folder.resolve("binary"), new byte[] {'s', 'e', (byte) 0xff});
    assertThatThrownBy(() -> load(APPS + ":named", "args: {name: {$file: '" + binary + "'}}"))
        .hasMessageContaining("args.name: $file " + binary + ": ")
        .hasMessageContaining("(expected: UTF-8 that the node of the builder reads)");
    Path large = Files.writeString(folder.resolve("large"), "s3cret".repeat(20_000));
    assertThatThrownBy(() -> load(APPS + ":named", "args: {name: {$file: '" + large + "'}}"))
        .hasMessageContaining(": longer (expected: at most 65536 bytes)")
        .hasMessageNotContaining("s3cret");
    assertThatThrownBy(() -> load(APPS + ":named", "args: {name: {$file: '" + folder + "'}}"))
        .hasMessageContaining("args.name: $file " + folder + ": ");
  }
}
