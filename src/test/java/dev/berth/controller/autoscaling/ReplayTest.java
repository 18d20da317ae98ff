package dev.berth.controller.autoscaling;

import static dev.berth.controller.autoscaling.Rules.seconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.berth.controller.autoscaling.AutoscalingReplay.LoadSample;
import dev.berth.controller.autoscaling.AutoscalingReplay.ReplayResult;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What other rules would have made of a recorded load. */
class ReplayTest {
  /** A load of 4 for 100 s, 20 for 400 s, 0 to the end. */
  private static List<LoadSample> record() {
    List<LoadSample> ticks = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      double load = i < 100 ? 4 : i < 500 ? 20 : 0;
      ticks.add(new LoadSample(i * 1_000, "n1", load, 0, false));
    }
    return ticks;
  }

  private static ReplayResult run(String rules) {
    return AutoscalingReplay.run(record(), Rules.of(rules), seconds(10), seconds(5), 2);
  }

  @Test
  void itSaysWhatTheRulesWouldHaveDoneAndWhatThatCosts() {
    ReplayResult outcome =
        run(
            "look_back_period_s=1 upscale_delay_s=20 downscale_delay_s=100"
                + " target_ongoing_requests=2");
    assertThat(outcome.points())
        .extracting(AutoscalingReplay.ReplicaCountPoint::wanted)
        .containsExactly(2, 10, 10, 1);
    assertThat(outcome.secondsOverTarget()).as("delay and start").isBetween(25.0, 27.0);
    assertThat(outcome.lateRequestSeconds())
        .isCloseTo(16 * outcome.secondsOverTarget(), within(1e-6));
    double expected = 2 * 121 + 10 * 480 + 399;
    assertThat(outcome.replicaSeconds()).isCloseTo(expected, within(15.0));
  }

  @Test
  void aHigherTargetIsCheaperAndTheSameRecordIsTheSameOutcome() {
    ReplayResult two = run("downscale_delay_s=60");
    ReplayResult four = run("downscale_delay_s=60 target_ongoing_requests=4");
    assertThat(four.replicaSeconds()).isLessThan(0.7 * two.replicaSeconds());
    assertThat(run("downscale_delay_s=60")).isEqualTo(two);
  }

  @Test
  void whatElapsesBetweenTwoRecordsIsDecidedInBetween() {
    List<LoadSample> ticks =
        List.of(
            new LoadSample(0, "n1", 20, 0, false),
            new LoadSample(8_000, "n1", 0, 0, true),
            new LoadSample(500_000, "n1", 0, 0, true));
    ReplayResult outcome =
        AutoscalingReplay.run(
            ticks,
            Rules.of("upscale_delay_s=3 downscale_delay_s=100 min_replicas=0"),
            seconds(10),
            seconds(2),
            1);
    assertThat(outcome.points().get(1).atMs()).isEqualTo(3_000);
    assertThat(outcome.points().get(outcome.points().size() - 1).wanted()).isZero();
  }

  @Test
  void anEmptyRecordIsNoOutcome() {
    ReplayResult outcome =
        AutoscalingReplay.run(List.of(), Rules.of(""), seconds(10), seconds(5), 2);
    assertThat(outcome.replicaSeconds()).isZero();
  }
}
