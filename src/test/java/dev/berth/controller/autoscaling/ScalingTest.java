package dev.berth.controller.autoscaling;

import static dev.berth.controller.autoscaling.Rules.seconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.spi.AutoscalingPolicy.Answer;
import dev.berth.controller.autoscaling.ScalingDecision.ScalingReason;
import dev.berth.controller.autoscaling.ScalingInputs.ReportFreshness;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a controller knows of one deployment's load, and what it makes of not knowing. */
class ScalingTest {
  private static final double SILENT_S = 10;

  private HandleReports reports;
  private DeploymentAutoscaler scaling;
  private int running;
  private int target;
  private double now;

  /** So many replicas run, and are what is wanted. */
  private void given(int replicas, String rules, Object... values) {
    now = 0;
    running = replicas;
    target = replicas;
    reports = new HandleReports(seconds(SILENT_S));
    scaling = new DeploymentAutoscaler(Rules.of(rules, values), reports, 0);
  }

  @BeforeEach
  void oneByTheDefaults() {
    given(1, "");
  }

  private void at(double time, String source, double load) {
    now = time;
    reports.recordContact(source, seconds(time));
    scaling.report(source, load, 0, seconds(time));
  }

  /** Decides, and takes it for done at once. */
  private ScalingDecision decide(double time) {
    ScalingDecision decision = look(time);
    running = decision.replicas();
    target = running;
    return decision;
  }

  private ScalingDecision look(double time) {
    now = time;
    return scaling.decide(ReplicaCounts.of(running, target - running, target), null, seconds(time));
  }

  /** The only instance reports each second, and it is decided. */
  private void eachSecond(int from, int to, IntToDoubleFunction load) {
    for (int i = from; i < to; i++) {
      at(i, "n1", load.applyAsDouble(i));
      decide(i);
    }
  }

  // --- what is not known ---

  @Test
  void nothingIsStoppedWhileAnInstanceIsSilentHoweverLong() {
    given(10, "downscale_delay_s=5 min_replicas=0");
    for (int i = 0; i < 4000; i++) {
      at(i, "n1", 0);
      if (i < 3) {
        at(i, "n2", 20);
      }
      assertThat(decide(i).replicas()).as("at %d s", i).isEqualTo(10);
    }
    ScalingDecision kept = look(now);
    assertThat(kept.inputs().latest()).as("its last load holds").isEqualTo(20);
    assertThat(kept.inputs().sources().get(0).known()).isEqualTo(ReportFreshness.SILENT);
    assertThat(kept.inputs().sources().get(0).ageMs()).isEqualTo(3_997_000);
  }

  @Test
  void theLastLoadOfASilentInstanceStillAsksForMore() {
    given(1, "upscale_delay_s=20");
    at(0, "n1", 20);
    decide(0);
    assertThat(decide(19).replicas()).isEqualTo(1);
    assertThat(decide(20).replicas()).isEqualTo(10);
  }

  @Test
  void fewerAreWantedOnlyOnceAllIsKnownAndTheDelayBeginsThen() {
    given(10, "downscale_delay_s=30 look_back_period_s=10");
    for (int i = 0; i <= 100; i++) {
      at(i, "n1", 2);
      if (i < 5 || i >= 60) {
        at(i, "n2", 2);
      }
      ScalingDecision decision = decide(i);
      assertThat(decision.replicas()).as("at %d s", i).isEqualTo(i < 90 ? 10 : 2);
      if (i >= 16 && i < 60) {
        assertThat(decision.reason()).isEqualTo(ScalingReason.UNKNOWN);
      }
    }
  }

  @Test
  void aSilenceThatNobodyLookedAtEndsTheDelayToo() {
    given(10, "downscale_delay_s=30");
    at(0, "n1", 2);
    decide(0);
    at(25, "n1", 2);
    assertThat(decide(31).reason()).isEqualTo(ScalingReason.DELAY);
    assertThat(decide(54).changes()).isFalse();
  }

  @Test
  void whatComesAfterASilenceIsNotWeighedAgainstTheSilence() {
    given(10, "downscale_delay_s=0");
    at(0, "n1", 1);
    at(28, "n1", 20);
    assertThat(look(29).inputs().total()).as("not the mean of 28 s at 1").isEqualTo(20);
    assertThat(decide(29).replicas()).isEqualTo(10);
  }

  @Test
  void anInstanceThatIsLostIsNoLoadAndNothingUnknown() {
    given(10, "downscale_delay_s=0 look_back_period_s=10");
    at(0, "n1", 2);
    at(0, "n2", 18);
    eachSecond(1, 40, i -> 2);
    assertThat(running).isEqualTo(10);
    scaling.end("n2", seconds(40));
    at(45, "n1", 2);
    assertThat(look(45).inputs().total()).as("it was load until then").isGreaterThan(8);
    at(50, "n1", 2);
    assertThat(decide(50).replicas()).isEqualTo(1);
  }

  @Test
  void aFinalZeroEndsWhatAnInstanceSaid() {
    given(1, "downscale_delay_s=0 min_replicas=0 look_back_period_s=10");
    at(0, "n1", 2);
    scaling.end("n1", seconds(1));
    assertThat(decide(5).replicas()).as("it was there in the window").isOne();
    ScalingDecision gone = decide(11);
    assertThat(gone.replicas()).isZero();
    assertThat(gone.inputs().instances()).isZero();
  }

  @Test
  void aControllerThatJustStartedStopsNothingBeforeEachInstanceReported() {
    given(10, "downscale_delay_s=0");
    reports.expect(List.of("n1", "n2"), 0);
    assertThat(decide(0.5).replicas()).isEqualTo(10);
    at(1, "n1", 0);
    ScalingDecision half = decide(2);
    assertThat(half.reason()).isEqualTo(ScalingReason.UNKNOWN);
    assertThat(half.inputs().sources().get(0).known()).isEqualTo(ReportFreshness.UNHEARD);
    assertThat(half.wakeNanos()).isEqualTo(Long.MAX_VALUE);
    at(3, "n2", 4);
    assertThat(decide(3).replicas()).isEqualTo(2);
  }

  /** Which is told by what it says of others. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anInstanceThatNeverSpokeHoldsItUpAndOneThatDoesNotCallItForOneWindow(boolean speaks) {
    given(10, "downscale_delay_s=0");
    reports.expect(List.of("n1", "n2"), 0);
    for (int i = 1; i <= 90; i++) {
      at(i, "n1", 2);
      if (speaks) {
        reports.recordContact("n2", seconds(i));
      }
      assertThat(decide(i).replicas()).as("at %d s", i).isEqualTo(speaks && i > 30 ? 1 : 10);
    }
  }

  @Test
  void anInstanceThatIsHeardHoldsWhatItSaid() {
    given(4, "downscale_delay_s=5");
    at(0, "n1", 2);
    for (int i = 1; i < 60; i++) {
      reports.recordContact("n1", seconds(i));
      decide(i);
    }
    assertThat(running).as("it was never silent").isEqualTo(1);
  }

  @Test
  void heldSlotsAreLoadUnlessTheKeySaysRaysWay() {
    for (int counted = 0; counted < 2; counted++) {
      given(1, "count_reserved=%s", counted);
      reports.recordContact("n1", 0);
      scaling.report("n1", 20, 12, 0);
      assertThat(look(1).inputs().total()).isEqualTo(counted == 1 ? 20 : 8);
    }
  }

  // --- what starts ---

  /** Requests wait for replicas that take 40 s to start: 10 more in each second. */
  @Test
  void whatGathersWhileReplicasStartAsksForNoMore() {
    int[] most = new int[2];
    for (int counted = 0; counted < 2; counted++) {
      given(1, "count_starting=%s upscale_delay_s=5 max_replicas=10000", counted);
      for (int i = 0; i < 60; i++) {
        at(i, "n1", 20 + (target > 1 ? 10 * i : 0));
        running = i < 50 ? 1 : target;
        target = look(i).replicas();
      }
      most[counted] = target;
    }
    assertThat(most[0]).as("Ray's way").isGreaterThan(100);
    assertThat(most[1]).isEqualTo(10);
  }

  @Test
  void aStartThatNeverEndsIsNotAwaitedForEver() {
    given(1, "upscale_delay_s=5");
    target = 4;
    long bound = TimeUnit.NANOSECONDS.toSeconds(Autoscaler.MAX_START_NANOS);
    for (int i = 0; i < bound; i++) {
      at(i, "n1", 40);
      assertThat(look(i).reason()).isEqualTo(ScalingReason.STARTING);
    }
    look(bound);
    assertThat(look(bound + 5).replicas()).isEqualTo(20);
  }

  @Test
  void oneLaggardOfManyHoldsNothingUp() {
    given(1, "upscale_delay_s=5");
    running = 19;
    target = 20;
    at(0, "n1", 80);
    look(0);
    assertThat(look(5).replicas()).isEqualTo(40);
  }

  // --- windows ---

  @Test
  void aStabilisationWindowDecidesByItsExtreme() {
    given(
        10,
        "stabilization_window_s=60 look_back_period_s=1 downscale_delay_s=0"
            + " upscale_delay_s=0");
    for (int i = 0; i < 200; i++) { // 10 wanted every 50 s, 2 else
      at(i, "n1", i % 50 < 2 ? 20 : 4);
      decide(i);
      assertThat(running).as("at %d s", i).isEqualTo(10);
    }
    eachSecond(200, 300, i -> 4);
    assertThat(running).isEqualTo(2);
    at(300, "n1", 20);
    assertThat(decide(302).reason())
        .as("up only to the lowest")
        .isEqualTo(ScalingReason.STABILIZING);
    for (int i = 303; i < 370; i++) {
      decide(i);
    }
    assertThat(running).isEqualTo(10);
  }

  @Test
  void aPanicStartsAtOnceStopsNothingAndEndsAWindowLater() {
    given(2, "look_back_period_s=60 panic_window_s=6 upscale_delay_s=300" + " downscale_delay_s=0");
    double ended = 0;
    for (int i = 0; i < 200; i++) {
      at(i, "n1", i >= 70 && i < 80 ? 40 : 4);
      ScalingDecision decision = decide(i);
      assertThat(running).as("at %d s", i).isGreaterThanOrEqualTo(2);
      if (i == 75) {
        assertThat(running).as("long before the delay").isGreaterThanOrEqualTo(10);
      } else if (i > 85 && ended == 0 && decision.changes()) {
        ended = i;
      } else if (i > 85 && ended == 0) {
        assertThat(decision.reason()).isEqualTo(ScalingReason.PANIC);
      }
    }
    assertThat(ended).as("a look-back window after it began").isBetween(130.0, 140.0);
  }

  // --- what is kept ---

  @Test
  void changesOfTheReasonAreKeptAndNotEachLook() {
    given(1, "upscale_delay_s=10 downscale_delay_s=10 look_back_period_s=1");
    eachSecond(0, 1000, i -> 4);
    assertThat(scaling.decisions())
        .extracting(ScalingDecision::reason)
        .containsExactly(ScalingReason.STEADY, ScalingReason.SCALED_UP, ScalingReason.DELAY);
    eachSecond(1000, 20_000, i -> i / 50 % 2 == 0 ? 4 : 40);
    assertThat(scaling.decisions()).hasSize(DeploymentAutoscaler.MAX_DECISIONS);
    assertThat(scaling.decisions().get(0).atNanos())
        .isGreaterThan(scaling.decisions().get(1).atNanos());
  }

  @Test
  void aDecisionNamesWhoIsNotKnownFirstAndNoMoreThanItsBound() {
    for (int i = 0; i < 100; i++) {
      at(0, "n" + i, i);
    }
    for (int i = 0; i < 99; i++) {
      at(50, "n" + (i < 7 ? i : i + 1), i);
    }
    ScalingInputs inputs = look(50).inputs();
    assertThat(inputs.sources()).hasSize(ScalingInputs.MAX_SOURCES);
    assertThat(inputs.sources().get(0).name()).isEqualTo("n7");
    assertThat(inputs.sources().get(1).load()).isEqualTo(98);
    assertThat(List.of(inputs.instances(), inputs.unknown())).containsExactly(100, 1);
  }

  // --- policies of the user's own ---

  @ParameterizedTest
  @ValueSource(doubles = {-1, -0.1, 10_001, Double.NaN, Double.POSITIVE_INFINITY})
  void aNonsenseAnswerChangesNothingAndIsKept(double replicas) {
    PolicyAnswer answer = PolicyAnswer.of(Answer.of(replicas));
    ScalingDecision kept = scaling.decide(ReplicaCounts.of(3, 0, 3), answer, 0);
    assertThat(kept.replicas()).isEqualTo(3);
    assertThat(kept.why()).contains("replicas: " + replicas + " (expected: 0 to 10000)");
    scaling.decide(ReplicaCounts.of(3, 0, 3), PolicyAnswer.of(null), 1);
    scaling.decide(ReplicaCounts.of(3, 0, 3), PolicyAnswer.NOTHING, 2);
    assertThat(scaling.decisions()).hasSize(1);
  }
}
