package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.config.keys.Settings;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class UpstreamOptionsTest {
  private static final String ONE = "{url: 'http://h:1', max_ongoing_requests: 2}";
  private static final String TWO = "{url: 'http://h:2', max_ongoing_requests: 7}";

  private static String file(String deployments) {
    return file(deployments, "");
  }

  private static String file(String deployments, String more) {
    return "{applications: [{name: a, import_path: 'berth:proxy', deployments: [%s]}]%s}"
        .formatted(deployments, more);
  }

  private static String deployment(String name, String upstreams, String own) {
    return "{name: %s, berth: {upstreams: [%s]%s}}".formatted(name, upstreams, own);
  }

  /** The problems without their positions. */
  private static List<String> problems(String text) {
    return Yaml.problems(text).stream()
        .map(each -> each.replaceFirst("^berth.yaml:\\d+:\\d+: ", ""))
        .toList();
  }

  private static List<String> entryProblems(String entry) {
    return problems(file(deployment("d", entry, ""))).stream()
        .map(each -> each.replaceFirst("^applications.0..deployments.0..berth.upstreams.0..", ""))
        .toList();
  }

  private static Settings effective(String deployments) {
    return Yaml.read(file(deployments))
        .applications()
        .get(0)
        .deployment(Deployment.of("d", replica -> null));
  }

  @ParameterizedTest
  @CsvSource({
    "http://10.0.0.7:8000, http://10.0.0.7:8000",
    "HTTPS://Models.Example:443/, https://models.example",
    "http://localhost:80, http://localhost",
    "'http://[0:0:0:0:0:0:0:1]:8000', 'http://[::1]:8000'",
    "unix:/run/model.sock, unix:/run/model.sock",
    "http://model_1.internal, http://model_1.internal"
  })
  void keyIsTheOriginInOneForm(String url, String key) {
    Settings all =
        effective(deployment("d", "{url: '%s', max_ongoing_requests: 1}".formatted(url), ""));
    assertThat(UpstreamOptions.byKey(all)).containsOnlyKeys(key);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "h:1",
        "http://",
        "http://h:0",
        "http://h:65536",
        "http://h/v1",
        "http://h?x",
        "ftp://h",
        "http://127.1",
        "http://2130706433",
        "http://0x7f000001",
        "http://1.2.3.256",
        "http://-h",
        "http://h..x",
        "http://[1.2.3.4]",
        "http://[::1%25eth0]",
        "unix:run.sock",
        "http://h\\r\\nx"
      })
  void otherUrlIsRefused(String url) {
    assertThat(entryProblems("{url: \"%s\", max_ongoing_requests: 1}".formatted(url)))
        .singleElement()
        .asString()
        .startsWith("url: ")
        .contains("an origin without path or credentials");
  }

  @Test
  void credentialsInUrlAreNotShown() {
    assertThat(entryProblems("{url: 'http://u:geheim@h', max_ongoing_requests: 1}"))
        .singleElement()
        .asString()
        .doesNotContain("geheim");
  }

  @Test
  void deploymentRunsOneReplicaForEachUpstream() {
    Settings all = effective(deployment("d", ONE + "," + TWO, ", cancel_grace_s: 3"));
    assertThat(all.get(DeploymentConfig.NUM_REPLICAS)).isEqualTo(2);
    assertThat(all.get(DeploymentConfig.MAX_ONGOING_REQUESTS)).isEqualTo(7);
    assertThat(DeploymentConfig.atCapacity(all, 0.0, false).get(DeploymentConfig.NUM_REPLICAS))
        .isEqualTo(2);
    Settings read = DeploymentConfig.fromMap(all.toMap());
    assertThat(UpstreamOptions.byKey(read)).isEqualTo(UpstreamOptions.byKey(all));
  }

  @Test
  void entryReachesItsReplicaAsUserConfig() {
    String entry = "{url: 'https://h', id: big, max_ongoing_requests: 2, tls: {server_name: n}}";
    Settings all = effective(deployment("d", entry, ", cancel_grace_s: 0.5"));
    Settings upstream = UpstreamOptions.byKey(all).get("https://h#big");

    Map<String, @Nullable Object> config = UpstreamArguments.of(all, upstream, "");

    assertThat(config)
        .containsEntry("cancel_grace_s", 0.5)
        .containsEntry("route_prefix", "/")
        .containsEntry("is_only", true);
    Settings read = UpstreamOptions.fromUserConfig(config);
    assertThat(UpstreamOptions.key(read)).isEqualTo("https://h#big");
    assertThat(read.get(UpstreamOptions.ORPHAN_S)).isEqualTo(Duration.ofSeconds(600));
    assertThat(read.get(UpstreamOptions.NOT_RUN)).containsExactly(429);
    assertThat(read.get(UpstreamOptions.TLS).get(UpstreamOptions.SERVER_NAME)).isEqualTo("n");
    Settings timed = effective(deployment("d", entry, ", request_timeout_s: 9"));
    assertThat(UpstreamArguments.of(timed, upstream, "").get("orphan_s")).hasToString("9");
  }

  @Test
  void storedEntryNamesItsUpstreamsByPath() {
    String text = file(deployment("d", ONE, "") + "," + deployment("e", TWO, ""));
    assertThat(UpstreamOptions.paths(Yaml.read(text).applications().get(0).entry()))
        .isEqualTo(
            Map.of(
                "http://h:1", "deployments[0].berth.upstreams[0]",
                "http://h:2", "deployments[1].berth.upstreams[0]"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          tls: {}                           | tls: with http://10.1.1.1 (expected: a url of https, or no tls)
          headers_file: f                   | headers_file: with http://10.1.1.1 (expected: a url of https, or of this host, such as localhost)
          path_prefix: /a/../b              | path_prefix: "/a/../b" (expected: empty, or a path that
          pass_headers: [x-forwarded-for]   | pass_headers[0]: "x-forwarded-for" (expected: authorization, proxy
          id: 'a b'                         | id: "a b" (expected: 1 to 64 letters
          not_run: [200]                    | not_run[0]: 200 (expected: an integer from 400 to 599)
          health: {path: x}                 | health.path: "x" (expected: a path that starts with /
          max_ongoing_requests: 0           | max_ongoing_requests: 0 (expected: an integer from 1 to 65535)
          """)
  void invalidEntryIsRefused(String change, String problem) {
    String rest = change.startsWith("max") ? "" : "max_ongoing_requests: 1, ";
    assertThat(entryProblems("{url: 'http://10.1.1.1', %s%s}".formatted(rest, change)))
        .singleElement()
        .asString()
        .startsWith(problem);
  }

  @Test
  void clientCertificateNeedsItsKey() {
    assertThat(entryProblems("{url: 'https://h', max_ongoing_requests: 1, tls: {cert_file: c}}"))
        .containsExactly("tls.key_file: missing (expected: a path, since cert_file is set)");
  }

  @Test
  void settingsOfReplicasAreRefusedTogether() {
    String both =
        "{name: d, num_replicas: 2, max_ongoing_requests: 3, user_config: {}, max_replicas_per_node:"
            + " 1, berth: {spread: event_loops, upstreams: [%s]}}";
    assertThat(problems(file(both.formatted(ONE))))
        .hasSize(5)
        .contains(
            "applications[0].deployments[0].num_replicas: with berth.upstreams (expected: leave it"
                + " out: an upstream is one replica)",
            "applications[0].deployments[0].berth.spread: event_loops, with upstreams (expected:"
                + " single)");
    assertThat(problems(file(deployment("d", (ONE + ",").repeat(65), ""))))
        .contains(
            "applications[0].deployments[0].berth.upstreams: 65 entries (expected: at most 64)");
  }

  @Test
  void upstreamsAndBuiltInApplicationBelongTogether() {
    String proxy = file("{name: d}, {name: e, berth: {fallback: [d]}}");
    assertThat(problems(proxy))
        .containsExactly(
            "applications[0].deployments[0].name: d, without berth.upstreams (expected: upstreams,"
                + " as berth:proxy)",
            "applications[0].deployments[1].name: e, without berth.upstreams (expected: upstreams,"
                + " as berth:proxy)",
            "applications[0].deployments[1].berth.fallback: without upstreams (expected: upstreams"
                + " too, or leave it out)");
    assertThat(
            problems(file("").replace("}]}", ", args: {a: 1}, external_scaler_enabled: true}]}")))
        .hasSize(3);
    assertThat(problems(file(deployment("d", ONE, "")).replace("berth:proxy", "a.B")))
        .containsExactly(
            "applications[0].deployments[0].berth.upstreams: with import_path a.B:build (expected:"
                + " import_path: berth:proxy, berth:openai or berth:mcp)");
  }

  @Test
  void waitForAFallbackNeedsOne() {
    assertThat(problems(file(deployment("d", ONE, ", idempotent: true, fallback_after_ms: 5"))))
        .containsExactly(
            "applications[0].deployments[0].berth.fallback_after_ms: without fallback (expected: a"
                + " fallback too, or leave it out)");
    String all =
        deployment("d", ONE, ", fallback_after_ms: 5, fallback: [e]")
            + ","
            + deployment("e", TWO, "");
    assertThat(problems(file(all))).isEmpty();
  }

  @Test
  void fallbacksExistOnceAndHaveNoCycle() {
    String all =
        deployment("d", ONE, ", fallback: [e, x, e]")
            + ","
            + deployment("e", TWO, ", fallback: [d]");
    String path = "applications[0].deployments[%s].berth.fallback: ";
    assertThat(problems(file(all)))
        .containsExactly(
            path.formatted(0) + "[e, x, e] (expected: deployments of the application, once each)",
            path.formatted(0) + "[e, x, e], a cycle (expected: deployments that do not lead back)",
            path.formatted(1) + "[d], a cycle (expected: deployments that do not lead back)");
  }

  @Test
  void secondUpstreamOfTheSameKeyIsRefusedWithBothPlaces() {
    String all = deployment("d", ONE, "") + "," + deployment("e", TWO + "," + ONE, "");
    assertThat(problems(file(all)))
        .containsExactly(
            "applications[0].deployments[1].berth.upstreams[1].url: http://h:1 twice (expected:"
                + " unique in the instance; applications[0].deployments[0].berth.upstreams[0] has"
                + " it already: set id to count it apart)");
    String other =
        deployment("d", ONE, "") + "," + deployment("e", ONE.replace("}", ", id: b}"), "");
    assertThat(problems(file(other))).isEmpty();
  }

  @Test
  void moreOwnersThanSlotsAreRefused() {
    String five = "{url: 'http://h:1', max_ongoing_requests: 5, owners: ";
    assertThat(problems(file(deployment("d", five + "5}", "")))).isEmpty();
    assertThat(problems(file(deployment("d", five + "6}", ""))))
        .containsExactly(
            "applications[0].deployments[0].berth.upstreams[0].owners: 6 (expected: at most"
                + " max_ongoing_requests, 5)");
  }

  @Test
  void partsOfSeveralOwnersDifferByAtMostOneSlot() {
    Settings deployment =
        DeploymentConfig.of("d")
            .with(
                DeploymentConfig.UPSTREAMS,
                List.of(
                    UpstreamOptions.fromUserConfig(
                        Map.of("url", "http://h:1", "max_ongoing_requests", 5, "owners", 3))));
    Map<String, Integer> maxima = new LinkedHashMap<>();
    UpstreamOptions.byKey(deployment)
        .forEach((key, part) -> maxima.put(key, part.get(UpstreamOptions.MAX_ONGOING_REQUESTS)));
    assertThat(maxima)
        .containsExactly(
            Map.entry("http://h:1", 2),
            Map.entry("http://h:1 part 2", 2),
            Map.entry("http://h:1 part 3", 1));
    assertThat(UpstreamOptions.withoutPart("http://h:1 part 3")).isEqualTo("http://h:1");
    assertThat(UpstreamOptions.limit(deployment, "http://h:1 part 3")).isEqualTo(5);
  }

  @Test
  void localUpstreamHasAKeyPerNodeAndNoOwners() {
    String local = "{url: 'http://h:1', max_ongoing_requests: 5, local: true, owners: ";
    assertThat(problems(file(deployment("d", local + "1}", "")))).isEmpty();
    assertThat(problems(file(deployment("d", local + "2}", ""))))
        .containsExactly(
            "applications[0].deployments[0].berth.upstreams[0].owners: 2, with local (expected: no"
                + " owners beside local: true)");
    Settings deployment =
        DeploymentConfig.of("d")
            .with(
                DeploymentConfig.UPSTREAMS,
                List.of(
                    UpstreamOptions.fromUserConfig(
                        Map.of("url", "http://h:1", "max_ongoing_requests", 5, "local", true))));
    String key = UpstreamOptions.onNode("http://h:1", "n3");
    assertThat(key).isEqualTo("http://h:1 on n3");
    assertThat(UpstreamOptions.withoutPart(key)).isEqualTo(key);
    assertThat(UpstreamOptions.limit(deployment, key)).isEqualTo(5);
    Settings entry = UpstreamOptions.find(deployment, key);
    assertThat(entry.get(UpstreamOptions.MAX_ONGOING_REQUESTS)).isEqualTo(5);
    assertThat(UpstreamArguments.of(deployment, entry, "http://h:1"))
        .containsEntry("is_only", true);
    assertThat(UpstreamArguments.of(deployment, entry, key)).containsEntry("is_only", false);
  }

  @Test
  void addressesAreOfAHostNameWithoutLocalAndOwners() {
    String before = "applications[0].deployments[0].berth.upstreams[0].resolve: addresses, with ";
    String rest = ", max_ongoing_requests: 5, resolve: addresses";
    assertThat(problems(file(deployment("d", "{url: 'http://h:1'" + rest + "}", "")))).isEmpty();
    assertThat(problems(file(deployment("d", "{url: 'http://10.0.0.7:1'" + rest + "}", ""))))
        .containsExactly(before + "http://10.0.0.7:1 (expected: name, or a url with a host name)");
    assertThat(problems(file(deployment("d", "{url: 'unix:/run/a'" + rest + "}", ""))))
        .containsExactly(before + "unix:/run/a (expected: name, or a url with a host name)");
    assertThat(problems(file(deployment("d", "{url: 'http://h:1'" + rest + ", local: true}", ""))))
        .containsExactly(before + "local or owners (expected: name, or neither of them)");
    String key = UpstreamOptions.atAddress("http://h:1#a", "2001:db8::1");
    assertThat(key).isEqualTo("http://h:1#a at 2001:db8::1");
    assertThat(UpstreamOptions.address(key)).isEqualTo("2001:db8::1");
    assertThat(UpstreamOptions.address("http://h:1 on n1")).isNull();
    assertThat(UpstreamOptions.withoutPlace(key)).isEqualTo("http://h:1#a");
  }
}
