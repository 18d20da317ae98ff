package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.controller.autoscaling.DeploymentLoad;
import dev.berth.fakes.FakeHandle;
import dev.berth.metrics.MeterRegistration;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.BusMessage.QueueLength;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the controller knows of handles, over the pusher that tells it (seed 003). */
class PushedMetricsTest {
  private static final Duration PUSH = Duration.ofSeconds(1);
  private static final Duration LIFE = Duration.ofSeconds(5); // between batches without reports

  private final PushedMetrics metrics = new PushedMetrics(PUSH);
  private final FakeHandle handle = new FakeHandle("d");

  private static FakeHandle plain(String name) {
    FakeHandle handle = new FakeHandle(name);
    handle.autoscales = false;
    return handle;
  }

  // --- who is reported ---

  @Test
  void aDeploymentThatDoesNotAutoscaleCostsItsQueueAlone() {
    FakeHandle plain = plain("d").with(0, 4, 2);
    metrics.pusher.register(plain);
    metrics.pass(PUSH);
    assertThat(metrics.last().handles()).isEmpty();
    assertThat(metrics.last().queues()).as("nothing waits").isEmpty();
    plain.with(3, 4, 2);
    metrics.pass(PUSH.multipliedBy(2));
    assertThat(metrics.last().queues())
        .containsExactly(new QueueLength(new DeploymentId("app", "d"), 3));
    assertThat(metrics.queued("d")).isEqualTo(3);
    assertThat(plain.readings).as("of its gauges, in three intervals").isEqualTo(3);

    plain.with(0, 4, 2);
    metrics.pass(PUSH);
    assertThat(metrics.queued("d")).isZero();
    metrics.pass(LIFE);
    assertThat(metrics.last().queues()).isEmpty();
  }

  /** Ray's: {@code update_deployment_config} registers nothing until there is such a config. */
  @Test
  void aHandleIsSampledOnlyWhileItsDeploymentAutoscales() {
    FakeHandle live = plain("d").with(0, 4, 2);
    metrics.pusher.register(live);
    metrics.pass(PUSH);
    assertThat(metrics.load("d").instances()).isZero();

    live.autoscales = true;
    metrics.pass(PUSH);
    assertThat(metrics.load("d").running()).isEqualTo(4);
    assertThat(metrics.last().handles().get(0).averageReserved()).isEqualTo(2.0);

    live.autoscales = false;
    metrics.pass(PUSH);
    assertThat(metrics.last().handles()).as("a final zero").hasSize(1);
    assertThat(metrics.last().handles().get(0).last()).isTrue();
    assertThat(metrics.load("d")).isEqualTo(new DeploymentLoad(0, 0, 0, 0.0, 0.0, 0, 0));
    metrics.pass(LIFE);
    assertThat(metrics.last().handles()).isEmpty();
  }

  @Test
  void aQueueIsCountedOnceWhicheverWayItIsTold() {
    FakeHandle live = plain("d").with(3, 0, 0);
    metrics.pusher.register(live);
    for (boolean autoscales : List.of(false, true, false, true)) {
      live.autoscales = autoscales;
      metrics.pass(PUSH);
      assertThat(metrics.queued("d")).as("autoscales: %s", autoscales).isEqualTo(3);
    }
  }

  @Test
  void aHandleThatIsClosedLeavesNothingBehind() {
    MeterRegistration plain = metrics.pusher.register(plain("plain").with(2, 0, 0));
    MeterRegistration scaled = metrics.pusher.register(handle.with(2, 0, 0));
    metrics.pass(PUSH);
    plain.close();
    scaled.close();
    metrics.pass(PUSH);
    assertThat(metrics.queued("plain")).isZero();
    assertThat(metrics.queued("d")).isZero();
    assertThat(metrics.pusher.handles()).isZero();
  }

  @Test
  void aHandleThatCameAndWentBetweenTwoBatchesIsForgotten() {
    metrics.pusher.register(handle.with(2, 0, 0)).close();
    metrics.pass(PUSH);
    assertThat(metrics.last().handles()).isEmpty();
    assertThat(metrics.pusher.handles()).isZero();
  }

  @Test
  void aFinalZeroIsOwedThoughTheAnswerToTheReportWasLost() {
    MeterRegistration registration = metrics.pusher.register(handle.with(2, 0, 0));
    metrics.held = true;
    metrics.pass(PUSH);
    metrics.settle(); // it arrives
    metrics.pass(PUSH);
    metrics.away = true; // only the answer is lost: that the controller has it is not known here
    metrics.settle();
    registration.close();
    metrics.away = false;
    metrics.held = false;
    metrics.pass(PUSH);
    assertThat(metrics.load("d").instances()).isZero();
  }

  @Test
  void whatTheReplicasHoldRidesBesideAndCausesNoMessage() {
    metrics.pusher.registerReplica(new FakeHandle("d").with(0, 2, 1));
    MeterRegistration other = metrics.pusher.registerReplica(new FakeHandle("d").with(0, 3, 0));
    metrics.pusher.registerReplica(plain("plain").with(0, 9, 9));
    metrics.pass(PUSH);
    assertThat(metrics.load("d").atReplicas()).isEqualTo(6.0);
    assertThat(metrics.load("d").running()).as("as handles see it").isZero();
    assertThat(metrics.load("plain").atReplicas()).isZero();
    assertThat(metrics.arrived).hasSize(1);
    other.close();
    metrics.pass(PUSH);
    assertThat(metrics.load("d").atReplicas()).isEqualTo(3.0);
    assertThat(metrics.arrived).hasSize(2);
  }

  // --- who is told ---

  @Test
  void aControllerThatFollowsIsToldEverythingThatIsKnown() {
    metrics.pusher.register(handle);
    metrics.pusher.register(new FakeHandle("busy").with(0, 1, 0));
    metrics.pass(PUSH.multipliedBy(3));
    assertThat(metrics.last().handles()).as("only what is not zero").hasSize(1);

    metrics.follow();
    metrics.pass(PUSH);
    assertThat(metrics.load("busy").running()).isOne();
    metrics.pass(PushedMetrics.RECORD);
    assertThat(metrics.load("d").instances()).as("zero, and known").isOne();
    int told = metrics.arrived.size();
    metrics.pass(PUSH.multipliedBy(2));
    assertThat(metrics.arrived).hasSize(told + 2);
    assertThat(metrics.last().handles()).hasSize(1);
  }

  // --- when ---

  @Test
  void withALongPushIntervalNothingIsKnownBeforeItsEnd() {
    PushedMetrics slow = new PushedMetrics(Duration.ofSeconds(15));
    slow.pusher.register(handle.with(7, 5, 0));
    slow.pass(Duration.ofMillis(14_800));
    assertThat(slow.arrived).isEmpty();
    assertThat(slow.load("d").instances()).isZero();
    slow.pass(PushedMetrics.RECORD);
    assertThat(slow.load("d").queued()).isEqualTo(7);
  }

  @Test
  void aRequestForADeploymentWithoutReplicasIsToldAtOnceAndOnceAnInterval() {
    PushedMetrics slow = new PushedMetrics(Duration.ofSeconds(15));
    slow.pusher.register(handle);
    slow.pusher.register(new FakeHandle("busy").with(0, 1, 0));
    slow.pass(PushedMetrics.RECORD);
    for (int request = 1; request <= 100; request++) {
      handle.with(request, 0, 0);
      slow.pusher.signal(handle.deployment());
      slow.run();
    }
    assertThat(slow.arrived).hasSize(1);
    assertThat(slow.load("d").queued()).isOne();
    slow.pass(Duration.ofMillis(14_800));
    assertThat(slow.arrived).hasSize(2);
    assertThat(slow.load("d").queued()).isEqualTo(100);
    assertThat(slow.pusher.signalled()).isOne();
  }

  @Test
  void aSignalWhileABatchIsInFlightGoesRightAfterIt() {
    metrics.pusher.register(handle);
    metrics.held = true;
    metrics.pass(PUSH);
    handle.with(1, 0, 0);
    metrics.pusher.signal(handle.deployment());
    metrics.run();
    metrics.held = false;
    metrics.settle();
    assertThat(metrics.arrived).hasSize(2);
    assertThat(metrics.queued("d")).isOne();
  }

  @Test
  void aSignalThatFindsNoControllerIsNotSentAgainBeforeTheNextInterval() {
    metrics.pusher.register(handle);
    metrics.away = true;
    for (int request = 1; request <= 100; request++) {
      handle.with(request, 0, 0);
      metrics.pusher.signal(handle.deployment());
      metrics.run();
    }
    assertThat(metrics.pusher.failedCount()).isOne();
    metrics.away = false;
    metrics.pass(PUSH);
    assertThat(metrics.queued("d")).isEqualTo(100);
  }

  @Test
  void aSignalForSomethingUnknownIsNothing() {
    metrics.pusher.signal(new DeploymentId("app", "gone"));
    metrics.run();
    assertThat(metrics.pusher.batches()).isZero();
  }

  // --- many, and nobody there ---

  @Test
  void tenThousandHandlesOutliveAControllerThatIsAwayForAMinute() {
    List<FakeHandle> handles = new ArrayList<>();
    List<MeterRegistration> registrations = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      FakeHandle each = new FakeHandle("d" + i).with(0, i % 3, 0);
      handles.add(each);
      registrations.add(metrics.pusher.register(each));
    }
    metrics.pass(PUSH.multipliedBy(2));
    HandleMetricBatch first = metrics.arrived.get(0);
    assertThat(first.handles()).as("all ride in one message").hasSize(10_000);

    metrics.away = true;
    metrics.pass(Duration.ofMinutes(1));
    assertThat(metrics.pusher.failedCount()).as("one for each interval").isEqualTo(60);
    assertThat(metrics.pusher.handles()).isEqualTo(10_000);
    for (int i = 0; i < 5_000; i++) {
      registrations.get(i).close(); // in the meantime
    }
    for (int i = 5_000; i < 10_000; i++) {
      handles.get(i).with(0, 1, 0);
    }
    metrics.away = false;
    metrics.follow(); // or the same, which is less
    metrics.pass(PUSH.multipliedBy(2));
    assertThat(metrics.pusher.handles()).isEqualTo(5_000);
    for (int i = 0; i < 10_000; i++) {
      DeploymentLoad load = metrics.load("d" + i);
      assertThat(load.instances()).as("d%d", i).isEqualTo(i < 5_000 ? 0 : 1);
      assertThat(load.running()).as("d%d", i).isEqualTo(i < 5_000 ? 0 : 1);
    }
  }
}
