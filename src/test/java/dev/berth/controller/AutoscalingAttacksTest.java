package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What nobody should do to a deployment that follows its load, and what happens. */
class AutoscalingAttacksTest {
  private static final DeploymentId MODEL = AutoscaledFleet.MODEL;

  private final DrivenController world = new DrivenController();
  private long sequence;

  @BeforeEach
  void six() {
    world.controller.recover(List.of(DrivenController.NODE), 0);
    world.tellInventory();
    world.serve("app", target(1));
    for (int i = 0; i < 4; i++) {
      load(12, 0, 40);
      world.finish();
    }
    assertThat(wanted()).isEqualTo(6);
  }

  private static DeploymentTarget target(int code) {
    return AutoscaledDeploymentsTest.target(
        code, "max_replicas: 10, upscale_delay_s: 0, downscale_delay_s: 5, look_back_period_s: 5");
  }

  private void load(double load, double reserved, int seconds) {
    for (int i = 0; i < seconds; i++) {
      world.advance(Duration.ofSeconds(1));
      HandleMetricReport report = new HandleMetricReport(MODEL, 0, 1, 0, load, reserved, false);
      HandleMetricBatch batch =
          new HandleMetricBatch(
              DrivenController.NODE, 1, ++sequence, List.of(report), List.of(), List.of());
      world.apply(world.controller.on(batch, world.now));
    }
  }

  private int wanted() {
    return world.controller.details("app").deployments().get(0).targetReplicas();
  }

  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, -1, 1e300, Double.POSITIVE_INFINITY, 1e18})
  void aLoadThatCannotBeIsNoReport(double nonsense) {
    load(nonsense, 0, 60);
    assertThat(wanted()).isEqualTo(6);
    load(12, nonsense, 60);
    assertThat(wanted()).isEqualTo(6);
    load(4, 0, 60);
    assertThat(wanted()).isEqualTo(2);
  }

  @Test
  void aClockThatStoodStillForAnHourStopsNothingAtOnce() {
    load(2, 0, 3);
    world.now += Duration.ofHours(1).toNanos();
    load(2, 0, 4);
    assertThat(wanted()).isEqualTo(6);
    load(2, 0, 10);
    assertThat(wanted()).isEqualTo(1);
  }

  @Test
  void fiftyDeploysWhileItScalesLoseNoReplicaAndLeaveNoneBehind() {
    for (int code = 2; code <= 51; code++) {
      world.declare("app", target(code));
      load(12 + code % 8, 0, 1);
      assertThat(wanted()).isBetween(6, 10);
      assertThat(world.hosted.values().stream().filter(each -> each.runs && !each.stopping).count())
          .isGreaterThanOrEqualTo(5);
      if (code % 7 == 0) {
        world.runAll();
        world.stopAll();
      }
    }
    for (int i = 0; i < 9; i++) {
      load(12, 0, 20);
      world.finish();
    }
    assertThat(wanted()).isEqualTo(6);
    assertThat(world.fleet()).isEqualTo("v51 RUNNING x6");
  }

  @Test
  void oneThatIsDeletedWhileItsFirstReplicaStartsIsGoneWhateverIsReported() {
    world.declare(
        "app",
        AutoscaledDeploymentsTest.target(
            2, "min_replicas: 0, look_back_period_s: 5, downscale_delay_s: 5"));
    world.finish();
    load(0, 0, 40);
    world.finish();
    assertThat(wanted()).isZero();
    load(3, 0, 1);
    assertThat(wanted()).isOne();
    world.send(new ControllerEvent.Withdrawn("app"));
    load(3, 0, 5);
    world.finish();
    load(3, 0, 60);
    assertThat(world.hosted).isEmpty();
    assertThat(world.controller.details("app")).isNull();

    world.declare("app", AutoscaledDeploymentsTest.target(3, "min_replicas: 0"));
    load(3, 0, 1);
    assertThat(wanted()).isOne();
    world.finish();
    assertThat(world.fleet()).isEqualTo("v3 RUNNING x1");
  }
}
