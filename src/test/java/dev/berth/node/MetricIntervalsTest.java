package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.config.Environment;
import dev.berth.config.ServeConfig;
import dev.berth.fakes.FakeHandle;
import dev.berth.fakes.ManualClock;
import dev.berth.metrics.MetricsPusher;
import dev.berth.node.loops.Identity;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The four intervals of the metrics path, each set by its variable, and what comes of it. */
class MetricIntervalsTest {
  private static final Duration STEP = Duration.ofMillis(100);
  private static final Duration SPAN = Duration.ofSeconds(12);

  private final ManualClock clock = new ManualClock();

  /**
   * What an instance did in {@link #SPAN}, with its verticle's timers; each batch with replicas
   * reads them once more.
   */
  private record Seen(int samples, int batches, int replicaSamples, int ofReplicas) {}

  private Seen seen(Map<String, String> variables) {
    ServeConfig config =
        ConfigReader.read("test", Path.of(""), "{}", Environment.settings(variables::get));
    Identity identity = new Identity("n", 1, clock, () -> Instant.EPOCH, new SecureRandom());
    MetricsPusher pusher = InstanceSeries.pusher(config, identity);
    FakeHandle handle = new FakeHandle("d").with(1, 0, 0);
    FakeHandle replica = new FakeHandle("d").with(0, 1, 0);
    pusher.register(handle);
    pusher.registerReplica(replica);
    int batches = 0;
    int ofReplicas = 0;
    for (Duration now = STEP; now.compareTo(SPAN) <= 0; now = now.plus(STEP)) {
      clock.advance(STEP);
      if (now.toMillis() % pusher.replicaRhythm().record().toMillis() == 0) {
        pusher.sampleReplicas();
      }
      if (now.toMillis() % pusher.rhythm().record().toMillis() == 0) {
        HandleMetricBatch batch = pusher.tick();
        if (batch != null) {
          pusher.onSettled(batch.sequence(), 1);
          batches++;
          ofReplicas += batch.replicas().size();
        }
      }
    }
    return new Seen(handle.readings, batches, replica.readings, ofReplicas);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "NOTHING_OF_OURS, 60, 12, 72, 12",
    "BERTH_HANDLE_AUTOSCALING_METRIC_RECORD_INTERVAL_S, 24, 12, 72, 12",
    "BERTH_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S, 60, 6, 66, 6",
    "RAY_SERVE_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S, 60, 6, 66, 6",
    "BERTH_REPLICA_AUTOSCALING_METRIC_RECORD_INTERVAL_S, 60, 12, 36, 12",
    "BERTH_REPLICA_AUTOSCALING_METRIC_PUSH_INTERVAL_S, 60, 12, 66, 6",
    "RAY_SERVE_REPLICA_AUTOSCALING_METRIC_PUSH_INTERVAL_S, 60, 12, 66, 6",
  })
  void eachOfTheFourTakesEffect(
      String variable, int samples, int batches, int replicaSamples, int ofReplicas) {
    String seconds = variable.contains("RECORD") ? "0.5" : "2";
    assertThat(seen(Map.of(variable, seconds)))
        .isEqualTo(new Seen(samples, batches, replicaSamples, ofReplicas));
  }
}
