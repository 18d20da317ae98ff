package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.config.builtin.McpOptions;
import dev.berth.config.keys.Settings;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class McpOptionsTest {
  private static final String UPSTREAM = "{url: 'http://h:1', max_ongoing_requests: 2}";

  private static String file(String path, String application, String deployments) {
    return "{applications: [{name: a, import_path: '%s', %s deployments: [%s]}]}"
        .formatted(path, application, deployments);
  }

  private static String deployment(String name, String rules, String upstream) {
    return "{name: %s, berth: {%s upstreams: [%s]}}".formatted(name, rules, upstream);
  }

  private static List<String> problems(String text) {
    return Yaml.problems(text).stream()
        .map(each -> each.replaceFirst("^berth.yaml:\\d+:\\d+: (applications.0..)?", ""))
        .toList();
  }

  /** The settings as another instance receives them. */
  private static Settings received(String path, String rules) {
    return DeploymentConfig.fromMap(
        Yaml.read(file(path, "", deployment("d", rules, UPSTREAM)))
            .applications()
            .get(0)
            .deployment(Deployment.of("d", replica -> null))
            .toMap());
  }

  @Test
  void rulesHaveDefaultsInTheirApplicationOnly() {
    Settings rules = Objects.requireNonNull(received("berth:mcp", "").find(DeploymentConfig.MCP));
    assertThat(rules.get(McpOptions.MAX_STREAMS)).isEqualTo(1024);
    assertThat(rules.get(McpOptions.RESUME_S)).hasSeconds(60);
    assertThat(rules.get(McpOptions.ORIGINS)).isEmpty();
    assertThat(McpOptions.limits(rules)).isEmpty();
    assertThat(received("berth:proxy", "").find(DeploymentConfig.MCP)).isNull();
  }

  @Test
  void replicaReceivesTheRules() {
    Settings own =
        received("berth:mcp", "mcp: {max_streams: 3, tools: {a.b: {max_ongoing_requests: 2}}},");
    Settings upstream = Objects.requireNonNull(UpstreamOptions.find(own, "http://h:1"));
    Object rules = UpstreamArguments.of(own, upstream, "http://h:1").get("mcp");
    Settings read = McpOptions.fromMap((Map<?, ?>) Objects.requireNonNull(rules));
    assertThat(read.get(McpOptions.MAX_STREAMS)).isEqualTo(3);
    assertThat(McpOptions.limits(read)).containsExactly(Map.entry("a.b", 2));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "args: {a: 1},|mcp: {},|''|args: with import_path berth:mcp (expected: leave it out)",
        "berth: {shadow: [{deployment: d}]},|''|''"
            + "|berth.shadow: with import_path berth:mcp (expected: leave it out)",
        "''|''|, owners: 2|deployments[0].berth.upstreams[0].owners: with import_path berth:mcp"
            + " (expected: leave it out)",
        "''|mcp: {max_streams: 65001},|''|deployments[0].berth.mcp.max_streams: 65001 (expected: an"
            + " integer from 0 to 65000)",
        "''|mcp: {tools: {a: 2}},|''|deployments[0].berth.mcp.tools: a mapping, with another name or value"
            + " (expected: a mapping of names of tools to {max_ongoing_requests: 1 to 65535})",
        "''|mcp: {origins: ['https://a/b']},|''|deployments[0].berth.mcp.origins[0]: \"https://a/b\""
            + " (expected: an origin such as https://app.example)"
      })
  void settingThatDoesNotFitIsAProblem(
      String application, String rules, String more, String problem) {
    String upstream = UPSTREAM.replace("}", more + "}");
    assertThat(problems(file("berth:mcp", application, deployment("d", rules, upstream))))
        .containsExactly(problem);
  }

  @Test
  void applicationHasOneDeploymentAndOthersHaveNoRules() {
    String two =
        deployment("d", "", UPSTREAM) + ", " + deployment("e", "", UPSTREAM.replace("h:1", "h:2"));
    assertThat(problems(file("berth:mcp", "", two)))
        .containsExactly("deployments: 2, with import_path berth:mcp (expected: one)");
    assertThat(problems(file("berth:proxy", "", deployment("d", "mcp: {},", UPSTREAM))))
        .containsExactly(
            "deployments[0].berth.mcp: with import_path berth:proxy (expected: import_path:"
                + " berth:mcp)");
  }
}
