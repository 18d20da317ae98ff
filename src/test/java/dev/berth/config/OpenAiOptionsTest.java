package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.config.builtin.OpenAiOptions;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Settings;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OpenAiOptionsTest {
  private static final String LOCAL = "http_options: {host: 127.0.0.1}";
  private static final String MODELS = "args: {models: [{name: smol, deployment: d}]}";
  private static final String ONE = "{url: 'http://h:1', max_ongoing_requests: 2}";
  private static final String D = "{name: d, berth: {upstreams: [" + ONE + "]}}";

  private static String file(String application, String deployments, String more) {
    return "{applications: [{name: a, import_path: 'berth:openai', %s, deployments: [%s]}], %s}"
        .formatted(application, deployments, more);
  }

  /** The problems without their positions and the path of the application. */
  private static List<String> problems(String text) {
    return Yaml.problems(text).stream()
        .map(each -> each.replaceFirst("^berth.yaml:\\d+:\\d+: (applications.0..)?", ""))
        .toList();
  }

  private static List<String> argsProblems(String args) {
    return problems(file("args: " + args, D, LOCAL));
  }

  private static ApplicationConfig application(String application, String more) {
    return Yaml.read(file(application, D, more)).applications().get(0);
  }

  private static Settings openAi(String args) {
    Settings route = application("args: " + args, LOCAL).routeSettings();
    return Objects.requireNonNull(route).get(ApplicationConfig.OPENAI);
  }

  @Test
  void argsAreSettingsOfTheRoute() {
    Settings args =
        openAi(
            "{models: [{name: smol, deployment: d, aliases: [gpt-4o-mini], upstream_name: org/S-1},"
                + " {name: other, deployment: d}], usage: inject}");
    assertThat(args.get(OpenAiOptions.USAGE)).isEqualTo("inject");
    assertThat(args.get(OpenAiOptions.STORED)).isEqualTo("origin");
    Settings first = args.get(OpenAiOptions.MODELS).get(0);
    assertThat(first.get(OpenAiOptions.ALIASES)).containsExactly("gpt-4o-mini");
    assertThat(first.get(OpenAiOptions.UPSTREAM_NAME)).isEqualTo("org/S-1");
    Settings second = args.get(OpenAiOptions.MODELS).get(1);
    assertThat(second.get(OpenAiOptions.UPSTREAM_NAME)).isEqualTo("other");
  }

  @Test
  void settingsOfTheRouteAreReadAsAnInstanceSendsThem() {
    Settings route = Objects.requireNonNull(application(MODELS, LOCAL).routeSettings());
    assertThat(ApplicationConfig.routeSettingsFromMap(route.toMap())).isEqualTo(route);
    assertThat(route.toMap()).containsKey("openai");
    assertThat(Yaml.application().routeSettings()).isNull();
  }

  @Test
  void allProblemsOfArgsAreNamedByTheirKeys() {
    assertThat(
            argsProblems(
                "{models: [{name: smol, deployment: d}, {name: 'a b', deployment: x, alias: []},"
                    + " {name: smol, deployment: y, aliases: [b, b, smol]}, {deployment: d}],"
                    + " usage: yes, model: 1}"))
        .containsExactlyInAnyOrder(
            "args.models[1].name: \"a b\" (expected: 1 to 256 visible ASCII characters without \""
                + " \\ , and ;, other than *)",
            "args.models[1].deployment: \"x\" (expected: one of d)",
            "args.models[1].alias: unknown key (expected: one of name, deployment, aliases,"
                + " upstream_name)",
            "args.models[2].name: \"smol\" twice (expected: unique among names and aliases)",
            "args.models[2].deployment: \"y\" (expected: one of d)",
            "args.models[2].aliases: \"b\" twice (expected: unique among names and aliases)",
            "args.models[2].aliases: \"smol\" twice (expected: unique among names and aliases)",
            "args.models[3].name: missing (expected: 1 to 256 visible ASCII characters without \""
                + " \\ , and ;, other than *)",
            "args.usage: \"yes\", a string (expected: read, inject or off)",
            "args.model: unknown key, did you mean models? (expected: one of models, usage,"
                + " stored)");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | args.models: missing (expected: a list of mappings)",
        "{models: []} | args.models: 0 models (expected: 1 to 1000)",
        "[] | args: a list (expected: a mapping)",
        "{models: {}} | args.models: a mapping (expected: a list of mappings)"
      })
  void applicationNeedsModels(String args, String problem) {
    assertThat(argsProblems(args)).containsExactly(problem);
  }

  @Test
  void argsAreRequired() {
    assertThat(problems(file("route_prefix: /", D, LOCAL)))
        .containsExactly("args: missing (expected: a mapping with models)");
  }

  @Test
  void numbersOfModelsAndAliasesAreLimited() {
    String models =
        IntStream.rangeClosed(0, 1_000)
            .mapToObj("{name: m%d, deployment: d}"::formatted)
            .collect(Collectors.joining(", ", "{models: [", "]}"));
    assertThat(argsProblems(models))
        .containsExactly("args.models: 1001 models (expected: 1 to 1000)");
    String aliases =
        IntStream.rangeClosed(0, 100).mapToObj(i -> "a" + i).collect(Collectors.joining(", "));
    assertThat(argsProblems("{models: [{name: m, deployment: d, aliases: [" + aliases + "]}]}"))
        .containsExactly("args.models[0].aliases: 101 aliases (expected: at most 100)");
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpt-4o", "meta-llama/Llama-3.1:8b@q4", "a=b", "claude*", "<x>", "~"})
  void nameIsVisibleAscii(String name) {
    assertThat(argsProblems("{models: [{name: '" + name + "', deployment: d}]}")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "*", "a,b", "a;b", "a b", "\u00e4", "a\\b", "a\"b"})
  void nameHasNoCharacterOfAnotherForm(String name) {
    assertThat(argsProblems("{models: [{name: '" + name + "', deployment: d}]}")).hasSize(1);
  }

  @Test
  void rulesOfARouteAreRefused() {
    String rules =
        ", berth: {traffic: [{deployment: d, weight: 1}], shard_key: {header: X}, shadow: []}";
    assertThat(problems(file(MODELS + rules, D, LOCAL)))
        .containsExactly(
            "berth.traffic: with import_path berth:openai (expected: leave it out)",
            "berth.shard_key: with import_path berth:openai (expected: leave it out)",
            "berth.shadow: with import_path berth:openai (expected: leave it out)");
    assertThat(problems(file(MODELS + ", external_scaler_enabled: true", D, LOCAL))).hasSize(1);
    assertThat(problems(file(MODELS, "{name: d}", LOCAL)))
        .containsExactly(
            "deployments[0].name: d, without berth.upstreams (expected: upstreams, as"
                + " berth:openai)");
  }

  @Test
  void modelOfAnUpstreamNeedsTheApplication() {
    String own = D.replace("2}", "2, model: llama}");
    assertThat(problems(file(MODELS, own, LOCAL))).isEmpty();
    String proxy = file("route_prefix: /", own, LOCAL).replace("berth:openai", "berth:proxy");
    assertThat(problems(proxy))
        .containsExactly(
            "deployments[0].berth.upstreams[0].model: with import_path berth:proxy (expected: leave"
                + " it out)");
  }

  @Test
  void relayKnowsItsApplicationAlsoOnOtherNodes() {
    Settings own =
        application("route_prefix: /llm, " + MODELS, LOCAL)
            .deployment(Deployment.of("d", replica -> null));
    Settings sent = DeploymentConfig.fromMap(own.toMap());
    Settings upstream = Objects.requireNonNull(UpstreamOptions.find(sent, "http://h:1"));
    Map<String, @Nullable Object> relay = UpstreamArguments.of(sent, upstream, "http://h:1");
    assertThat(relay).containsEntry("route_prefix", "/llm").containsEntry("is_openai", true);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "url: 'http://h:1', id: x | 1",
        "url: 'http://h:1', id: x, owners: 2 | 1",
        "url: 'http://h:3' | 2",
        "url: 'http://h:1', id: x, local: true | 2",
        "url: 'http://h:1', id: x, resolve: addresses | 2"
      })
  void originsAreServersWithAStoreOfTheirOwn(String second, int origins) {
    String both = D.replace(ONE, ONE + ", {max_ongoing_requests: 2, " + second + "}");
    Settings deployment =
        Yaml.read(file(MODELS, both, LOCAL))
            .applications()
            .get(0)
            .deployment(Deployment.of("d", replica -> null));
    assertThat(UpstreamOptions.origins(deployment)).isEqualTo(origins);
  }

  // --- the instance ---

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http_options: {host: 127.0.0.1}",
        "http_options: {host: localhost}",
        "http_options: {host: '::1'}",
        "berth: {openai: {allow_unauthenticated: true}}",
        "berth: {secrets_dir: s, openai: {api_keys_file: keys}}"
      })
  void protectedInstanceMayServe(String instance) {
    assertThat(application(MODELS, instance).accessProblem()).isNull();
  }

  @Test
  void openInstanceMayNotServe() {
    ConfigProblem problem = application(MODELS, "http_options: {host: 10.0.0.1}").accessProblem();
    assertThat(Objects.requireNonNull(problem).toString())
        .endsWith(
            "applications[0].import_path: berth:openai, for any client of another machine"
                + " (expected: http_options.host: 127.0.0.1; or berth.openai.api_keys_file; or"
                + " berth.openai.allow_unauthenticated: true)");
    String proxy = file("route_prefix: /", D, "http_options: {port: 1}");
    assertThat(
            Yaml.read(proxy.replace("berth:openai", "berth:proxy"))
                .applications()
                .get(0)
                .accessProblem())
        .isNull();
  }

  @Test
  void fileOfKeysNeedsItsDirectory() {
    assertThat(problems(file(MODELS, D, "berth: {openai: {api_keys_file: keys}}")))
        .containsExactly(
            "berth.openai.api_keys_file: without its directory (expected: secrets_dir too)");
  }
}
