package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static dev.berth.replica.ReplicaRig.DEPLOYMENT;
import static dev.berth.replica.ReplicaRig.answering;
import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.HandlerFactory;
import dev.berth.api.ReplicaContext;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.Response;
import dev.berth.fakes.Answering;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.SlotLease;
import dev.berth.replica.ReplicaRig.Waiting;
import dev.berth.replica.slots.LedgerLimits;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A replica's life: made off the loop, drained with what it accepted, stopped once. */
class ReplicaLifecycleTest {
  private static final Duration GRACE = Duration.ofSeconds(20);

  private final ReplicaRig rig = new ReplicaRig(ReplicaLimits.DEFAULTS, 3);
  private final Waiting handler = new Waiting();

  // --- start ---

  @Test
  void itsHandlerIsMadeOffTheLoopAndItTakesRequestsAfterThat() {
    List<ReplicaContext> made = new ArrayList<>();
    Future<Replica> begun =
        rig.begin(
            3,
            context -> {
              made.add(context);
              return handler;
            },
            1);

    assertThat(rig.tasks.runAll()).isZero();
    assertThat(made).isEmpty();
    assertThat(rig.host.replicas()).isEmpty();
    assertThat(rig.offLoop.runAll()).isEqualTo(1);
    assertThat(begun.isComplete()).as("not yet hosted on its loop").isFalse();
    rig.runAll();

    Replica replica = begun.result();
    assertThat(replica.state()).isEqualTo(ReplicaState.RUNNING);
    assertThat(rig.host.replicas()).containsExactly(replica);
    assertThat(made).hasSize(1);
    ReplicaContext context = made.get(0);
    assertThat(context.replicaId()).isEqualTo(replica.replicaId());
    assertThat(context.deployment()).isEqualTo(DEPLOYMENT);
    assertThat(context.userConfig()).isEqualTo(Map.of("k", "v"));
    assertThat(context.maxOngoingRequests()).isEqualTo(3);
    assertThatThrownBy(() -> context.handle("other"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("other");
  }

  @Test
  void aFactoryThatThrowsFailsTheStartWithItsCauseAndLeavesNothingBehind() {
    Exception cause = new Exception("no model file");
    Future<Replica> begun = rig.settled(rig.begin(1, failing(1, cause, null), 1));
    assertThat(begun.cause()).isSameAs(cause);
    assertThat(rig.host.replicas()).isEmpty();
    Replica next = rig.start(1, handler);
    assertThat(next.address().ordinal()).as("its place is free again").isZero();
  }

  @Test
  void aFactoryThatReturnsNullFailsTheStart() {
    Future<Replica> begun = rig.settled(rig.begin(1, context -> null, 1));
    assertThat(begun.cause()).hasMessageContaining("factory: null");
  }

  @Test
  void whatWasMadeBeforeAFactoryFailedIsStoppedAndItsFailureSuppressed() {
    Exception cause = new Exception("second fails");
    Exception stopFails = new Exception("stop fails");
    Future<Replica> begun = rig.settled(rig.begin(1, failing(2, cause, stopFails), 2));
    assertThat(begun.cause()).isSameAs(cause);
    assertThat(cause.getSuppressed()).containsExactly(stopFails);
  }

  @Test
  void aHandlerThatFailsWithOneExceptionForAllFailsItsStartWithThat() {
    Exception cause = new Exception("always this one");
    Future<Replica> begun = rig.settled(rig.begin(1, failing(2, cause, cause), 2));
    assertThat(begun.cause()).isSameAs(cause);
    assertThat(rig.host.replicas()).isEmpty();
  }

  /** Its call of this number fails; what was made before fails to stop. */
  private static HandlerFactory failing(int number, Exception cause, Exception onStop) {
    AtomicInteger calls = new AtomicInteger();
    return context -> {
      if (calls.incrementAndGet() == number) {
        throw cause;
      }
      return new Stoppable(onStop);
    };
  }

  private static final class Stoppable extends Answering {
    private final Exception onStop;

    Stoppable(Exception onStop) {
      super("ok");
      this.onStop = onStop;
    }

    @Override
    public void stop() throws Exception {
      throw onStop;
    }
  }

  @Test
  void replicasHaveAPlaceEachAndAStoppedOnesIsUsedAgain() {
    Replica first = rig.start(1, handler);
    Replica second = rig.start(1, handler);
    assertThat(second.address().ordinal()).isEqualTo(1);

    rig.settled(first.shutDown(GRACE));
    assertThat(rig.start(1, handler).address().ordinal())
        .as("while late messages may come for it")
        .isEqualTo(2);
    rig.pass(Duration.ofNanos(LedgerLimits.DEFAULTS.rememberNanos()).plusMillis(25));
    Replica third = rig.start(1, handler);

    assertThat(third.address().ordinal()).isZero();
    assertThat(third.address().epoch()).isNotEqualTo(first.address().epoch());
    rig.send(call(first).from(AWAY).attempt(rig.attempt()).ifFree());
    assertThat(rig.refusal()).isEqualTo(Refusal.FOREIGN_EPOCH);
  }

  @Test
  void theDirectoryFindsTheSlotsOfItsIncarnationOnly() {
    Replica replica = rig.start(1, handler);
    ReplicaAddress at = replica.address();

    assertThat(rig.host.slotsOf(at)).isSameAs(replica.slots());
    assertThat(rig.host.slotsOf(at.onLoop(2))).isSameAs(replica.slots());
    assertThat(rig.host.slotsOf(new ReplicaAddress("n2", 0, 0, at.epoch()))).isNull();
    assertThat(rig.host.slotsOf(new ReplicaAddress("n1", 0, 0, at.epoch() + 1))).isNull();
    assertThat(rig.host.slotsOf(new ReplicaAddress("n1", 0, 9, at.epoch()))).isNull();
    replica.kill();
    assertThat(rig.host.slotsOf(at)).isNull();
  }

  // --- spread ---

  @Test
  void aSpreadReplicaHasAHandlerPerLoopBehindOneLedger() {
    List<Waiting> handlers = new ArrayList<>();
    Replica replica =
        rig.start(
            2,
            context -> {
              handlers.add(new Waiting());
              return handlers.get(handlers.size() - 1);
            },
            3);
    assertThat(handlers).hasSize(3);

    for (int loop = 0; loop < 2; loop++) {
      assertThat(replica.slots().tryAcquire()).isTrue();
      rig.loops.get(loop).onMessage(call(replica).to(replica.address().onLoop(loop)).message());
    }

    assertThat(replica.slots().tryAcquire()).as("two slots in all, not per loop").isFalse();
    assertThat(handlers).extracting(each -> each.calls).containsExactly(1, 1, 0);
    handlers.forEach(each -> each.promises.forEach(p -> p.complete(Response.text("ok"))));
    assertAtRest(replica.slots());

    rig.settled(replica.shutDown(GRACE));
    assertThat(handlers).extracting(each -> each.stops).containsExactly(1, 1, 1);
  }

  // --- drain ---

  @Test
  void aDrainingReplicaFinishesWhatItAcceptedAndTheLeasesItGrantedAndGrantsNothing() {
    Replica replica = rig.busy(3, handler, callId(1, 1));
    SlotToken token = rig.reserve(replica, rig.attempt(), 10_000);

    Future<Void> drained = rig.settled(replica.drain());
    assertThat(replica.state()).isEqualTo(ReplicaState.DRAINING);
    assertThat(drained.isComplete()).isFalse();

    rig.send(rig.away(replica).id(callId(2, 1)));
    assertThat(rig.refusal()).isEqualTo(Refusal.DRAINING);
    rig.askFor(replica, rig.attempt(), 1_000);
    assertThat(rig.refusal()).isEqualTo(Refusal.DRAINING);

    rig.send(rig.away(replica).id(callId(4, 1)).by(token));
    assertThat(handler.calls).as("the granted lease runs").isEqualTo(2);
    handler.answer();
    rig.runAll();
    assertThat(drained.isComplete()).isFalse();
    handler.answer();
    rig.runAll();
    assertThat(drained.succeeded()).isTrue();
    assertAtRest(replica.slots());
    assertThat(handler.stops).as("drain alone stops nothing").isZero();
  }

  @Test
  void aDrainWaitsForAReservationThatIsOnlyHeldAndNotForeverForADeadOwner() {
    Replica replica = rig.start(1, handler);
    rig.reserve(replica, rig.attempt(), 5_000);
    Future<Void> drained = rig.settled(replica.drain());
    assertThat(drained.isComplete()).isFalse();

    rig.clock.advance(Duration.ofSeconds(5));
    rig.host.sweep(0, 1, mismatch -> {});
    rig.runAll();

    assertThat(drained.succeeded()).isTrue();
  }

  @Test
  void aRequestOnItsWayWhenTheDrainBeginsIsServed() {
    Replica replica = rig.start(1, handler);
    assertThat(replica.slots().tryAcquire()).isTrue();
    Future<Void> drained = rig.settled(replica.drain());

    rig.send(call(replica));

    assertThat(handler.calls).isEqualTo(1);
    handler.answer();
    rig.answer(CallResponse.class);
    rig.runAll();
    assertThat(drained.succeeded()).isTrue();
  }

  @Test
  void anIdleReplicaIsDrainedAtOnceAndASecondDrainIsTheSame() {
    Replica replica = rig.start(1, handler);
    Future<Void> drained = rig.settled(replica.drain());
    assertThat(drained.succeeded()).isTrue();
    assertThat(replica.drain()).isSameAs(drained);
    assertThat(rig.states).containsExactly(ReplicaState.RUNNING, ReplicaState.DRAINING);
  }

  /** A controller that hears of it first would still see slots granted, and leases outlive it. */
  @Test
  void whoHearsOfADrainFindsNothingGrantedAndTheEndOfTheGraceKnown() {
    Replica replica = rig.start(2, handler);
    SlotLease lease = Objects.requireNonNull(replica.slots().hold(1_000));
    long now = rig.clock.getAsLong();
    List<Long> ends = new ArrayList<>();
    rig.whenTold =
        state -> {
          assertThat(state).isEqualTo(ReplicaState.DRAINING);
          assertThat(replica.slots().draining()).isTrue();
          assertThat(replica.slots().tryAcquire()).isFalse();
          assertThat(lease.renew(GRACE.multipliedBy(2).toNanos())).isTrue();
          ends.add(lease.deadlineNanos() - now);
        };

    replica.shutDown(GRACE);

    assertThat(ends).containsExactly(GRACE.toNanos());
  }

  @Test
  void aRenewalNeverLastsPastTheEndOfTheGrace() {
    Replica replica = rig.start(1, handler);
    SlotToken token = rig.reserve(replica, rig.attempt(), 10_000);
    rig.settled(replica.shutDown(GRACE));
    rig.clock.advance(Duration.ofSeconds(9));
    rig.renew(replica, token, 60_000);
    assertThat(rig.answer(SlotReserved.class).ttlMicros()).isEqualTo(11_000_000);
    rig.clock.advance(GRACE.minusSeconds(9));
    rig.renew(replica, token, 60_000);
    assertThat(rig.refusal()).isEqualTo(Refusal.DRAINING);
  }

  // --- shut down ---

  @Test
  void aShutDownDrainsThenStopsTheHandlerOffTheLoop() {
    Replica replica = rig.busy(1, handler, callId(1, 1));

    Future<Void> stopped = rig.settled(replica.shutDown(GRACE));
    assertThat(handler.stops).isZero();
    handler.answer();
    rig.tasks.runAll();
    assertThat(replica.state()).isEqualTo(ReplicaState.STOPPED);
    assertThat(handler.stops).as("not on the loop").isZero();
    rig.runAll();

    assertThat(handler.stops).isEqualTo(1);
    assertThat(stopped.succeeded()).isTrue();
    assertThat(rig.states)
        .containsExactly(ReplicaState.RUNNING, ReplicaState.DRAINING, ReplicaState.STOPPED);
    assertThat(rig.host.replicas()).isEmpty();
    rig.bus.take();
    rig.send(rig.away(replica));
    assertThat(rig.refusal()).isEqualTo(Refusal.UNKNOWN_REPLICA);
  }

  @Test
  void aSecondShutDownDoesNotStartASecondOne() {
    Replica replica = rig.start(1, handler);
    Future<Void> first = replica.shutDown(GRACE);
    Future<Void> second = replica.shutDown(Duration.ZERO);
    rig.runAll();
    assertThat(second).isSameAs(first);
    assertThat(handler.stops).isEqualTo(1);
  }

  @Test
  void aSecondShutDownMakesTheGraceShorterAndNeverLonger() {
    for (int longer = 0; longer < 2; longer++) {
      Replica replica = rig.busy(2, handler, callId(1, 1));
      SlotLease lease = Objects.requireNonNull(replica.slots().hold(1_000));
      long now = rig.clock.getAsLong();
      Duration second = GRACE.multipliedBy(longer * 2).plusSeconds(5);
      Duration shorter = longer == 1 ? GRACE : second;

      replica.shutDown(GRACE);
      replica.shutDown(second);
      rig.runAll();
      assertThat(lease.renew(Duration.ofMinutes(5).toNanos())).isTrue();
      assertThat(lease.deadlineNanos() - now).isLessThanOrEqualTo(shorter.toNanos());
      rig.pass(shorter.minusMillis(25));
      assertThat(replica.state()).isEqualTo(ReplicaState.DRAINING);
      rig.pass(Duration.ofMillis(25));

      assertThat(replica.state()).as("%s, then %s", GRACE, second).isEqualTo(ReplicaState.STOPPED);
      handler.answer();
      rig.runAll();
    }
  }

  @Test
  void whatIsNotDoneWithinTheGraceIsKilled() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    Future<Void> stopped = rig.settled(replica.shutDown(GRACE));

    rig.pass(GRACE.minusMillis(25));
    assertThat(rig.bus.take()).isEmpty();
    rig.pass(Duration.ofMillis(25));
    rig.runAll();

    CallFailed failed = rig.answer(CallFailed.class);
    assertThat(failed.kind()).isEqualTo(BerthException.Kind.OUTCOME_UNKNOWN);
    assertThat(stopped.succeeded()).isTrue();
    assertThat(handler.stops).isEqualTo(1);
    assertThat(handler.contexts.element().cancelled()).isTrue();
  }

  @Test
  void aHandlerWhoseStopFailsIsStoppedAllTheSame() {
    Replica replica = rig.start(1, new Stoppable(new Exception("stop fails")));
    Future<Void> stopped = rig.settled(replica.shutDown(GRACE));
    assertThat(stopped.succeeded()).isTrue();
    assertThat(replica.failures.counts.sums()).containsEntry("java.lang.Exception", 1L);
  }

  // --- kill ---

  @Test
  void aKillAnswersWhatRunsAndItsSlotsComeBackOnceEachWhenHandlersSettle() {
    Promise<Void> produced = Promise.promise();
    int[] calls = {0};
    ReplicaHandler mixed =
        (AsyncHandler)
            (request, context) ->
                ++calls[0] == 1
                    ? Future.succeededFuture(Response.stream("a/b", writer -> produced.future()))
                    : handler.handle(request, context);
    Replica replica = rig.start(3, mixed);
    for (int i = 1; i <= 3; i++) {
      rig.sendHeld(replica, callId(i, 1));
    }
    rig.cancel(replica, callId(3, 1)); // answered by its router
    rig.bus.take();

    Future<Void> stopped = replica.kill();
    assertThat(replica.state()).isEqualTo(ReplicaState.STOPPED);
    rig.runAll();

    assertThat(rig.bus.take())
        .as("each once: the stream, the plain one; the cancelled one not at all")
        .extracting(message -> message.getClass().getSimpleName())
        .containsExactlyInAnyOrder("StreamReset", "CallFailed");
    assertThat(stopped.succeeded()).isTrue();
    assertThat(replica.slots().ongoing()).isEqualTo(3);
    assertThat(rig.host.replicas()).as("until its slots are back").containsExactly(replica);
    produced.complete();
    handler.answer();
    handler.answer();
    rig.runAll();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
    assertThat(rig.host.replicas()).isEmpty();
    assertThat(rig.loop().invocations()).isZero();
  }

  @Test
  void aRequestThatReachesAKilledReplicaIsRefusedAndItsHeldSlotComesBack() {
    Replica replica = rig.start(1, handler);
    assertThat(replica.slots().tryAcquire()).isTrue();
    rig.settled(replica.kill());
    rig.bus.take();

    rig.send(call(replica));

    assertThat(rig.refusal()).isEqualTo(Refusal.UNKNOWN_REPLICA);
    assertAtRest(replica.slots());
    assertThat(handler.calls).isZero();
  }

  @Test
  void aKillTwiceOrAfterAShutDownStopsTheHandlerOnce() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    replica.shutDown(GRACE);
    replica.kill();
    replica.kill();
    rig.runAll();
    rig.pass(GRACE.plusSeconds(1));
    rig.runAll();

    assertThat(handler.stops).isEqualTo(1);
    handler.answer();
    rig.runAll();
    assertThat(handler.stops).isEqualTo(1);
    assertThat(rig.states).filteredOn(ReplicaState.STOPPED::equals).hasSize(1);
  }

  @Test
  void aKilledBlockingReplicaStopsItsThreads() {
    BlockingHandler blocking = (request, context) -> Response.text("ok");
    Replica replica = rig.busy(1, blocking, callId(1, 1));
    replica.kill();
    rig.tasks.runAll();
    assertThat(rig.workersStopped).isEqualTo(1);
    assertThat(replica.slots().ongoing()).as("its thread never came").isZero();
  }

  @Test
  void aLateDuplicateOfARequestThatRanIsNotToldThatItsReplicaIsUnknown() {
    for (boolean kill : new boolean[] {false, true}) {
      Replica replica = rig.start(1, answering(Response.text("ok")));
      ReplicaRig.Call call = rig.away(replica);
      rig.send(call);
      if (kill) {
        replica.kill();
      } else {
        replica.shutDown(GRACE);
      }
      rig.runAll();
      rig.bus.take();

      rig.send(call);

      assertThat(rig.bus.take()).as("\"did not run\" would have it run again").isEmpty();
    }
  }

  @Test
  void aStoppedReplicaKnowsItsAttemptsForAsLongAsTheyAreRemembered() {
    Duration remembered = Duration.ofNanos(LedgerLimits.DEFAULTS.rememberNanos());
    Replica replica = rig.start(1, answering(Response.text("ok")));
    ReplicaRig.Call call = rig.away(replica);
    rig.send(call);
    rig.settled(replica.shutDown(GRACE));
    assertThat(replica.state()).isEqualTo(ReplicaState.STOPPED);
    for (Duration later :
        List.of(Duration.ofMillis(25), remembered.minusMillis(75), Duration.ofMillis(25))) {
      rig.pass(later);
      rig.host.sweep(0, 1, mismatch -> {});
      rig.bus.take();

      rig.send(call);

      assertThat(rig.bus.take()).as("\"did not run\" would have it run again").isEmpty();
    }

    rig.pass(Duration.ofMillis(100));
    rig.send(call);

    assertThat(rig.refusal()).as("nothing of it is kept longer").isEqualTo(Refusal.UNKNOWN_REPLICA);
  }

  // --- live changes ---

  @Test
  void aRaisedMaxIsUsedAtOnceAndALoweredOneTakesNothingAway() {
    BlockingHandler blocking = (request, context) -> Response.text("ok");
    Replica replica = rig.busy(2, blocking, callId(1, 1));
    rig.sendHeld(replica, callId(2, 1));

    replica.setMaxOngoing(1);
    assertThat(rig.workersResizedTo).isEqualTo(1);
    rig.runAll();
    assertThat(rig.bus.take()).hasSize(2);
    assertThat(replica.slots().tryAcquire()).isTrue();
    assertThat(replica.slots().tryAcquire()).isFalse();

    replica.setMaxOngoing(2);
    assertThat(rig.workersResizedTo).isEqualTo(2);
    assertThat(replica.slots().tryAcquire()).isTrue();
  }
}
