package dev.berth.controller;

import static dev.berth.controller.DrivenController.MODEL;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.ReplicaStats;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What replicas tell of themselves, as a controller shows it to a policy, on a virtual clock. */
class ReplicaStatsTest {
  private static final String POLICY =
      "min_replicas: 2, max_replicas: 9, look_back_period_s: 10, aggregation_function: %s,"
          + " policy: {policy_function: com.acme.Pace}";

  private final DrivenController world = new DrivenController();

  @BeforeEach
  void heard() {
    world.heard();
  }

  private void serve(String aggregation) {
    world.serve("app", DrivenController.autoscaled(MODEL, 1, POLICY.formatted(aggregation)));
    world.finish();
  }

  private void tell(int seconds, ReplicaStats... told) {
    for (int i = 0; i < seconds; i++) {
      HandleMetricReport report =
          new HandleMetricReport(MODEL, 0, 0, 0, 0, 0, false, List.of(told));
      world.report(List.of(), List.of(report));
      world.advance(Duration.ofSeconds(1));
    }
  }

  private static ReplicaStats depth(String replica, double depth) {
    return ReplicaStats.of(replica, Map.of("depth", depth));
  }

  private Map<String, Map<String, Double>> shown() {
    Map<String, Map<String, Double>> shown = Map.of();
    for (AskPolicy ask : world.asked(AskPolicy.class)) {
      shown = ask.contexts().get(0).stats();
    }
    assertThat(world.controller.autoscaling(MODEL, world.now).stats()).isEqualTo(shown);
    return shown;
  }

  @Test
  void itIsShownByReplicaAndNameAsTheMeanOfTheWindow() {
    serve("mean");
    tell(1, depth("m1", -4), depth("m2", 0), depth("stranger", 1));
    assertThat(shown()).isEqualTo(Map.of("m1", Map.of("depth", -4.0), "m2", Map.of("depth", 0.0)));
    tell(20, depth("m1", 10));
    tell(5, depth("m1", 20));
    assertThat(shown().get("m1").get("depth")).isEqualTo(15.0);
    tell(1, ReplicaStats.of("m1", Map.of("width", 1e-6)));
    assertThat(shown().get("m1")).isEqualTo(Map.of("width", 1e-6));
  }

  @Test
  void itIsAggregatedAsTheLoadIs() {
    serve("max");
    tell(3, depth("m1", -20));
    tell(3, depth("m1", -30));
    assertThat(shown()).isEqualTo(Map.of("m1", Map.of("depth", -20.0)));
  }

  @Test
  void aReplicaThatIsGoneDropsOutAndWhatASilentOneSaidAges() {
    serve("mean");
    tell(3, depth("m1", 1e12), depth("m2", 2));
    world.send(new ControllerEvent.ReplicaStopped("m1"));
    tell(1, depth("m1", 1), depth("m2", 2));
    assertThat(shown()).isEqualTo(Map.of("m2", Map.of("depth", 2.0)));
    world.advance(Duration.ofSeconds(8));
    assertThat(shown()).isNotEmpty();
    world.advance(Duration.ofSeconds(3));
    assertThat(shown()).isEmpty();
    tell(1, depth("m2", 8));
    assertThat(shown())
        .as("the gap counts for nothing")
        .isEqualTo(Map.of("m2", Map.of("depth", 8.0)));
  }
}
