package dev.berth.controller;

import static dev.berth.controller.DrivenController.MODEL;
import static dev.berth.controller.DrivenController.autoscaled;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.NodeFigures;
import dev.berth.view.ScalingDetails;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A controller whose deployment follows its load, as an instance reports it, on a virtual clock.
 */
class AutoscaledDeploymentsTest {
  private static final String FAST = "max_replicas: 10, upscale_delay_s: 0, downscale_delay_s: 0";
  private static final String QUICK =
      "max_replicas: 10, upscale_delay_s: 0, downscale_delay_s: 5, look_back_period_s: 5";
  private static final String SLOW = "max_replicas: 10, upscale_delay_s: 5, downscale_delay_s: 20";

  private static final DeploymentId FRONT = new DeploymentId("app", "front");

  private final DrivenController it = new DrivenController();

  @BeforeEach
  void heard() {
    it.heard();
  }

  private void serve(String keys) {
    it.serve("app", autoscaled(MODEL, 1, keys));
  }

  private void load(double load, int seconds) {
    it.load(load, 0, seconds);
  }

  /** Six replicas, which a load of 12 asks for. */
  private void six() {
    serve(QUICK);
    for (int i = 0; i < 4; i++) {
      load(12, 40);
      it.finish();
    }
    assertThat(wanted()).isEqualTo(6);
  }

  private int wanted() {
    return it.wanted(MODEL);
  }

  private List<Integer> kept() {
    return it.asked(Rescale.class).stream()
        .map(each -> each.now() == null ? null : each.now().replicas())
        .toList();
  }

  private ScalingDetails details() {
    return it.details(MODEL).autoscaling();
  }

  private ScalingView view(long nanos) {
    return it.controller.autoscaling(MODEL, nanos);
  }

  @Test
  void moreLoadIsMetByMoreReplicasAfterTheDelayAndLessByFewer() {
    serve(SLOW);
    assertThat(wanted()).isEqualTo(1);

    load(8, 4);
    assertThat(wanted()).isEqualTo(1);
    load(8, 3);
    assertThat(wanted()).isBetween(2, 4);
    assertThat(it.announced(MODEL)).last().isEqualTo("UPSCALING AUTOSCALING");
    it.finish();
    load(8, 60);
    it.finish();
    load(8, 60);
    assertThat(wanted()).isEqualTo(4);
    it.finish();
    assertThat(it.announced(MODEL)).last().isEqualTo("HEALTHY UPSCALE_COMPLETED");

    load(2, 80);
    assertThat(wanted()).isEqualTo(1);
    assertThat(it.stopping()).isNotEmpty();
    assertThat(kept()).endsWith(1).contains(4);
  }

  @Test
  void oneThatHasNoneGetsItsFirstAtOnceAndLosesItsLastAfterItsDelay() {
    serve("min_replicas: 0, downscale_delay_s: 2, downscale_to_zero_delay_s: 8");
    assertThat(wanted()).isZero();

    HandleMetricReport waits = new HandleMetricReport(MODEL, 1, 0, 0, 1, 0, false, List.of());
    it.report(List.of(waits), List.of());
    assertThat(wanted()).isEqualTo(1);
    assertThat(it.asked(Rescale.class)).last().returns(1.0, each -> each.decision().load());
    it.finish();

    load(1, 40);
    assertThat(wanted()).isEqualTo(1);
    load(0, 37); // what waited stays in the window for 30 s
    assertThat(wanted()).isEqualTo(1);
    load(0, 3);
    assertThat(wanted()).isZero();
  }

  @Test
  void aDroppedDeploymentIsDeletedThoughItsLoadChangesItsNumberBefore() {
    DeploymentTarget front = autoscaled(FRONT, 1, "max_replicas: 1");
    it.serve("app", front, autoscaled(MODEL, 1, FAST));
    load(8, 40);
    it.finish();
    assertThat(wanted()).isEqualTo(4);

    it.serve("app", autoscaled(FRONT, 2, "max_replicas: 1")); // on trial
    load(0, 35);
    it.finish();
    assertThat(wanted()).isEqualTo(1);
    it.advance(Duration.ofSeconds(60));
    it.finish();
    assertThat(it.fleet()).isEqualTo("v2 RUNNING x1");
    assertThat(kept()).last().isNull();
  }

  // --- where it begins, and its bounds ---

  @Test
  void whatTheEarlierStartOfAnInstanceSaidEndsWithItsFirstBatchWhateverThatNames() {
    serve(FAST);
    load(8, 40);
    it.finish();
    assertThat(wanted()).isEqualTo(4);
    HandleMetricBatch anew =
        new HandleMetricBatch(
            DrivenController.NODE, 2, 1, List.of(), List.of(), List.of(), NodeFigures.NONE);
    it.apply(it.controller.on(anew, it.now));
    assertThat(view(it.now).inputs().latest()).isZero();
    it.advance(Duration.ofSeconds(40));
    assertThat(wanted()).isEqualTo(1);
  }

  @Test
  void oneThatFollowsItsLoadOnlyNowTakesASilentInstanceForSilent() {
    it.report(List.of(new HandleMetricReport(MODEL, 0, 1, 0, 8, 0, false, List.of())), List.of());
    it.advance(Duration.ofSeconds(60));
    serve(SLOW);
    assertThat(details().unknown()).isEqualTo(1);
    assertThat(details().reportMs()).isEqualTo(60_000);
  }

  @Test
  void whatIsKeptIsWhereAnotherControllerBeginsAndItStopsNothingOnWhatItDoesNotKnow() {
    serve(FAST);
    it.restart();
    it.declareKept(6, null);
    it.tellInventory();
    it.finish();
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x6");
    it.advance(Duration.ofSeconds(29)); // and nothing is reported
    assertThat(wanted()).isEqualTo(6);
    assertThat(it.stopping()).isEmpty();

    load(12, 60);
    assertThat(wanted()).isEqualTo(6);
  }

  @Test
  void otherBoundsHoldAtOnceAndOneThatFollowsNoMoreKeepsNothing() {
    serve("max_replicas: 10, upscale_delay_s: 0");
    load(20, 3);
    it.finish();
    assertThat(kept()).isNotEmpty().doesNotContainNull();
    serve("max_replicas: 4");
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x4");
    serve("min_replicas: 11, max_replicas: 12");
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x11");

    Settings fixed = DrivenController.settings("model", 2, DeploymentConfig.of("model"));
    it.serve("app", new DeploymentTarget(MODEL, "b1", new DeploymentVersion("v1", ""), fixed));
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x2");
    assertThat(kept()).endsWith((Integer) null);
  }

  @Test
  void aPauseHoldsBeyondTheBoundsWhateverTheLoadAndIsSaidUntilItEnds() {
    serve(FAST);
    it.pause(16, true);
    serve(FAST.replace("10", "8"));
    load(20, 60);
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x16");
    assertThat(it.details(MODEL).message())
        .isEqualTo("autoscaling is paused until berth scale --auto");
    assertThat(details().paused()).isTrue();
    assertThat(details().replicas()).isEqualTo(16);
    assertThat(details().untilMs()).isNull();
    assertThat(details().why()).contains("berth scale --auto");

    it.pause(16, false);
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x8");
    assertThat(it.details(MODEL).message()).isEmpty();
    load(4, 60);
    assertThat(wanted()).isEqualTo(2);
  }

  @Test
  void anApplicationThatComesAgainBeginsAnew() {
    serve(FAST);
    it.pause(3, true);
    it.send(new ControllerEvent.Withdrawn("app"));
    serve(FAST);
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1");
  }

  @Test
  void fewerWaitUntilARolloutIsOver() {
    String keys = "max_replicas: 4, initial_replicas: 4, downscale_delay_s: 1";
    serve(keys);
    load(8, 40);
    it.declare("app", autoscaled(MODEL, 2, keys));
    load(1, 60);
    assertThat(wanted()).isEqualTo(4);

    it.finish();
    load(1, 10);
    assertThat(wanted()).isEqualTo(1);
  }

  // --- what operators see ---

  @Test
  void operatorsSeeWhyThereAreAsManyAsThereAre() {
    serve(SLOW);
    load(8, 7);
    it.finish();
    load(8, 3);

    ScalingView view = view(it.now);
    assertThat(view.decisions())
        .extracting(each -> each.reason().name())
        .contains("SCALED_UP", "DELAY", "STEADY");
    assertThat(view.decisions().get(0).atNanos())
        .isGreaterThan(view.decisions().get(view.decisions().size() - 1).atNanos());
    assertThat(view.inputs().sources())
        .extracting(each -> each.name() + " " + each.load())
        .containsExactly(DrivenController.NODE + " 8.0");
    assertThat(view.demand().averageLoad()).isEqualTo(8);
    assertThat(view.now().minReplicas()).isEqualTo(1);
    assertThat(view.now().maxReplicas()).isEqualTo(10);
    assertThat(view.now().target()).isEqualTo(2);
    assertThat(view.now().load()).isBetween(7.0, 8.0);
    assertThat(view.now().paused()).isFalse();
    assertThat(view.now().lastChange())
        .matches(
            "1 -> [234] replicas, 1 running, load [0-9.]+: more were wanted for upscale_delay_s");
    assertThat(view.now().reportMs()).isZero();
    assertThat(details()).isEqualTo(view.now());
  }

  @Test
  void aLookOfAnOperatorDecidesNothing() {
    serve("max_replicas: 10, upscale_delay_s: 5");
    load(8, 3);
    int before = view(it.now).decisions().size();
    ScalingDetails late = view(it.now + Duration.ofHours(1).toNanos()).now();
    assertThat(late.reason()).isEqualTo("SCALED_UP");
    assertThat(late.reportMs()).isEqualTo(3_600_000);
    assertThat(late.unknown()).isEqualTo(1);
    assertThat(view(it.now).decisions()).hasSize(before);
    assertThat(wanted()).isEqualTo(1);
  }

  @Test
  void aDelayThatRunsIsShownWithItsEnd() {
    serve("max_replicas: 10, upscale_delay_s: 60");
    load(8, 3);
    assertThat(details().reason()).isEqualTo("DELAY");
    assertThat(details().untilMs() - details().atMs()).isBetween(57_000L, 60_000L);
  }

  @Test
  void ofOneWhoseNumberDoesNotFollowItsLoadNothingIsShown() {
    serve("max_replicas: 10");
    assertThat(it.controller.autoscaling(new DeploymentId("app", "x"), it.now)).isNull();
    assertThat(it.controller.autoscaling(new DeploymentId("x", "model"), it.now)).isNull();
  }

  // --- what nobody should do ---

  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, -1, 1e300, Double.POSITIVE_INFINITY, 1e18})
  void aLoadThatCannotBeIsNoReport(double nonsense) {
    six();
    it.load(nonsense, 0, 60);
    assertThat(wanted()).isEqualTo(6);
    it.load(12, nonsense, 60);
    assertThat(wanted()).isEqualTo(6);
    load(4, 60);
    assertThat(wanted()).isEqualTo(2);
  }

  @Test
  void aClockThatStoodStillForAnHourStopsNothingAtOnce() {
    six();
    load(2, 3);
    it.now += Duration.ofHours(1).toNanos();
    load(2, 4);
    assertThat(wanted()).isEqualTo(6);
    load(2, 10);
    assertThat(wanted()).isEqualTo(1);
  }

  @Test
  void fiftyDeploysWhileItScalesLoseNoReplicaAndLeaveNoneBehind() {
    six();
    for (int code = 2; code <= 51; code++) {
      it.declare("app", autoscaled(MODEL, code, QUICK));
      load(12 + code % 8, 1);
      assertThat(wanted()).isBetween(6, 10);
      assertThat(it.hosted.values().stream().filter(each -> each.runs && !each.stopping).count())
          .isGreaterThanOrEqualTo(5);
      if (code % 7 == 0) {
        it.runAll();
        it.stopAll();
      }
    }
    for (int i = 0; i < 9; i++) {
      load(12, 20);
      it.finish();
    }
    assertThat(wanted()).isEqualTo(6);
    assertThat(it.fleet()).isEqualTo("v51 RUNNING x6");
  }

  @Test
  void oneThatIsDeletedWhileItsFirstReplicaStartsIsGoneWhateverIsReported() {
    serve("min_replicas: 0");
    load(3, 1);
    assertThat(wanted()).isOne();
    it.send(new ControllerEvent.Withdrawn("app"));
    load(3, 5);
    it.finish();
    load(3, 60);
    assertThat(it.hosted).isEmpty();
    assertThat(it.controller.details("app")).isNull();

    it.declare("app", autoscaled(MODEL, 3, "min_replicas: 0"));
    load(3, 1);
    assertThat(wanted()).isOne();
    it.finish();
    assertThat(it.fleet()).isEqualTo("v3 RUNNING x1");
  }
}
