package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.callId;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Answering;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.replica.ReplicaRig.Waiting;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Replicas on an event loop that takes no tasks: their lives go on without it. */
class StuckLoopTest {
  private static final Duration GRACE = Duration.ofSeconds(20);
  private static final long STUCK = ReplicaHost.STUCK_NANOS;

  private final ReplicaRig rig = new ReplicaRig(ReplicaLimits.DEFAULTS, 2);
  private final Waiting handler = new Waiting();

  private void look(long nanos, boolean lasting, @Nullable Replica by) {
    look(rig.stuck, nanos, lasting, by);
    rig.runAll();
  }

  private void look(int loop, long nanos, boolean lasting, @Nullable Replica by) {
    rig.host.loopBlocked(
        loop,
        new BlockedLoop(
            loop,
            0,
            nanos,
            by == null ? "" : by.deployment().toString(),
            by == null ? "" : by.replicaId(),
            "",
            "at Spin.handle",
            lasting));
  }

  private void runsAgain() {
    int loop = rig.stuck;
    rig.stuck = -1;
    rig.untaken.runAll();
    rig.host.loopBlocked(loop, null);
    rig.runAll();
  }

  @Test
  void nextLoopIsOneThatIsNotBlocked() {
    assertThat(rig.host.loopFrom(1)).isEqualTo(1);
    rig.host.loopBlocked(1, true);
    assertThat(rig.host.loopFrom(1)).isZero();
    rig.host.loopBlocked(0, true);
    assertThat(rig.host.loopFrom(1)).isEqualTo(1);
  }

  @Test
  void startThatItsLoopDoesNotTakeFailsAndIsStopped() {
    rig.stuck = 0;
    Future<Replica> begun = rig.settled(rig.begin(1, context -> handler, 1));
    look(STUCK - 1, false, null);
    assertThat(begun.isComplete()).as("it may yet run").isFalse();
    look(STUCK, false, null);
    assertThat(begun.cause()).hasMessageContaining("event loop 0: blocked");
    assertThat(handler.stops).isEqualTo(1);
    runsAgain();
    assertThat(rig.host.replicas()).isEmpty();
    assertThat(rig.states).isEmpty();
    assertThat(handler.stops).isEqualTo(1);
  }

  @Test
  void failedStartIsToldThoughItsLoopIsStuck() {
    rig.stuck = 0;
    Exception cause = new Exception("no model");
    Future<Replica> begun =
        rig.settled(
            rig.begin(
                1,
                context -> {
                  throw cause;
                },
                1));
    assertThat(begun.cause()).isSameAs(cause);
  }

  @Test
  void spreadReplicaRunsWithoutTheStuckLoopAndJoinsItLater() {
    rig.stuck = 1;
    Future<Replica> begun = rig.settled(rig.begin(1, context -> handler, 2));
    look(STUCK, false, null);
    assertThat(begun.result().state()).isEqualTo(ReplicaState.RUNNING);
    runsAgain();
    assertThat(rig.states).containsExactly(ReplicaState.RUNNING);
  }

  @Test
  void idleReplicaOnAStuckLoopStops() {
    Replica replica = rig.start(1, handler);
    rig.stuck = 0;
    Future<Void> stops = replica.shutDown(GRACE);
    for (int i = 0; i < 3 && !stops.isComplete(); i++) {
      look(STUCK, false, null);
    }
    assertThat(stops.isComplete()).isTrue();
    assertThat(handler.stops).isEqualTo(1);
    runsAgain();
    assertThat(handler.stops).isEqualTo(1);
  }

  @Test
  void replicaThatBlocksItsLoopIsKilledAfterItsGrace() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    rig.stuck = 0;
    Future<Void> stops = replica.shutDown(GRACE);
    look(STUCK, true, replica);
    assertThat(replica.state()).isEqualTo(ReplicaState.DRAINING);
    rig.pass(GRACE);
    look(STUCK, true, replica);
    assertThat(replica.state()).isEqualTo(ReplicaState.STOPPED);
    look(STUCK, true, replica);
    assertThat(stops.isComplete()).isTrue();
    assertThat(replica.slotsBack().isComplete()).as("its handler runs").isFalse();
  }

  @Test
  void requestThatCameBeforeTheKillIsRefusedAfterIt() {
    Replica replica = rig.start(2, handler);
    assertThat(replica.slots().tryAcquire()).isTrue();
    rig.stuck = 0;
    replica.kill();
    look(STUCK, false, null);
    assertThat(handler.stops).isEqualTo(1);
    rig.send(ReplicaRig.call(replica).id(callId(2, 1))); // before the kill, on its loop
    assertThat(rig.refusal()).isEqualTo(Refusal.UNKNOWN_REPLICA);
    assertThat(handler.calls).isZero();
  }

  @Test
  void handlerThatBlocksItsLoopPastTheGraceOfACancelIsAZombie() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    Replica other = rig.start(1, new Answering("ok"));
    rig.stuck = 0;
    long grace = ReplicaLimits.DEFAULTS.cancelGraceNanos();
    look(grace - 1, false, replica);
    assertThat(replica.zombies()).isZero();
    look(grace, false, replica);
    assertThat(replica.zombies()).isEqualTo(1);
    assertThat(other.zombies()).isZero();
    runsAgain();
    assertThat(replica.zombies()).isZero();
  }

  @Test
  void eachLoopThatAReplicaBlocksIsAZombieUntilItRunsAgain() {
    Replica replica = rig.start(2, context -> handler, 2);
    long grace = ReplicaLimits.DEFAULTS.cancelGraceNanos();
    look(0, grace, false, replica);
    look(1, grace, false, replica);
    assertThat(replica.zombies()).isEqualTo(2);
    rig.host.loopBlocked(0, null);
    assertThat(replica.zombies()).as("the other one is not forgotten").isEqualTo(1);
    rig.host.loopBlocked(1, null);
    assertThat(replica.zombies()).isZero();
  }

  @Test
  void roundThatPassesOverAStuckLoopEndsOnTheHomeLoop() {
    rig.stuck = 1;
    Future<Replica> begun = rig.settled(rig.begin(1, context -> handler, 2));
    look(1, STUCK, false, null);
    assertThat(begun.isComplete()).as("on the control loop").isFalse();
    rig.runAll();
    assertThat(begun.result().state()).isEqualTo(ReplicaState.RUNNING);
  }

  @Test
  void lastingBlockMakesReplicasOfTheLoopAloneUnhealthy() {
    Replica spread = rig.start(1, context -> handler, 2);
    Replica replica = rig.start(1, new Answering("ok"));
    rig.stuck = 0;
    look(STUCK, false, null);
    assertThat(replica.healthy()).isTrue();
    look(TimeUnit.SECONDS.toNanos(30), true, null);
    assertThat(replica.unhealthyReason()).contains("event loop 0 is blocked since");
    assertThat(replica.healthy()).isFalse();
    assertThat(spread.healthy()).isTrue();
    runsAgain();
    assertThat(replica.healthy()).isTrue();
  }

  @Test
  void noReplicaIsUnhealthyForItWhereAllLoopsAreBlocked() {
    Replica replica = rig.start(1, new Answering("ok"));
    rig.stuck = 1;
    look(STUCK, true, null);
    rig.stuck = 0;
    look(STUCK, true, null);
    assertThat(replica.healthy()).isTrue();
  }
}
