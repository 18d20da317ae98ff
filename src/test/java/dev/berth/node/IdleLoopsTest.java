package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.ManualTimer;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.RecordingBus;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.RouterAddress;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaSpec;
import dev.berth.routing.RingEntry;
import dev.berth.routing.RoutingProbe;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The ticks of two event loops: how often they run, and what makes them run. */
class IdleLoopsTest {
  private final ManualTimer timer = new ManualTimer(new ManualClock());
  private final RecordingBus bus = new RecordingBus();
  private final DataPlane plane;
  private final AtomicInteger woken = new AtomicInteger();

  IdleLoopsTest() {
    PlaneBuilder builder =
        new PlaneBuilder("n1", timer.clock, bus)
            .handlers(PlaneBuilder.handlers(PlaneBuilder.hooks(Runnable::run)));
    for (int loop = 0; loop < 2; loop++) {
      builder.loop(Runnable::run, () -> true, timer);
    }
    plane = builder.plane();
    plane.startTicks(0, () -> {});
    plane.startTicks(1, woken::incrementAndGet);
    timer.pass(Duration.ofSeconds(2));
    assertThat(plane.isBusy(0) || plane.isBusy(1)).isFalse();
    woken.set(0);
  }

  private Replica start(Promise<Response> answer) {
    AsyncHandler handler = (request, about) -> answer.future();
    ReplicaSpec spec = Replicas.spec("app#d#1", new DeploymentId("app", "d"), 7, 1, c -> handler);
    return plane.host.begin(spec, List.of(Replicas.seat(plane.replicas(1)))).running().result();
  }

  @Test
  void withoutDeploymentsNoLoopHasATimer() {
    timer.wakeUps = 0;
    timer.pass(Duration.ofSeconds(60));
    assertThat(timer.wakeUps).isZero();
    assertThat(timer.armed()).isZero();
  }

  @Test
  void withoutWorkTheFirstLoopMeasuresAndTheOtherHasNoTimer() {
    plane.routers.router(new DeploymentId("app", "d"), RoutingProbe.DEFAULTS);
    timer.pass(Duration.ofSeconds(2));
    timer.wakeUps = 0;
    timer.pass(Duration.ofSeconds(60));
    assertThat(timer.wakeUps).isEqualTo(60);
    assertThat(timer.armed()).isOne();
    assertThat(woken).hasValue(0);
  }

  @Test
  void aDeadlineOfASleepingLoopPassesWithinTwoTicks() {
    List<Long> passed = new ArrayList<>();
    timer.pass(Duration.ofMillis(7));
    long deadline = timer.clock.getAsLong() + Duration.ofMillis(60).toNanos();
    plane
        .routers
        .loop(1)
        .ring()
        .schedule(
            new RingEntry() {
              @Override
              protected void deadlinePassed(long now) {
                passed.add(now - deadline);
              }
            },
            deadline);
    timer.pass(Duration.ofMillis(59));
    assertThat(passed).isEmpty();
    timer.pass(Duration.ofMillis(51));
    assertThat(passed).hasSize(1);
    assertThat(passed.get(0)).isBetween(0L, Duration.ofMillis(50).toNanos());
    timer.pass(Duration.ofSeconds(2));
    assertThat(plane.isBusy(1)).isFalse();
  }

  @Test
  void aRequestWithoutADeadlineKeepsItsLoopBusyUntilASecondAfterItsEnd() {
    Promise<Response> answer = Promise.promise();
    Replica replica = start(answer);
    assertThat(replica.slots().tryAcquire()).isTrue();
    plane
        .replicas(1)
        .onMessage(
            new CallRequest(
                (1L << 32) | 1,
                new RouterAddress("n1", 0),
                new AttemptId(1, 0, 1),
                replica.address(),
                Admission.AcquiredSlot.HELD,
                -1,
                -1,
                0,
                0,
                "r",
                "",
                "",
                Request.get("/"),
                false,
                false,
                null,
                1));
    assertThat(woken).as("the watch begins before user code runs").hasValue(1);
    timer.pass(Duration.ofMinutes(1));
    assertThat(plane.isBusy(1)).isTrue();
    answer.complete(Response.text("late"));
    timer.pass(Duration.ofMillis(900));
    assertThat(plane.isBusy(1)).isTrue();
    timer.pass(Duration.ofMillis(200));
    assertThat(plane.isBusy(1)).isFalse();
    assertThat(woken).hasValue(1);
  }

  @Test
  void aReservedSlotMakesItsLoopBusySoThatLeasesAreSwept() {
    Replica replica = start(Promise.promise());
    plane
        .replicas(1)
        .onMessage(
            new ReserveSlot(
                (1L << 32) | 1,
                new RouterAddress("n2", 0),
                new AttemptId(2, 0, 1),
                replica.address(),
                100,
                1_000,
                1));
    assertThat(replica.slots().reserved()).isOne();
    assertThat(woken).hasValue(1);
  }
}
