package dev.berth.simulation;

import dev.berth.fakes.Replicas;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.RoutingProbe;
import dev.berth.view.LedgerView;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What must hold after every event, and what must hold when all is over: design, section 7. */
final class Invariants implements Executions.Listener {
  /** A deadline is seen at the first tick after it; a handle tells its user one task later. */
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

  /** A drain's end is seen at a tick, and handlers are stopped on another loop. */
  private static final long DRAIN_SLACK_NANOS = 3 * TICK_NANOS;

  /** How long after a false alarm an instance may still cancel what the other asked for. */
  private static final long PARTED_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** What a slot may be idle for on its way to a waiter whose loop takes no more tasks. */
  private static final long HAND_OVER_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Time left is told in whole microseconds, as much as in so many messages. */
  private static final long ROUNDED_UP_NANOS = TimeUnit.MICROSECONDS.toNanos(10);

  private static final int NO_NEWCOMER = -1;

  int cutBeforeHead; // streams whose replica cut them while their head was in flight
  private final Simulation on;

  Invariants(Simulation on) {
    this.on = on;
  }

  // --- after every event ---

  void check() {
    List<SimulatedController.Incarnation> all = on.controller.incarnations;
    for (int i = all.size() - 1; i >= 0; i--) {
      SimulatedController.Incarnation incarnation = all.get(i);
      incarnation.replica.slots().audit();
      LedgerView view = incarnation.replica.view();
      checkSlots(incarnation, view);
      checkDrain(incarnation, view);
      if (on.batching) {
        on.batches.check(incarnation);
      }
      if (incarnation.stopped && view.running() + view.reserved() == 0) {
        checkExpired(view);
        count(incarnation, view);
        all.remove(i);
      }
    }
    for (SimulatedInstance instance : on.instances) {
      checkWorkConserved(instance);
      checkVersion(instance);
    }
  }

  /** An older snapshot never replaces a newer one. */
  private void checkVersion(SimulatedInstance instance) {
    RoutingSnapshot.SnapshotVersion version = instance.router.version();
    if (version.compareTo(instance.lastVersion) < 0) {
      throw on.world.fail(instance.node + ": " + version + " after " + instance.lastVersion);
    }
    instance.lastVersion = version;
  }

  private void checkSlots(SimulatedController.Incarnation incarnation, LedgerView view) {
    int ongoing = view.running() + view.reserved();
    boolean overMax = ongoing > view.maxOngoing();
    if (overMax && incarnation.wasOverMax) {
      require(view.granted() == incarnation.grantedBefore, view, "granted a slot above the max");
    }
    incarnation.wasOverMax = overMax;
    incarnation.grantedBefore = view.granted();
    if (overMax) {
      if (incarnation.ceiling != ongoing) {
        on.coverage.seen(Transition.OVER_A_LOWERED_MAX);
      }
      // Above the max only after a lowering, and then it only falls.
      require(ongoing <= incarnation.ceiling, view, "ongoing rose above the max");
    }
    incarnation.ceiling = Math.max(ongoing, view.maxOngoing());
    require(view.audit() == LedgerView.Audit.CLEAN, view, "the audit does not add up");
    int running = on.executions.running(view.replicaId());
    require(running <= view.running(), view, running + " in user code");
    on.coverage.seen(Transition.ZOMBIE, Math.max(0, view.zombies() - incarnation.zombies));
    incarnation.zombies = view.zombies();
  }

  private void checkDrain(SimulatedController.Incarnation incarnation, LedgerView view) {
    if (incarnation.grantedAtDrain >= 0) {
      require(view.granted() == incarnation.grantedAtDrain, view, "granted a slot while draining");
    }
    if (!incarnation.stopped && incarnation.drainDueNanos != Long.MAX_VALUE) {
      long stalled = incarnation.loop().stalledNanos() - incarnation.stalledAtDrainNanos;
      require(
          on.world.elapsedNanos() <= incarnation.drainDueNanos + DRAIN_SLACK_NANOS + stalled,
          view,
          "did not stop within its grace");
    }
  }

  /** No one who could take any replica waits beside a free slot that need not be avoided. */
  private void checkWorkConserved(SimulatedInstance instance) {
    int takers = instance.takers(NO_NEWCOMER);
    if (takers == 0) {
      return;
    }
    if (on.weighted) {
      checkLargeWorkConserved(instance);
      return;
    }
    for (SimulatedController.Incarnation incarnation : on.controller.incarnations) {
      SlotLedger slots = incarnation.replica.slots();
      if (incarnation.seat.instance == instance
          && !slots.draining()
          && slots.ongoing() < slots.maxOngoing()
          && takers > tried(instance, incarnation.replica.replicaId())
          && !instance.avoids(Replicas.info(incarnation.replica))
          && on.controller.isRoutableAt(instance, incarnation)) {
        throw on.world.fail(
            "%s: %s wait beside a free slot of %s"
                .formatted(
                    instance.node, instance.router.queued(), incarnation.replica.replicaId()));
      }
    }
  }

  /**
   * No one waits beside as many free slots as it takes, unless one ahead of it needs more and has
   * been overtaken for long.
   */
  private void checkLargeWorkConserved(SimulatedInstance instance) {
    List<Op> waiting = waitingAt(instance);
    for (Op op : waiting) {
      boolean behind = !RoutingProbe.overdueAt(instance.router, place(op)).isEmpty();
      for (SimulatedController.Incarnation incarnation : on.controller.incarnations) {
        SlotLedger slots = incarnation.replica.slots();
        if (!behind
            && incarnation.seat.instance == instance
            && !slots.draining()
            && slots.maxOngoing() - slots.ongoing() >= op.cost
            && !Ledgers.isSetAsideForRemote(slots)
            && !RoutingProbe.isSetAside(instance.router, incarnation.replica.replicaId(), place(op))
            && tried(instance, incarnation.replica.replicaId()) == 0
            && !instance.avoids(Replicas.info(incarnation.replica))
            && on.controller.isRoutableAt(instance, incarnation)
            && (!on.batching || on.batches.isDue(instance, request(op), incarnation.replica))) {
          throw on.world.fail(
              "%s: %s of cost %d waits beside as many free slots of %s: %s %s"
                  .formatted(
                      instance.node,
                      op,
                      op.cost,
                      incarnation.replica.replicaId(),
                      on.batches.text(incarnation),
                      waiting.stream()
                          .map(each -> place(each) + ": " + each.cost + " " + overdue(each))
                          .toList()));
        }
      }
    }
  }

  private List<Op> waitingAt(SimulatedInstance instance) {
    return on.workload.open.stream()
        .filter(op -> op.at == instance && !op.over() && request(op) != null)
        .filter(op -> RoutingProbe.isWaiting(request(op)) && !instance.isBlocked(op.loopIndex))
        .toList();
  }

  private static @Nullable Object request(Op op) {
    return op.call != null ? op.call : op.choice;
  }

  private static long place(Op op) {
    return RoutingProbe.place(java.util.Objects.requireNonNull(request(op)));
  }

  private boolean overdue(Op op) {
    long since = RoutingProbe.overtakenNanos(java.util.Objects.requireNonNull(request(op)));
    return since != Long.MIN_VALUE
        && on.world.getAsLong() - since >= SimulatedInstance.Settings.OVERTAKE_NANOS;
  }

  /**
   * The first larger request starts within its bound: once it has been overtaken for long, no
   * younger one gets slots of the only replica that can hold it.
   */
  private void checkOvertaking(SimulatedInstance instance, Runnable granted, ReplicaInfo replica) {
    long place = RoutingProbe.place(granted);
    if (RoutingProbe.isSetAside(instance.router, replica.replicaId(), place)) {
      throw on.world.fail(
          "place %d got a slot that is set aside at %s".formatted(place, replica.replicaId()));
    }
    List<String> fitting = RoutingProbe.overdueAt(instance.router, place);
    if (fitting.equals(List.of(replica.replicaId()))) {
      throw on.world.fail(
          "place %d got a slot, and one ahead was overtaken for too long at %s"
              .formatted(place, fitting));
    }
  }

  /** Requests of an instance that a replica refused to run: they do not wait for its slots. */
  private long tried(SimulatedInstance instance, String replicaId) {
    return !on.upstreams
        ? 0
        : on.workload.open.stream()
            .filter(
                op ->
                    !op.over()
                        && op.at == instance
                        && on.executions.notRunAt(op.requestId, replicaId))
            .count();
  }

  /** Where no message is lost and nobody vanishes, every held slot is given back by someone. */
  private void checkExpired(LedgerView view) {
    require(!on.orderly || view.expired() == 0, view, "a lease ran out that nobody had forgotten");
  }

  private void require(boolean holds, LedgerView view, String claim) {
    on.world.failIf(!holds, () -> claim + ": " + view);
  }

  // --- as it happens ---

  /** A slot was handed to a waiter: none that came before it waits at the same router. */
  void granted(SimulatedInstance instance, Runnable granted) {
    on.coverage.seen(Transition.GRANT_TO_WAITER);
    long place = RoutingProbe.place(granted);
    on.world.note("granted", instance.node + " " + place);
    ReplicaInfo replica = RoutingProbe.granted(granted);
    if (replica != null) { // else it is told that the deployment is not available
      took(instance, replica);
      if (on.weighted) {
        checkOvertaking(instance, granted, replica);
      }
      if (RoutingProbe.heldForNanos(granted, on.world.getAsLong()) > HAND_OVER_NANOS) {
        throw on.world.fail(
            "place " + place + " would keep its slot idle if its loop were blocked");
      }
      if (instance.isBlocked(RoutingProbe.loop(granted))) {
        throw on.world.fail("place " + place + " got a slot on a blocked loop");
      }
    }
    for (Op op : on.workload.open) {
      Object request = op.call != null ? op.call : op.choice;
      if (request == granted && RoutingProbe.isSeated(granted)) {
        on.batches.seated(op, RoutingProbe.granted(granted).replicaId());
      }
      if (op.at == instance
          && !op.over()
          && request != null
          && request != granted
          && Objects.equals(RoutingProbe.batchKey(request), RoutingProbe.batchKey(granted))
          && RoutingProbe.isWaiting(request)
          && !mayStay(op, replica)
          && (replica == null || RoutingProbe.accepts(instance.router, request, replica))
          && mayUse(op, RoutingProbe.cost(granted), replica, instance)
          && RoutingProbe.place(request) < place) {
        if (instance.isBlocked(op.loopIndex)) {
          on.coverage.seen(Transition.WAITER_PASSED_OVER);
          continue;
        }
        throw on.world.fail(
            "place %s was served before %s in place %s"
                .formatted(place, op, RoutingProbe.place(request)));
      }
    }
  }

  /** Whether the slots granted to another could be its own: an offer is of one number of slots. */
  private static boolean mayUse(
      Op op, int granted, @Nullable ReplicaInfo replica, SimulatedInstance instance) {
    if (replica == null) { // else none is left for this one, or none of as many slots
      return !instance.router.available();
    }
    boolean here = replica.address().node().equals(instance.node);
    return here ? op.cost <= granted : op.cost == granted;
  }

  /**
   * Whether a request may wait on while a later one gets a slot, or is told that none will come.
   */
  private boolean mayStay(Op op, @Nullable ReplicaInfo granted) {
    return on.upstreams
        && (granted == null || on.executions.notRunAt(op.requestId, granted.replicaId()));
  }

  /** A slot of a replica was taken, now: one that need not be avoided. */
  void took(SimulatedInstance instance, ReplicaInfo replica) {
    if (instance.avoids(replica)) {
      throw on.world.fail(
          "%s: took a slot of %s, on a blocked loop (expected: another's)"
              .formatted(instance.node, replica.replicaId()));
    }
    if (RoutingProbe.routable(instance.router).stream().anyMatch(instance::avoids)) {
      on.coverage.seen(Transition.REPLICA_AVOIDED);
    }
  }

  /** However long it was on its way to another instance, it does not begin after its deadline. */
  @Override
  public void begun(Executions.Execution execution) {
    Op op = on.workload.find(execution.requestId);
    boolean away =
        on.controller.incarnations.stream()
            .anyMatch(
                each ->
                    each.seat.instance != op.at
                        && each.replica.replicaId().equals(execution.replicaId));
    if (away
        && !on.batching
        && op.source == null
        && !op.longBody
        && op.lateNanos() > ROUNDED_UP_NANOS) {
      throw on.world.fail(op + ": begins " + op.lateNanos() / 1_000 + " µs after its deadline");
    }
  }

  /**
   * Returns whether the head of an answer has been on its way for longer than a stream waits for
   * credit. Its receiver grants none before the head is there, so the replica cuts the stream.
   */
  private boolean waitsInVain(Executions.Execution execution) {
    boolean inVain =
        !on.orderly
            && on.world.elapsedNanos() - execution.streamsSinceNanos
                >= SimulatedInstance.Settings.STREAM_IDLE_NANOS;
    cutBeforeHead += inVain ? 1 : 0;
    return inVain;
  }

  /** A request is cancelled at its replica: someone had a reason to. */
  @Override
  public void cancelled(Executions.Execution execution) {
    Op op = on.workload.find(execution.requestId);
    boolean replicaGoesOn = false;
    for (SimulatedController.Incarnation incarnation : on.controller.incarnations) {
      replicaGoesOn |=
          incarnation.replica.replicaId().equals(execution.replicaId)
              && incarnation.drainDueNanos == Long.MAX_VALUE
              && !incarnation.stopped;
    }
    if (replicaGoesOn
        && !op.over()
        && !op.vanished
        && !op.cancelAsked
        && !on.bus.isUnfitNow() // its answer's: it is told so
        && op.phase() == Phase.RESPOND
        // A lost piece of its body is a reason, and so is lost credit for one.
        && (on.orderly || op.source == null && !op.longBody)
        // A handle tells its caller a task later: its router knows whether it is over.
        && (op.handleCall == null
            || RoutingProbe.waitsFor(op.at.routers.loop(op.loopIndex), op.requestId))
        && op.lateNanos() < 0
        && on.world.elapsedNanos() - on.controller.partedNanos() > PARTED_NANOS
        && !waitsInVain(execution)) {
      throw on.world.fail(op + ": cancelled at its replica, though it is wanted");
    }
  }

  /** A loop looked at its deadlines: none that passed a tick ago is open. */
  void ticked(SimulatedInstance instance, int loop) {
    for (Op op : on.workload.active) {
      Object request = op.call != null ? op.call : op.choice;
      if (op.at == instance
          && op.loopIndex == loop
          && request != null
          && !RoutingProbe.isDone(request)
          && op.lateNanos() > 2 * TICK_NANOS) {
        throw on.world.fail(
            op + ": " + op.phase() + " " + op.lateNanos() / 1_000_000 + " ms after its deadline");
      }
    }
  }

  // --- when all is over ---

  void checkAtEnd() {
    for (SimulatedController.Incarnation incarnation : on.controller.incarnations) {
      incarnation.replica.slots().audit();
      LedgerView view = incarnation.replica.view();
      checkExpired(view);
      require(view.running() + view.reserved() == 0, view, "slots not back at the end");
      require(view.audit() == LedgerView.Audit.CLEAN, view, "the audit does not add up");
      require(view.zombies() == 0, view, "zombies at the end");
      require(
          incarnation.replica.slots().rememberedAttempts() == 0,
          view,
          "attempts remembered for ever");
      require(
          incarnation.replica.slots().rememberedLeases() == 0, view, "leases remembered for ever");
      on.batches.checkAtEnd(incarnation);
      count(incarnation, view);
    }
    for (Op op : on.workload.ops) {
      if (op.lost()) {
        continue;
      }
      if (!op.vanished && !op.over()) {
        throw on.world.fail(op + ": no answer at the end, in phase " + op.phase());
      }
      op.checkAtEnd();
      on.explained.checkAtEnd(op);
      if (op.over() && op.source != null && op.source.isFlowing()) {
        throw on.world.fail(op + ": over, and its source still flows");
      }
    }
    on.instances.forEach(this::checkEmpty);
  }

  private void checkEmpty(SimulatedInstance instance) {
    instance.checkEmpty();
    for (int index = 0; index < SimulatedInstance.LOOPS; index++) {
      RouterLoop loop = instance.routers.loop(index);
      on.coverage.seen(Transition.LATE_ANSWER_DROPPED, loop.lateAnswers.sum());
      on.coverage.seen(Transition.DUPLICATE_ANSWER_DROPPED, loop.duplicates.sum());
      on.coverage.seen(Transition.CANCEL_NOT_REPEATED, loop.cancelsNotRepeated());
      on.coverage.seen(
          Transition.DUPLICATE_REQUEST_DROPPED, instance.plane.replicas(index).duplicates.sum());
    }
    on.coverage.seen(Transition.HAND_OFF, instance.router.handOffs());
    on.coverage.seen(Transition.RETRY_AFTER_REFUSAL, instance.router.counters.retries.sum());
    on.coverage.seen(
        Transition.SELECTION_EXPIRED, instance.router.counters.selectionsExpired.sum());
  }

  private void count(SimulatedController.Incarnation incarnation, LedgerView view) {
    on.coverage.seen(Transition.GRANTED, view.granted());
    on.coverage.seen(Transition.COMPLETED, view.completed());
    on.coverage.seen(Transition.RELEASED, view.released());
    on.coverage.seen(Transition.EXPIRED, view.expired());
    on.coverage.seen(Transition.ATTEMPT_REPEATED, incarnation.replica.slots().duplicates());
    on.coverage.seen(Transition.REPLICA_DEADLINE, incarnation.replica.timeouts.sum());
  }
}
