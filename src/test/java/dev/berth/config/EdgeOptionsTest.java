package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.edge.EdgeOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.edge.EdgeRules;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class EdgeOptionsTest {

  private static String file(String path, String own) {
    return ("{applications: [{name: a, import_path: '%s', berth: {%s}, deployments: [{name: d,"
            + " berth: {upstreams: [{url: 'http://h:1', max_ongoing_requests: 2}]}}]}]}")
        .formatted(path, own);
  }

  private static Settings route(String own) {
    Settings sent =
        Objects.requireNonNull(
            Yaml.read(file("berth:proxy", own)).applications().get(0).routeSettings());
    return ApplicationConfig.routeSettingsFromMap(sent.toMap()); // as another instance reads it
  }

  private static List<String> problems(String own) {
    return Yaml.problems(file("berth:mcp", own)).stream()
        .map(each -> each.replaceFirst("^berth.yaml:\\d+:\\d+: applications.0..berth.", ""))
        .toList();
  }

  @Test
  void applicationWithoutTheKeysHasNoRules() {
    assertThat(
            Yaml.read(file("berth:proxy", "request_timeout_s: 3"))
                .applications()
                .get(0)
                .routeSettings())
        .isNull();
  }

  @Test
  void routeCarriesTheKeysWithTheirDefaults() {
    Settings compression =
        Objects.requireNonNull(route("compression: {}").find(EdgeOptions.COMPRESSION));
    assertThat(compression.get(EdgeOptions.MIN_BYTES)).isEqualTo(1024);
    assertThat(compression.get(EdgeOptions.TYPES)).contains("text/*", "application/json");
    Settings all =
        route(
            "cors: {origins: ['https://a.example'], methods: [PUT], max_age_s: 5},"
                + " response_headers: {strict-transport-security: max-age=60}, decode_requests: true");
    Settings cors = Objects.requireNonNull(all.find(EdgeOptions.CORS));
    assertThat(cors.get(EdgeOptions.ORIGINS)).containsExactly("https://a.example");
    assertThat(cors.get(EdgeOptions.METHODS)).containsExactly("PUT");
    assertThat(cors.get(EdgeOptions.MAX_AGE_S)).hasSeconds(5);
    assertThat(cors.get(EdgeOptions.CREDENTIALS)).isFalse();
    assertThat(all.get(EdgeOptions.RESPONSE_HEADERS))
        .isEqualTo(Map.of("strict-transport-security", "max-age=60"));
    assertThat(all.get(EdgeOptions.DECODE_REQUESTS)).isTrue();
    assertThat(all.find(EdgeOptions.COMPRESSION)).isNull();
    assertThat(TrafficOptions.hasRules(all)).isFalse();
    assertThat(TrafficOptions.hasRules(route("shard_key: {header: a}"))).isTrue();
    assertThat(TrafficOptions.hasRules(route("shadow: [{deployment: d}]"))).isTrue();
    assertThat(EdgeRules.of(all)).isEqualTo(EdgeRules.of(all)).isNotNull();
    assertThat(EdgeRules.of(route("traffic: [{deployment: d, weight: 1}]"))).isNull();
  }

  @Test
  void allProblemsAreReportedAtOnce() {
    assertThat(
            problems(
                "compression: {types: [text, 'Text/html', '*/*'], min_bytes: -1, level: 0},"
                    + " cors: {origins: [app.example, '*'], headers: ['*', 'a b'], credentials: true,"
                    + " max_age_s: 1.5}, response_headers: {a: \"x\\n\"}, decode_requests: 1"))
        .extracting(each -> each.replaceFirst(":.*", ""))
        .containsExactlyInAnyOrder(
            "compression.types[0]",
            "compression.types[1]",
            "compression.types[2]",
            "compression.min_bytes",
            "compression.level",
            "cors.origins[0]",
            "cors.headers[1]",
            "cors.origins",
            "cors.headers",
            "cors.max_age_s",
            "response_headers",
            "decode_requests");
    assertThat(problems("cors: {}")).first().asString().startsWith("cors.origins: missing");
  }

  @Test
  void headersOfFramingAreRefused() {
    for (String name : List.of("Content-Length", "connection", "transfer-encoding", "'a:b'")) {
      assertThat(problems("response_headers: {%s: x}".formatted(name))).hasSize(1);
    }
    for (String value : List.of("''", "' x'", "\"x\\ty\"", "'ü'", "1")) {
      assertThat(problems("response_headers: {a: %s}".formatted(value))).as(value).hasSize(1);
    }
  }

  @Test
  void proxyProtocolRequiresTrustedProxies() {
    assertThat(Yaml.problems("{berth: {proxy_protocol: true}}"))
        .singleElement()
        .asString()
        .contains("berth.proxy_protocol: true, without trusted proxies");
    assertThat(
            Yaml.problems(
                "{berth: {proxy_protocol: true, limits: {trusted_proxies: [10.0.0.0/8]}}}"))
        .isEmpty();
  }
}
