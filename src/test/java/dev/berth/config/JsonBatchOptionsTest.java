package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.config.batching.BatchingOptions;
import dev.berth.config.keys.Settings;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code berth.batch}: batches of requests for upstreams. */
class JsonBatchOptionsTest {
  private static final String BATCH = "batch: {path: /all, json_array: true}";

  private static String file(String path, String own, String upstreams) {
    return "{applications: [{name: a, import_path: '%s', deployments: [{name: d, berth: {%s%s}}]}]}"
        .formatted(path, own, upstreams);
  }

  private static String upstreams(int... maxima) {
    StringBuilder all = new StringBuilder(", upstreams: [");
    for (int max : maxima) {
      all.append("{url: 'http://h:%d', max_ongoing_requests: %d},".formatted(max, max));
    }
    return all.append(']').toString();
  }

  private static Settings effective(String own, int... maxima) {
    Settings all =
        Yaml.read(file("berth:proxy", own, upstreams(maxima)))
            .applications()
            .get(0)
            .deployment(Deployment.of("d", replica -> null));
    return DeploymentConfig.fromMap(all.toMap()); // as another instance receives it
  }

  private static List<String> problems(String path, String own, String upstreams) {
    return Yaml.problems(file(path, own, upstreams)).stream()
        .map(each -> each.replaceFirst("^.*deployments.0..berth.", ""))
        .toList();
  }

  @Test
  void rulesOfBatchingAreTheDefaults() {
    Settings all = effective(BATCH, 10);

    Settings batching = Objects.requireNonNull(all.find(DeploymentConfig.BATCHING));
    assertThat(batching.get(BatchingOptions.MAX_BATCH_SIZE)).isEqualTo(10);
    Settings upstream = UpstreamOptions.byKey(all).get("http://h:10");
    assertThat(UpstreamArguments.of(all, upstream, "http://h:10").get("batch"))
        .isEqualTo(Map.of("path", "/all", "json_array", true, "same", List.of()));
  }

  @Test
  void replicaReceivesTheSharedHeaders() {
    Settings all = effective("batching: {same: [x-model]}, " + BATCH, 10);

    Settings upstream = UpstreamOptions.byKey(all).get("http://h:10");
    assertThat(UpstreamArguments.of(all, upstream, "http://h:10").get("batch"))
        .hasToString("{path=/all, json_array=true, same=[x-model]}");
  }

  @Test
  void eachUpstreamHasSlotsForItsBatches() {
    String own = "batching: {max_batch_size: 4, max_concurrent_batches: 2}, " + BATCH;

    assertThat(effective(own, 8, 20).get(DeploymentConfig.MAX_ONGOING_REQUESTS)).isEqualTo(20);
    assertThat(problems("berth:proxy", own, upstreams(20, 7)))
        .containsExactly(
            "upstreams[1].max_ongoing_requests: 7 (expected: at least max_batch_size x"
                + " max_concurrent_batches, 8)");
  }

  @Test
  void eachPartOfAnUpstreamHasSlotsForItsBatches() {
    String two = ", upstreams: [{url: 'http://h:1', max_ongoing_requests: 19, owners: 2}]";
    assertThat(problems("berth:proxy", BATCH, two))
        .containsExactly(
            "upstreams[0].max_ongoing_requests: 19 (expected: at least max_batch_size x"
                + " max_concurrent_batches x owners, 20)");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          batch: {json_array: true}                | batch.path: missing (expected: a path that starts with /, in ASCII)
          batch: {path: all, json_array: true}     | batch.path: "all" (expected: a path that starts with /, in ASCII)
          batch: {path: /all}                      | batch.json_array: missing (expected: true)
          batch: {path: /all, json_array: false}   | batch.json_array: false, a boolean (expected: true)
          batching: {}                             | batching: with upstreams (expected: batch too, or leave it out)
          """)
  void invalidFormIsRefused(String own, String problem) {
    assertThat(problems("berth:proxy", own, upstreams(10))).containsExactly(problem);
  }

  @ParameterizedTest
  @CsvSource({"berth:openai", "berth:mcp"})
  void otherApplicationsOfUpstreamsHaveNoBatches(String path) {
    assertThat(problems(path, BATCH, upstreams(10)))
        .contains("batch: with import_path " + path + " (expected: import_path: berth:proxy)");
  }

  @Test
  void handlersHaveNoBatchOfUpstreams() {
    assertThat(problems("com.acme.Shop", BATCH, ""))
        .contains("batch: without upstreams (expected: upstreams too, or leave it out)");
  }
}
