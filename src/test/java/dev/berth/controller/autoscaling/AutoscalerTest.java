package dev.berth.controller.autoscaling;

import static dev.berth.controller.autoscaling.Rules.seconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.autoscaling.ScalingDecision.ScalingReason;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Ray Serve's formula, factors and delays: the cases and figures of its test_autoscaling_policy.
 */
class AutoscalerTest {
  private static final double TICK = 0.1;

  private ScalingRules rules = Rules.of("");
  private ScalingState state = ScalingState.NONE;
  private @Nullable PolicyAnswer policy;
  private double now;

  /** One look, after a tick. */
  private ScalingDecision look(double load, int running, int target) {
    return look(load, ReplicaCounts.of(running, Math.max(0, target - running), target));
  }

  private ScalingDecision look(double load, ReplicaCounts fleet) {
    ScalingInputs inputs =
        new ScalingInputs(List.of(), 1, 0, load, load, 0, fleet, policy, Long.MAX_VALUE);
    ScalingDecision decision = Autoscaler.decide(rules, inputs, state, seconds(now));
    state = decision.state();
    now = Math.round((now + TICK) * 1e3) / 1e3; // sums of tenths drift
    return decision;
  }

  /** One look, without delays but where the rules have one. */
  @ParameterizedTest(name = "{0}: {1}, policy {2}, load {3}, {4} of {5} run")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          the first: one times the factor  | upscaling_factor=10               |   |   1 | 0 |  0 | 10 | COLD_START
          the first: one times the factor  | upscaling_factor=0.5              |   |   1 | 0 |  0 |  1 | COLD_START
          the first: one times the factor  | upscaling_factor=1                |   |   1 | 0 |  0 |  1 | COLD_START
          the first: one times the factor  | upscaling_factor=1.5              |   |   1 | 0 |  0 |  2 | COLD_START
          the first: not fewer than wanted | upscaling_factor=10               |   |  50 | 0 | 12 | 12 | STARTING
          the first: within the bounds     | max_replicas=2 upscaling_factor=9 |   |   1 | 0 |  0 |  2 | COLD_START
          the first: of a policy, at once  | upscale_delay_s=9                 | 4 |   0 | 0 |  0 |  4 | SCALED_UP
          of all that one replica gets     | target_ongoing_requests=5         |   |  20 | 4 |  4 |  4 | STEADY
          of all that one replica gets     | target_ongoing_requests=5         |   | 100 | 4 |  4 | 20 | SCALED_UP
          of all that one replica gets     | target_ongoing_requests=5         |   |  10 | 4 |  4 |  2 | SCALED_DOWN
          a factor, of a policy's answer   | upscaling_factor=0.5              | 3 | 100 | 1 |  1 |  2 | SCALED_UP
          a factor, of a policy's answer   | upscaling_factor=1                | 3 | 100 | 1 |  1 |  3 | SCALED_UP
          a factor, of a policy's answer   | downscaling_factor=0.5            | 0 |   0 | 3 |  3 |  2 | SCALED_DOWN
          a factor, of a policy's answer   | downscaling_factor=1              | 0 |   0 | 3 |  3 |  1 | SCALED_DOWN
          beyond the bounds                | min_replicas=3                    |   |   0 | 1 |  1 |  3 | BOUNDS
          beyond the bounds                | max_replicas=5                    |   | 100 | 9 |  9 |  5 | BOUNDS
          at a bound                       | max_replicas=5                    |   | 100 | 5 |  5 |  5 | AT_BOUND
          the last stays while any runs    | downscaling_factor=10             |   | .01 | 1 |  1 |  1 | STEADY
          the last goes when none does     | downscaling_factor=10             |   |   0 | 1 |  1 |  0 | SCALED_DOWN
          the ratio is of what runs        | RATIO                             |   | 100 | 1 |  1 | 50 | SCALED_UP
          the ratio is of what runs        | RATIO                             |   | 100 | 1 | 50 | 50 | STEADY
          the ratio is of what runs        | RATIO                             |   | 123 | 3 | 50 | 62 | SCALED_UP
          the delay is of what is wanted   | RATIO                             |   |  10 | 4 | 62 | 62 | DELAY
          """)
  void eachLookFollowsTheRules(
      String what,
      String given,
      @Nullable Double answer,
      double load,
      int running,
      int target,
      int replicas,
      ScalingReason reason) {
    String keys = given.replace("RATIO", "count_starting=0 downscale_delay_s=100000");
    rules = Rules.of("min_replicas=0 upscale_delay_s=0 downscale_delay_s=0 " + keys);
    policy = answer == null ? null : new PolicyAnswer(answer, null);
    ScalingDecision decision = look(load, running, target);
    assertThat(decision.replicas()).as(what).isEqualTo(replicas);
    assertThat(decision.reason()).as(what).isEqualTo(reason);
  }

  @ParameterizedTest
  @ValueSource(doubles = {10, 1, 0.2})
  void zeroIsReachedByWayOfOneWhateverTheFactor(double factor) {
    rules = Rules.of("min_replicas=0 downscaling_factor=%s downscale_delay_s=0", factor);
    int replicas = 5;
    boolean one = false;
    for (int i = 0; i < 5; i++) {
      replicas = look(0, replicas, replicas).replicas();
      one |= replicas == 1;
    }
    assertThat(replicas).isZero();
    assertThat(one).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"2, 30, 600, 600", "2, 30, 600, 300", "-1, 20, 400, 400", "-1, 20, 400, 300"})
  void eachDirectionWaitsForItsDelayAndAnyOtherLookEndsIt(
      double load, double up, double down, double toZero) {
    rules =
        Rules.of(
            "min_replicas=0 target_ongoing_requests=1 upscale_delay_s=%s"
                + " downscale_delay_s=%s downscale_to_zero_delay_s=%s",
            up, down, toZero);
    boolean own = load < 0; // a policy's answer, whatever the load
    double busy = own ? 70 : load;
    assertThat(want(own, busy, 0, 0)).isEqualTo(1);
    quiet(own, up, busy, 1);
    assertThat(want(own, busy, 1, 1)).isEqualTo(own ? 3 : 2);
    int high = own ? 3 : 2;
    quiet(own, down, 0, high);
    assertThat(want(own, 0, high, high)).isEqualTo(1);
    quiet(own, toZero, 0, 1);
    assertThat(want(own, 0, 1, 1)).isZero();

    quiet(own, up / 2, busy, 1);
    want(own, 0, 1, 1); // the other direction
    quiet(own, up, busy, 1);
    assertThat(want(own, busy, 1, 1)).isEqualTo(high);

    quiet(own, down / 2, 0, high);
    want(own, busy, high, high); // as many as there are
    quiet(own, down, 0, high);
    assertThat(want(own, 0, high, high)).isEqualTo(1);

    quiet(own, toZero / 2, 0, 1);
    want(own, busy, 1, 1);
    quiet(own, toZero, 0, 1);
    assertThat(want(own, 0, 1, 1)).isZero();
  }

  private int want(boolean own, double load, int running, int target) {
    policy = own ? new PolicyAnswer(load > 0 ? 3.0 : 0.0, null) : null;
    return look(load, running, target).replicas();
  }

  private void quiet(boolean own, double delayS, double load, int replicas) {
    for (int i = 0; i < Math.round(delayS / TICK); i++) {
      assertThat(want(own, load, replicas, replicas)).as("tick %d", i).isEqualTo(replicas);
    }
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, 30})
  void aLoadThatComesAndGoesMovesNothingWithinTheDelay(double delay) {
    rules =
        Rules.of(
            "max_replicas=10 upscale_delay_s=%s downscale_delay_s=%s"
                + " target_ongoing_requests=50",
            delay, delay);
    for (int trial = 0; trial < 1000; trial++) {
      assertThat(look(100, 1, 1).replicas()).isEqualTo(delay > 0 ? 1 : 2);
      assertThat(look(40, 2, 2).replicas()).isEqualTo(delay > 0 ? 2 : 1);
    }
  }

  @ParameterizedTest
  @CsvSource({"20, 10, 0.5, 1, 15", "5, 20, 1, 0.5, 13", "9, 10, 1, 0.5, 9", "9.5, 10, 1, 0.5, 10"})
  void aFactorTakesItsShareAndNeverSticks(
      double wanted, int running, double up, double down, int scaled) {
    rules = Rules.of("upscaling_factor=%s downscaling_factor=%s", up, down);
    assertThat(rules.scaled(wanted, running)).isEqualTo(scaled);
  }

  @Test
  void whatWasWantedBeyondABoundIsSaid() {
    rules = Rules.of("max_replicas=5");
    assertThat(look(100, 5, 5).scaled()).isEqualTo(50);
  }

  @Test
  void slowLooksMakeNoDelayLonger() {
    rules = Rules.of("max_replicas=10 upscale_delay_s=100");
    double fired = 0;
    while (fired == 0 && now < 1000) {
      double at = now;
      fired = look(10, 1, 1).changes() ? at : 0;
      now = at + 0.6;
    }
    assertThat(fired).isBetween(100.0, 100.6);
  }

  @Test
  void aDelayRunsOnWhileTheDirectionStaysWhateverItsFigure() {
    rules = Rules.of("upscale_delay_s=3");
    for (int i = 0; i < 30; i++) {
      assertThat(look(10 + i % 7, 1, 1).reason()).as("tick %d", i).isEqualTo(ScalingReason.DELAY);
    }
    ScalingDecision decision = look(20, 1, 1);
    assertThat(decision.replicas()).isEqualTo(10);
    assertThat(decision.reason()).isEqualTo(ScalingReason.SCALED_UP);
  }

  @Test
  void aDelaySaysSinceWhenAndUntilWhenAndWakesThen() {
    rules = Rules.of("upscale_delay_s=30");
    now = 100;
    look(10, 1, 1);
    ScalingDecision second = look(12, 1, 1);
    assertThat(second.state().sinceNanos()).isEqualTo(seconds(100));
    assertThat(second.untilNanos()).isEqualTo(seconds(130)).isEqualTo(second.wakeNanos());
    assertThat(look(2, 1, 1).wakeNanos()).as("steady").isEqualTo(Long.MAX_VALUE);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0.5, 1, 1.5, 2, 10})
  void withoutLoadNothingGrowsWhileTheFirstReplicasStart(double factor) {
    rules =
        Rules.of(
            "min_replicas=2 max_replicas=10 target_ongoing_requests=0.2"
                + " upscaling_factor=%s upscale_delay_s=5 downscale_delay_s=30",
            factor);
    for (int tick = 0; tick < 100; tick++) {
      assertThat(look(0, 0, 2).replicas()).isEqualTo(2);
    }
  }

  @Test
  void aRolloutMayGrowAndShrinksOnlyWhenItIsOver() {
    rules = Rules.of("upscale_delay_s=0 downscale_delay_s=1");
    assertThat(look(20, new ReplicaCounts(5, 0, 5, false, true)).replicas()).isEqualTo(10);
    for (int i = 0; i < 20; i++) {
      ScalingDecision kept = look(2, new ReplicaCounts(10, 0, 10, false, true));
      assertThat(kept.replicas()).isEqualTo(10);
      assertThat(kept.reason()).isEqualTo(i < 10 ? ScalingReason.DELAY : ScalingReason.ROLLOUT);
    }
    assertThat(look(2, 10, 10).replicas()).as("the delay ran on meanwhile").isEqualTo(1);
  }

  @Test
  void whoSetsTheNumberOtherwiseIsLeftAloneAndDelaysBeginAnewAfterwards() {
    rules = Rules.of("upscale_delay_s=1");
    quiet(false, 0.9, 20, 1);
    ScalingDecision paused = look(20, new ReplicaCounts(1, 0, 1, true, false));
    assertThat(paused.reason()).isEqualTo(ScalingReason.PAUSED);
    assertThat(paused.why()).contains("berth scale --auto");
    quiet(false, 1, 20, 1);
    assertThat(look(20, 1, 1).replicas()).isEqualTo(10);
    ScalingDecision beyond = look(20, new ReplicaCounts(1, 0, 700, true, false));
    assertThat(beyond.reason()).isEqualTo(ScalingReason.PAUSED);
    assertThat(beyond.replicas()).as("beyond the bounds as it is").isEqualTo(700);
  }

  @Test
  void aPolicyWithoutANumberChangesNothingButAColdStartIsNoneOfItsConcern() {
    rules = Rules.of("min_replicas=0 upscale_delay_s=0");
    policy = PolicyAnswer.ofFailure("it threw");
    ScalingDecision kept = look(90, 3, 3);
    assertThat(kept.replicas()).isEqualTo(3);
    assertThat(kept.why()).isEqualTo("the policy returned no number: it threw");
    assertThat(look(1, 0, 0).replicas()).isEqualTo(1);
  }
}
