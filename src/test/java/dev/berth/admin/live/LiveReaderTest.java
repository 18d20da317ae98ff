package dev.berth.admin.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.NodeFigures.DeploymentFigures;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LiveReaderTest {
  private final FakeLiveState state = new FakeLiveState();
  private final FigureHistory history = new FigureHistory(FigureHistory.MAX_BYTES, 0);
  private final LiveReader reader = new LiveReader(state, history);

  private Map<String, ?> read(String topic) {
    reader.begin();
    return reader.read(new LiveTopic(topic, Map.of())).result().get();
  }

  private JsonObject entry(String topic, String key) {
    return (JsonObject) read(topic).get(key);
  }

  @Test
  void overviewHasTheTotalAndEachApplicationAndNode() {
    assertThat(read("overview").keySet()).hasToString("[app/shop, node/node-1, total]");
    JsonObject total = entry("overview", "total");
    assertThat(total.getInteger("applications")).isEqualTo(1);
    assertThat(total.getInteger("healthy")).isEqualTo(1);
    assertThat(total.getInteger("target_replicas")).isEqualTo(2);
    assertThat(total.getDouble("requests_per_s")).isZero();
    JsonObject deployment =
        entry("overview", "app/shop").getJsonArray("deployments").getJsonObject(0);
    assertThat(deployment.getInteger("running")).isEqualTo(1);
    assertThat(deployment.getString("status")).isEqualTo("HEALTHY");
  }

  @Test
  void unchangedApplicationKeepsItsEntry() {
    JsonObject before = entry("overview", "app/shop");
    history.end(1_000, each -> {});
    assertThat(entry("overview", "app/shop")).isSameAs(before);
    state.replicas = 3;
    assertThat(entry("overview", "app/shop").encode()).contains("\"replicas\":3");
    DeploymentFigures figures =
        new DeploymentFigures(new DeploymentId("shop", "infer"), 7, 0, List.of(), 0, 0, 8, 3);
    NodeFigures of = new NodeFigures(1_000, 0, List.of(figures));
    List<HandleMetricReport> none = List.of();
    history.record(new HandleMetricBatch("node-1", 1, 1, none, none, List.of(), of), 1_500);
    history.end(2_000, each -> {});
    assertThat(entry("overview", "app/shop").encode()).contains("\"requests_per_s\":7.0");
    assertThat(before.encode()).contains("\"replicas\":2", "\"requests_per_s\":null");
  }

  @Test
  void deploymentHasItsReplicasWithSlotsAndItsRollout() {
    JsonObject replica = entry("deployment:shop#infer", "replica/shop#infer#1");
    assertThat(replica.getInteger("running")).isEqualTo(3);
    assertThat(replica.getInteger("max_ongoing_requests")).isEqualTo(8);
    assertThat(replica.getString("upstream")).isEqualTo("http://up");
    JsonObject starting = entry("deployment:shop#infer", "replica/shop#infer#0");
    assertThat(starting.getValue("running")).isNull();
    assertThat(entry("deployment:shop#infer", "rollout").encode())
        .isEqualTo("{\"version\":\"v2\",\"current\":0,\"old\":1,\"starting\":1,\"draining\":0}");
    assertThat(entry("deployment:shop#infer", "application").getString("status"))
        .isEqualTo("RUNNING");
    assertThat(entry("deployment:shop#infer", "deployment").getJsonObject("config").encode())
        .isEqualTo("{\"num_replicas\":2}");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "overview",
        "deployment:shop#infer",
        "requests",
        "traffic",
        "autoscaling",
        "ledger",
        "reservations",
        "nodes",
        "log",
        "upstreams",
        "batches"
      })
  void twoReadsOfAnUnchangedStateAreEqual(String topic) {
    assertThat(new LiveTopic(topic, Map.of()).isValid()).isTrue();
    assertThat((Object) read(topic)).isEqualTo(read(topic));
  }

  @Test
  void oneRoundReadsTheLedgersOnce() {
    reader.begin();
    for (String topic : new String[] {"ledger", "batches", "reservations", "upstreams"}) {
      reader.read(new LiveTopic(topic, Map.of()));
    }
    assertThat(state.reads).containsExactly("/api/v1/ledger");
  }

  @Test
  void unknownDeploymentIsRefusedByName() {
    assertThatThrownBy(() -> read("deployment:shop#other"))
        .hasMessage("deployment: shop#other (expected: a known one)");
    assertThatThrownBy(() -> read("autoscaling:shop#infer"))
        .hasMessage("deployment: shop#infer (expected: an autoscaled one)");
  }

  @Test
  void missingControllerLeavesTheOverviewOfThisNode() {
    state.missing = "controller: none";
    assertThat(read("overview").keySet()).hasToString("[node/node-1, total]");
    assertThat(read("nodes").keySet()).hasToString("[node/node-1]");
    assertThat(read("ledger")).containsKey("shop#infer#1");
    assertThatThrownBy(() -> read("autoscaling")).hasMessage("controller: none");
  }

  @Test
  void logLineOfAMegabyteIsCutWithAStatement() {
    state.line = "x".repeat(1 << 20);
    JsonObject line = (JsonObject) read("log").values().iterator().next();
    assertThat(line.getString("message"))
        .hasSizeLessThan(LiveReader.MAX_LOG_CHARS + 100)
        .endsWith("... (4096 of 1048576 characters shown)");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "other",
        "deployment",
        "deployment:",
        "deployment:shop",
        "deployment:#infer",
        "overview:shop#infer",
        "deployment:a#b#c",
        "log?level=INFO",
        "overview "
      })
  void malformedTopicIsInvalid(String name) {
    assertThat(new LiveTopic(name, Map.of()).isValid()).isFalse();
  }
}
