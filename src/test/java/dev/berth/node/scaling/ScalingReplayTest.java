package dev.berth.node.scaling;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.Reported;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.controller.Epoch;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.NodeFigures;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is recorded of a load is decided anew. */
class ScalingReplayTest {
  private static final DeploymentId MODEL = new DeploymentId("my.app", "model");
  private static final DeploymentId OTHER = new DeploymentId("my.app", "other");

  @TempDir Path dir;
  private Path file;
  private ScalingWatch watch;
  private long nowMs = 1_000_000;
  private long sequence;

  @BeforeEach
  void begin() {
    file = dir.resolve("r.jsonl");
    ServeConfig config =
        ConfigReader.read(
            "t", Path.of("."), "berth: {autoscaling: {record: " + file + "}}\napplications: []");
    watch =
        new ScalingWatch(
            config.get(InstanceOptions.AUTOSCALING), () -> nowMs, Duration.ofSeconds(10).toNanos());
  }

  private void configure(DeploymentId id, String autoscaling) {
    DeploymentTarget target =
        new DeploymentTarget(
            id,
            "b",
            new DeploymentVersion("v", ""),
            ConfigReader.read(
                    "t",
                    Path.of("."),
                    "applications: [{import_path: a.B, deployments: [{name: model,"
                        + autoscaling
                        + "}]}]")
                .applications()
                .get(0)
                .deployment(Deployment.of("model", context -> null)));
    watch.accept(new Configure(new Epoch(0, 1, "n"), target));
  }

  private static HandleMetricReport report(DeploymentId id, double load) {
    return new HandleMetricReport(id, 0, (int) load, 0, load, 0, false, List.of());
  }

  private void batch(HandleMetricReport... reports) {
    nowMs += 1_000;
    watch.accept(
        new Reported(
            new HandleMetricBatch(
                "n", 1, ++sequence, List.of(reports), List.of(), List.of(), NodeFigures.NONE)));
  }

  private void load(double load, int seconds) {
    for (int i = 0; i < seconds; i++) {
      batch(report(MODEL, load));
    }
  }

  private JsonObject replay(String... changes) throws Exception {
    watch.stop().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    List<Setting> all = Stream.of(changes).map(each -> Setting.parse("--set", each)).toList();
    return new ScalingReplay(file).run(null, null, all, Duration.ofSeconds(1));
  }

  private static int last(JsonObject outcome) {
    JsonArray points = outcome.getJsonArray("points");
    return points.getJsonObject(points.size() - 1).getInteger("running");
  }

  private static final String RULES =
      "autoscaling_config: {max_replicas: 10, upscale_delay_s: 2, look_back_period_s: 2}";

  @Test
  void otherRulesAreComparedWithThoseThatWereRecorded() throws Exception {
    configure(MODEL, RULES);
    load(8, 60);
    JsonObject both = replay("target_ongoing_requests=4");

    assertThat(both.getJsonObject("deployment").getString("application")).isEqualTo("my.app");
    assertThat(both.getLong("from_ms")).isEqualTo(1_001_000);
    assertThat(both.getLong("to_ms")).isEqualTo(1_060_000);
    assertThat(both.getInteger("unreadable")).isZero();
    JsonObject recorded = both.getJsonObject("recorded");
    JsonObject changed = both.getJsonObject("changed");
    assertThat(last(recorded)).isEqualTo(4);
    assertThat(last(changed)).isEqualTo(2);
    assertThat(changed.getDouble("replica_seconds"))
        .isPositive()
        .isLessThan(recorded.getDouble("replica_seconds"));
    assertThat(recorded.getDouble("late_request_seconds")).isPositive();
    assertThat(recorded.getJsonArray("points").getJsonObject(0).getLong("at_ms"))
        .isEqualTo(1_001_000);
  }

  @Test
  void ourOwnKeysMayBeChangedToo() throws Exception {
    configure(
        MODEL,
        "autoscaling_config: {max_replicas: 10, upscale_delay_s: 30, look_back_period_s: 30}");
    load(1, 30);
    load(16, 20);
    JsonObject both = replay("berth.autoscaling.panic_window_s=3");
    assertThat(last(both.getJsonObject("recorded"))).isEqualTo(1);
    assertThat(last(both.getJsonObject("changed"))).isGreaterThan(4);
  }

  /** A batch names only what changed: what it does not name is as it was, and is not silent. */
  @Test
  void whatABatchDoesNotNameIsAsItWas() throws Exception {
    configure(
        MODEL,
        "autoscaling_config: {max_replicas: 10, upscale_delay_s: 0, downscale_delay_s: 20,"
            + " look_back_period_s: 2}");
    load(8, 20);
    load(0, 1);
    for (int i = 0; i < 60; i++) {
      batch(); // of an idle instance
    }
    assertThat(last(replay().getJsonObject("recorded"))).isEqualTo(1);
  }

  @Test
  void whatIsTornIsPassedOverAndCounted() throws Exception {
    configure(MODEL, RULES);
    load(8, 60);
    JsonObject whole = replay();
    assertThat(whole.getJsonObject("changed")).isEqualTo(whole.getJsonObject("recorded"));
    String text = Files.readString(file);
    Files.writeString(
        file, text.substring(0, text.length() - 40), StandardOpenOption.TRUNCATE_EXISTING);
    Files.write(file, new byte[] {'\n', (byte) 0xff, 0, '{', '\n'}, StandardOpenOption.APPEND);
    Files.writeString(
        file,
        "[]\n{\"rules\": 3}\n{\"at_ms\": \"x\", \"batch\": {\"node\": 1}}\n",
        StandardOpenOption.APPEND);
    JsonObject torn = replay();
    assertThat(torn.getInteger("unreadable")).isGreaterThanOrEqualTo(4);
    assertThat(last(torn.getJsonObject("recorded")))
        .isEqualTo(last(whole.getJsonObject("recorded")));
    assertThat(torn.getLong("to_ms")).isEqualTo(1_059_000);
  }

  @Test
  void aKeyThatIsNoneIsRefusedAsInAFile() throws Exception {
    configure(MODEL, RULES);
    load(8, 2);
    assertThatThrownBy(() -> replay("target_ongoing_request=4"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("target_ongoing_requests");
    assertThatThrownBy(() -> replay("target_ongoing_requests=0"))
        .isInstanceOf(ConfigException.class);
    assertThatThrownBy(() -> replay("berth.autoscaling.panic=1"))
        .isInstanceOf(ConfigException.class);
    assertThatThrownBy(() -> replay("min_replicas=20")).isInstanceOf(ConfigException.class);
  }

  @Test
  void ofSeveralDeploymentsOneIsNamed() throws Exception {
    configure(MODEL, RULES);
    configure(OTHER, RULES);
    load(8, 20);
    assertThatThrownBy(this::replay)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("deployment: 2 in the record (expected: one, by --app and")
        .hasMessageContaining("my.app")
        .hasMessageContaining("other");
    JsonObject other =
        new ScalingReplay(file).run("my.app", "other", List.of(), Duration.ofSeconds(1));
    assertThat(last(other.getJsonObject("recorded"))).as("of another's load").isEqualTo(1);
  }
}
