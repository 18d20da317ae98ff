package dev.berth.routing.legs;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.RequestContext;
import dev.berth.routing.ChooseOperation;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.GangMember;
import dev.berth.routing.LeasedSelection;
import dev.berth.routing.RingEntry;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.SelectionObserver;
import dev.berth.routing.SlotRequest;
import dev.berth.routing.slots.GangGate;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Acquires slots of several deployments, all or none.
 *
 * <pre>
 *   for each deployment, in the one order of names:
 *     AT_GATE  (only for more than one slot of it) --admitted--> COLLECTING
 *     COLLECTING --a slot for each leg there--> the next deployment
 *   CONFIRMING  each lease is renewed to its full time --all active--> OVER, with the selections
 *   any --failure, cancel, deadline--> OVER, without slots
 *   any --a lease was lost, for the first time--> from the start, without slots
 *   COLLECTING --slots of another instance, and no further one for long--> likewise
 * </pre>
 *
 * <p><b>No deadlock on one instance.</b> A waiting request holds only slots of earlier deployments,
 * or of the same one behind its gate. Of all waiting requests, the one that is furthest in the
 * order therefore waits for no other request of this kind, and no cycle exists. Legs wait in the
 * queues of their deployments like any choose, so no waiter is overtaken.
 *
 * <p><b>Across instances.</b> Instances do not see each other's gates. Two of them may therefore
 * each hold some slots of a third instance that the other awaits. A request that holds such a slot
 * and acquires no other for 1 to 2 s releases all slots and starts again. Each further wait is
 * twice as long, up to 64 s, because the slots may only be busy for long. The random delay decides
 * which request yields, and the other continues.
 *
 * <p><b>Concurrency.</b> Confined to its loop, except the {@link GangGate.Collector} part. At each
 * moment the owner of a leg's slot is its choose, or {@link HeldGang} until the observer receives
 * the result.
 *
 * <p>Source: Havender 1968, standard allocation pattern: resources taken in one linear order.
 */
public final class GangReservation extends RingEntry implements GangGate.Collector {
  /**
   * Maximum wait in nanoseconds for replies of other instances, if the request does not wait for
   * slots.
   */
  private static final long ANSWER_WITHIN_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Minimum time without another slot before the first round yields to other instances. */
  private static final long YIELD_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final int MAX_DOUBLINGS = 5;

  private static final String UNANSWERED = "another instance did not respond";
  private static final String NO_SLOT = "queue_timeout_s reached while waiting for several slots";

  private final RouterLoop loop;
  private final GangOrder order;
  private final long deadlineNanos; // of all legs; or NO_DEADLINE
  private final boolean waits;
  private final LegsObserver observer;
  private final @Nullable ChooseOperation[] choices;
  private final HeldGang held;
  private final List<Runnable> leaveParents = new ArrayList<>();
  private long waitDeadlineNanos; // the earlier of deadline and queue timeout
  private long renewAtNanos;
  private long giveWayAtNanos = SlotRequest.NO_DEADLINE;
  private int gaveWay; // number of yields
  private int group; // group collected now
  private @Nullable GangGate gate; // gate of that group: awaited or held
  private boolean inside; // the gate is held
  private int missing; // legs of the group without a slot
  private boolean asking; // ask() is on the stack
  private int round; // results of an earlier round are ignored
  private boolean restarted;
  private boolean over;

  /**
   * Creates a request that is not started.
   *
   * @param legs at least one; several may belong to the same deployment
   * @param deadlineNanos deadline for all slots, on the loop's clock, or {@link Long#MAX_VALUE}
   * @param waits whether to wait if no slot is free; otherwise the request is refused
   * @param observer receives the one result, on the loop, possibly before {@link #begin} returns
   */
  GangReservation(
      RouterLoop loop,
      List<GangMember> legs,
      long deadlineNanos,
      boolean waits,
      LegsObserver observer) {
    this.loop = loop;
    this.order = new GangOrder(legs);
    this.deadlineNanos = deadlineNanos;
    this.waits = waits;
    this.observer = observer;
    this.choices = new ChooseOperation[legs.size()];
    this.held = new HeldGang(legs.size(), this);
  }

  /**
   * Acquires slots, all or none; parameters as for the constructor. Thread-safe.
   *
   * @return the thread-safe cancel, which ends the request at once with {@link
   *     BerthException.Cancelled}
   */
  public static Runnable start(
      RouterLoop loop,
      List<GangMember> legs,
      long deadlineNanos,
      boolean waits,
      LegsObserver observer) {
    if (legs.size() == 1) {
      GangMember leg = legs.get(0);
      SingleMemberObserver only = new SingleMemberObserver(observer, leg, loop, deadlineNanos);
      long within = waits ? SlotRequest.NO_DEADLINE : loop.now() + ANSWER_WITHIN_NANOS;
      long deadline = SlotRequest.earlier(deadlineNanos, within);
      long ttl = Math.min(leg.ttlNanos(), leg.router().settings().maxReservationTtlNanos());
      ChooseOperation choice = new ChooseOperation(leg, loop, deadline, ttl, waits, only);
      loop.run(choice::start);
      return choice::cancel;
    }
    GangReservation routed = new GangReservation(loop, legs, deadlineNanos, waits, observer);
    loop.run(routed::begin);
    return () -> loop.run(() -> routed.stop(SlotRequest.cancelled()));
  }

  /** Adapter for a single leg, which needs neither order nor gate: it is a choose. */
  private record SingleMemberObserver(
      LegsObserver observer, GangMember leg, RouterLoop loop, long deadlineNanos)
      implements SelectionObserver {
    @Override
    public void onSelection(ReplicaSelection selection) {
      observer.onSelections(List.of(selection));
    }

    @Override
    public void onFailure(BerthException failure) {
      boolean unanswered = failure instanceof BerthException.Timeout && !loop.isPast(deadlineNanos);
      observer.onFailure(unanswered ? leg.router().backPressure(UNANSWERED) : failure, 0);
    }
  }

  private void begin() {
    assert loop.isHere();
    if (over) {
      return; // cancelled before it reached its loop
    }
    if (loop.isPast(deadlineNanos)) {
      end(SlotRequest.timeout(), LegsObserver.NO_LEG);
      return;
    }
    for (int number = 0; number < order.groups.length; number++) {
      BerthException impossible = order.impossible(number);
      if (impossible != null) {
        end(impossible, order.groups[number][0]);
        return;
      }
    }
    long now = loop.now();
    long bound = now + (waits ? order.queueTimeoutNanos() : ANSWER_WITHIN_NANOS);
    waitDeadlineNanos = SlotRequest.earlier(deadlineNanos, bound);
    renewAtNanos = now + order.renewEveryNanos();
    schedule();
    followParents();
    collect();
  }

  /**
   * Follows the parents' cancels from the start: a cancelled parent ends all legs, whichever waits.
   */
  private void followParents() {
    List<RequestContext> followed = new ArrayList<>();
    for (GangMember leg : order.legs) {
      RequestContext parent = leg.parent();
      if (parent != null && !over && followed.stream().noneMatch(other -> other == parent)) {
        followed.add(parent);
        leaveParents.add(parent.onCancel(() -> loop.run(this::parentCancelled)));
      }
    }
    if (over) {
      leaveParents(); // a parent was cancelled already
    }
  }

  private void parentCancelled() {
    stop(loop.isPast(deadlineNanos) ? SlotRequest.timeout() : SlotRequest.cancelled());
  }

  // --- collecting ---

  private void collect() {
    while (!over && group < order.groups.length) {
      if (order.groups[group].length > 1 && !inside && !enter()) {
        return;
      }
      if (!ask()) {
        return; // the last reply continues
      }
      leaveGate();
      group++;
    }
    if (!over) {
      held.confirm();
    }
  }

  /** Requests a slot for each leg of the group. Returns true if all were acquired at once. */
  private boolean ask() {
    int at = round;
    missing = order.groups[group].length;
    asking = true;
    for (int place : order.groups[group]) {
      GangMember leg = order.legs.get(place);
      ChooseOperation choice =
          new ChooseOperation(
              leg, loop, deadlineNanos, GangOrder.ttlNanos(leg), waits, answer(place));
      choices[place] = choice;
      choice.start();
      if (at != round) {
        break;
      }
    }
    asking = false;
    return at == round && missing == 0;
  }

  /** Returns the receiver of the choose for a place. */
  private SelectionObserver answer(int place) {
    int asked = round;
    return new SelectionObserver() {
      @Override
      public void onSelection(ReplicaSelection selection) {
        if (asked != round) {
          selection.close(); // all slots were released meanwhile
          return;
        }
        held.put(place, (LeasedSelection) selection);
        choices[place] = null;
        missing--;
        giveWayAtNanos = SlotRequest.NO_DEADLINE;
        if (missing > 0 && waits && ((LeasedSelection) selection).isElsewhere()) {
          long patience = YIELD_TIMEOUT_NANOS << Math.min(gaveWay, MAX_DOUBLINGS);
          giveWayAtNanos = loop.now() + patience + loop.random().nextLong(patience);
          schedule();
        } else if (missing == 0 && !asking) {
          leaveGate();
          group++;
          collect();
        }
      }

      @Override
      public void onFailure(BerthException failure) {
        if (asked == round) {
          end(failure, place);
        }
      }
    };
  }

  // --- the gate ---

  /** Enters the gate of the group's deployment. Returns whether the gate is held now. */
  private boolean enter() {
    DeploymentRouter router = order.router(group);
    GangGate.GateEntryResult entry =
        router.legGate.enter(this, waits, router.settings().maxQueued());
    if (entry == GangGate.GateEntryResult.REFUSED) {
      end(
          router.backPressure(
              "other requests are acquiring several slots of " + router.deployment()),
          order.groups[group][0]);
      return false;
    }
    gate = router.legGate;
    inside = entry == GangGate.GateEntryResult.HOLDING;
    return inside;
  }

  private void leaveGate() {
    GangGate leaving = gate;
    if (leaving != null) {
      gate = null;
      inside = false;
      leaving.leave(this);
    }
  }

  @Override
  public boolean paused() {
    return loop.isBlocked();
  }

  @Override
  public void entered() {
    loop.post(this::atLast);
  }

  /** Continues once the awaited gate is held, unless this request left it or lost it again. */
  private void atLast() {
    GangGate asked = gate;
    if (asked != null && !inside && asked.isHeldBy(this)) {
      inside = true;
      collect();
    }
  }

  @Override
  public void ousted() {
    loop.post(this::outside);
  }

  /**
   * Starts again after the loss of the gate: held slots of this deployment would block its new
   * holder.
   */
  private void outside() {
    GangGate lost = gate;
    if (lost != null && !lost.isHeldBy(this)) {
      again(
          new BerthException.ReservationExpired(
              "the event loop was blocked while it acquired several slots"),
          order.groups[group][0]);
    }
  }

  // --- waiting ---

  private void schedule() {
    long next = SlotRequest.earlier(waitDeadlineNanos, renewAtNanos);
    loop.ring().schedule(this, SlotRequest.earlier(next, giveWayAtNanos));
  }

  @Override
  protected void deadlinePassed(long now) {
    if (loop.isPast(deadlineNanos)) {
      end(SlotRequest.timeout(), waitedFor());
    } else if (waitDeadlineNanos - now <= 0) {
      int place = waitedFor();
      DeploymentRouter router = order.legs.get(Math.max(0, place)).router();
      end(router.backPressure(waits ? NO_SLOT : UNANSWERED), place);
    } else if (giveWayAtNanos != SlotRequest.NO_DEADLINE && giveWayAtNanos - now <= 0) {
      gaveWay++;
      anew(order.router(group).backPressure(NO_SLOT), order.groups[group][0]);
    } else {
      renewAtNanos = now + order.renewEveryNanos();
      schedule();
      held.keep();
    }
  }

  /** Returns the place of the first leg without a slot. */
  private int waitedFor() {
    return Stream.of(order.groups)
        .skip(group)
        .flatMapToInt(IntStream::of)
        .filter(place -> !held.has(place))
        .findFirst()
        .orElse(LegsObserver.NO_LEG);
  }

  /** Delivers the selections: each lease is active, for its full time from now on. */
  void confirmed() {
    over = true;
    round++;
    loop.ring().cancel(this);
    leaveParents();
    observer.onSelections(held.handOver());
  }

  /** Handles a leg whose lease is no longer active. */
  void onLeaseLost(int place) {
    GangMember leg = order.legs.get(place);
    RequestContext parent = leg.parent();
    if (parent != null && parent.cancelled()) {
      parentCancelled();
      return;
    }
    again(
        new BerthException.ReplicaUnavailable(
            "a slot of " + leg.router().deployment() + " was lost while waiting for others"),
        place);
  }

  /** Starts again at the first loss; a second one ends the request. */
  private void again(BerthException why, int place) {
    if (restarted || !waits) {
      end(why, place);
      return;
    }
    restarted = true;
    anew(why, place);
  }

  /** Releases everything and starts again: to replace one leg alone would break the order. */
  private void anew(BerthException why, int place) {
    order.legs.get(place).router().counters.collectedAnew.increment();
    giveUp(why);
    giveWayAtNanos = SlotRequest.NO_DEADLINE;
    schedule();
    group = 0;
    collect();
  }

  // --- ending ---

  /** Ends the request for a reason of no single leg; no effect after its end. */
  private void stop(BerthException why) {
    if (!over) {
      end(why, LegsObserver.NO_LEG);
    }
  }

  /** Ends the request with its first failure. Releases everything before it reports the failure. */
  private void end(BerthException failure, int place) {
    over = true;
    loop.ring().cancel(this);
    giveUp(failure);
    leaveParents();
    observer.onFailure(failure, place);
  }

  /** Releases held and pending slots. A failed release is added to {@code why} as suppressed. */
  private void giveUp(BerthException why) {
    round++;
    for (int place = 0; place < choices.length; place++) {
      ChooseOperation choice = choices[place];
      choices[place] = null;
      try {
        if (choice != null) {
          choice.cancel();
        }
      } catch (RuntimeException failed) {
        why.addSuppressed(failed);
      }
    }
    held.giveBack(why);
    leaveGate();
  }

  private void leaveParents() {
    leaveParents.forEach(Runnable::run);
    leaveParents.clear();
  }
}
