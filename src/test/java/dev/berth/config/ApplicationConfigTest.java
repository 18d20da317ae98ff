package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ApplicationConfigTest {

  @TempDir Path folder;

  @Test
  void anApplicationHasRaysDefaults() {
    ApplicationConfig application =
        Yaml.read("applications: [{import_path: a.B}]").applications().get(0);
    assertThat(application.name()).isEqualTo("default");
    assertThat(application.routePrefix()).isEqualTo("/");
  }

  @Test
  void applicationNamesAreUniqueTheDefaultOneToo() {
    assertThat(
            Yaml.problems(
                """
                applications:
                  - {import_path: a.B}
                  - {import_path: a.B, route_prefix: /b}
                  - {import_path: a.B, route_prefix: /c, name: c}
                  - {import_path: a.B, route_prefix: /d, name: c}
                """))
        .containsExactly(
            "berth.yaml:3:5: applications[1].name: \"default\", the default, twice"
                + " (expected: unique; line 2 has it already)",
            "berth.yaml:5:48: applications[3].name: \"c\" twice"
                + " (expected: unique; line 4 has it already)");
  }

  @Test
  void routePrefixesAreUniqueButNullMayRepeat() {
    assertThat(
            Yaml.problems(
                """
                applications:
                  - {import_path: a.B, name: a}
                  - {import_path: a.B, name: b, route_prefix: null}
                  - {import_path: a.B, name: c, route_prefix: null}
                  - {import_path: a.B, name: d, route_prefix: /}
                """))
        .containsExactly(
            "berth.yaml:5:47: applications[3].route_prefix: \"/\" twice"
                + " (expected: unique; line 2 has it already)");
  }

  @Test
  void deploymentNamesAreUniqueInTheirApplication() {
    assertThat(
            Yaml.problems(
                """
                applications:
                  - {import_path: a.B, name: a, deployments: [{name: x}, {name: y}]}
                  - import_path: a.B
                    name: b
                    route_prefix: /b
                    deployments: [{name: x}, {name: x}]
                """))
        .containsExactly(
            "berth.yaml:6:37: applications[1].deployments[1].name: \"x\" twice"
                + " (expected: unique; line 6 has it already)");
  }

  @ParameterizedTest
  @CsvSource({
    "com.acme.Shop, com.acme.Shop, build",
    "com.acme.Shop:cart, com.acme.Shop, cart",
    "Shop:cart, Shop, cart",
    "com.acme.Shop$Inner:make_it, com.acme.Shop$Inner, make_it"
  })
  void anImportPathNamesClassAndMethod(String text, String className, String method) {
    assertThat(ImportPath.parse(text)).isEqualTo(new ImportPath(className, method));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", ":", "a.B:", ":m", "a..B", ".B", "a.B.", "a.B:m:n", "a.B:m.n", "a-b.C", "1a"})
  void anythingElseIsNoImportPath(String text) {
    assertThat(ImportPath.parse(text)).isNull();
    onlyProblem(Yaml.problems("applications: [{import_path: \"" + text + "\"}]"))
        .contains("applications[0].import_path: \"" + text + "\"");
  }

  @Test
  void anImportPathIsRequired() {
    assertThat(Yaml.problems("applications:\n  - name: a\n"))
        .containsExactly(
            "berth.yaml:2:5: applications[0].import_path: missing (expected: "
                + ImportPath.EXPECTED
                + ")");
  }

  @Test
  void aDirectoryStandsForTheJarsInIt() throws IOException {
    Files.createDirectory(folder.resolve("lib"));
    for (String name : List.of("lib/b.jar", "lib/a.jar", "lib/notes.txt", "z.jar")) {
      Files.createFile(folder.resolve(name));
    }

    List<Path> jars = read("[z.jar, lib]").applications().get(0).jars();

    assertThat(jars)
        .containsExactly(
            folder.resolve("z.jar"), folder.resolve("lib/a.jar"), folder.resolve("lib/b.jar"));
  }

  @Test
  void aJarMustExist() throws IOException {
    Files.createDirectory(folder.resolve("empty"));
    Files.createFile(folder.resolve("notes.txt"));

    assertThat(problems("[no.jar, empty, notes.txt, 5, \"\\0\"]"))
        .containsExactly(
            "berth.yaml:1:58: applications[0].runtime_env.jars[0]: \"no.jar\", which does not exist"
                + " (expected: an existing .jar file, or a directory of them)",
            "berth.yaml:1:66: applications[0].runtime_env.jars[1]: \"empty\","
                + " a directory without readable jars"
                + " (expected: an existing .jar file, or a directory of them)",
            "berth.yaml:1:73: applications[0].runtime_env.jars[2]: \"notes.txt\","
                + " not a readable .jar file"
                + " (expected: an existing .jar file, or a directory of them)",
            "berth.yaml:1:84: applications[0].runtime_env.jars[3]: 5, an integer"
                + " (expected: an existing .jar file, or a directory of them)",
            "berth.yaml:1:87: applications[0].runtime_env.jars[4]: \"?\""
                + " (expected: an existing .jar file, or a directory of them)");
    assertThat(problems("a.jar"))
        .containsExactly(
            "berth.yaml:1:57: applications[0].runtime_env.jars: \"a.jar\", a string"
                + " (expected: a list of paths of existing .jar files, or of directories of them)");
  }

  @Test
  void argsAreAnyJsonMappingAndCannotBeChanged() {
    Map<String, Object> args =
        Yaml.application(
                "args:",
                "  text: x",
                "  quoted: '5'",
                "  yes: true",
                "  int: 5",
                "  long: 5000000000",
                "  double: 0.5",
                "  none: null",
                "  list: [1, [2], {a: b}]")
            .get(ApplicationConfig.ARGS);

    assertThat(args)
        .containsEntry("text", "x")
        .containsEntry("quoted", "5")
        .containsEntry("yes", true)
        .containsEntry("int", 5)
        .containsEntry("long", 5_000_000_000L)
        .containsEntry("double", 0.5)
        .containsEntry("none", null)
        .containsEntry("list", Arrays.asList(1, List.of(2), Map.of("a", "b")));
    assertThat(args.keySet())
        .containsExactly("text", "quoted", "yes", "int", "long", "double", "none", "list");
    assertThatThrownBy(args::clear).isInstanceOf(UnsupportedOperationException.class);
    assertThatThrownBy(((List<?>) args.get("list"))::clear)
        .isInstanceOf(UnsupportedOperationException.class);
  }

  @Test
  void argsThatAreNoJsonAreRefused() {
    assertThat(Yaml.applicationProblems("args: {a: {5: x}}"))
        .containsExactly(
            "berth.yaml:3:16: applications[0].args.a: 5, an integer as a key"
                + " (expected: a string; quote it)");
    assertThat(Yaml.applicationProblems("args: {a: 1, a: 2}"))
        .containsExactly("berth.yaml:3:18: applications[0].args.a: given twice (expected: once)");
    assertThat(Yaml.applicationProblems("args: {a: [1, 99999999999999999999]}"))
        .containsExactly(
            "berth.yaml:3:19: applications[0].args.a[1]: 99999999999999999999, an integer"
                + " (expected: a JSON value; integers of at most 64 bits, finite numbers)");
    onlyProblem(Yaml.applicationProblems("args: {a: !date 2026-01-01}"))
        .contains("applications[0].args.a: 2026-01-01, tagged !date");
    onlyProblem(Yaml.applicationProblems("args: {a: .nan}"))
        .contains("applications[0].args.a: .nan");
    assertThat(Yaml.applicationProblems("args: 5"))
        .containsExactly(
            "berth.yaml:3:11: applications[0].args: 5, an integer (expected: a mapping)");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "args: !java.util.HashMap {a: 1}",
        "args: {a: !!set {b, c}}",
        "args: {a: !!omap [b: 1]}",
        "args: {a: !list [1]}",
        "args: {a: !!map [1]}",
        "args: {a: !!seq {b: 1}}",
        "args: {a: !!null {b: 1}}",
        "args: {a: !<tag:yaml.org,2002:python/object:x.Y> {}}",
        "deployments: !!python/tuple [{name: x}]",
        "deployments: [!deployment {name: x}]",
        "runtime_env: !env {jars: []}",
      })
  void aTypeThatAMappingOrListAsksForIsRefusedWhereverItStands(String line) {
    assertThat(Yaml.applicationProblems(line))
        .singleElement()
        .asString()
        .startsWith("berth.yaml:3:")
        .contains(", tagged ")
        .contains(" without a tag)");
  }

  /** Else {@code !!bool yes} would be false, and {@code !!null 5} nothing. */
  @ParameterizedTest
  @CsvSource({
    "'args: {a: !!bool yes}', yes",
    "'external_scaler_enabled: !!bool on', on",
    "'args: {a: !!null 5}', 5",
    "'route_prefix: !!null /x', /x",
  })
  void aTagDoesNotMakeAValueWhatItIsNot(String line, String value) {
    assertThat(Yaml.applicationProblems(line)).singleElement().asString().contains(": " + value);
  }

  @Test
  void aTagThatSaysWhatStandsThereIsNoHarm() {
    assertThat(
            Yaml.application("args: !!map {a: !!seq [!!str 5], b: ! {c: 1}}")
                .get(ApplicationConfig.ARGS))
        .isEqualTo(Map.of("a", List.of("5"), "b", Map.of("c", 1)));
  }

  @Test
  void aDeploymentIsFoundByItsName() {
    ApplicationConfig application = Yaml.application("deployments: [{name: x, num_replicas: 2}]");

    assertThat(application.deployment("x").map(each -> each.get(DeploymentConfig.NUM_REPLICAS)))
        .contains(2);
    assertThat(application.deployment("y")).isEmpty();
  }

  private ServeConfig read(String jars) {
    return ConfigReader.read(
        "berth.yaml",
        folder,
        "applications: [{import_path: a.B, runtime_env: {  jars: " + jars + "}}]");
  }

  private List<String> problems(String jars) {
    return Yaml.problems(() -> read(jars));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{$file: relative/path}",
        "{$file: 5}",
        "{$file: null}",
        "{$file: /a, other: 1}",
        "{$env: 'A B'}",
        "{$env: [A]}",
        "{$env: A, $file: /a}",
      })
  void malformedReferenceToASecretIsAProblem(String reference) {
    assertThat(Yaml.applicationProblems("args: {a: [{b: " + reference + "}]}"))
        .asString()
        .contains("args: a[0].b: a malformed reference (expected: {$file: an absolute path} or ");
  }

  @Test
  void referenceToASecretIsKeptAsItIs() {
    assertThat(Yaml.applicationProblems("args: {a: {$file: /run/a}, b: [{$env: B_1}], c: {$x: 1}}"))
        .isEmpty();
  }
}
