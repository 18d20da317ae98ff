package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.RequestContext;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.SlotLease;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.ranking.KeyHash;
import dev.berth.routing.slots.Grant;
import dev.berth.routing.slots.RoutedReplica;
import org.jspecify.annotations.Nullable;

/**
 * One choose on its way: a slot here is held at once by its ledger; one elsewhere is asked for by
 * message, under an attempt id, so that a lost or late answer is released by that name at once and
 * the time to live is only for the dead.
 *
 * <p>Source: Ray #63254 choose_replica, whose first review finding was the slot lost with a reply.
 */
public final class RoutedChoice extends SlotRequest {
  /** Replicas elsewhere that one which does not wait asks; what is known of them may be old. */
  private static final int MOST_ASKED = 4;

  private final Leg leg;
  private final long ttlNanos;
  private final boolean waits;
  private final SelectionObserver observer;
  private int asked = 1;

  /**
   * @param deadlineNanos by when it has one; its use has a deadline of its own
   * @param ttlNanos how long its lease lasts
   * @param waits whether it waits where no slot is free; else it is refused
   */
  public RoutedChoice(
      Leg leg,
      RouterLoop loop,
      long deadlineNanos,
      long ttlNanos,
      boolean waits,
      SelectionObserver observer) {
    super(leg.router(), loop, deadlineNanos);
    this.leg = leg;
    this.ttlNanos = ttlNanos;
    this.waits = waits;
    this.observer = observer;
  }

  public void start() {
    assert loop.isHere();
    router.counters.choices.increment();
    RequestContext parent = leg.parent();
    if (parent != null) {
      recorder = router.explained(loop, parent, null, leg.methodName());
    }
    begin(parent);
  }

  @Override
  long holdAtOnce() {
    return ttlNanos;
  }

  @Override
  boolean use(Grant granted, boolean waited) {
    RoutedReplica to = java.util.Objects.requireNonNull(granted.replica());
    SlotLease lease = granted.lease();
    if (lease == null) {
      takePlace();
      offer = granted.offer();
      attempt = offer == null ? loop.nextAttempt() : offer.attempt();
      send(to);
      return true;
    }
    if (waited && !lease.renew(ttlNanos)) {
      return false; // this loop was blocked for longer than the lease
    }
    select(to, lease, null, null, ttlNanos);
    return true;
  }

  @Override
  long routingKey() {
    return KeyHash.of(leg.sessionId());
  }

  @Override
  boolean waits() {
    return waits;
  }

  @Override
  boolean mayTryAgain() {
    return !waits && asked++ < MOST_ASKED;
  }

  @Override
  BusMessage message(RoutedReplica to, long id) {
    AttemptId named = java.util.Objects.requireNonNull(attempt);
    long ttlMs = ttlNanos / 1_000_000;
    ReplicaAddress at = to.addressFor(loop.index());
    long accept = loop.acceptMicros(to, callDeadlineNanos);
    return offer == null
        ? new BusMessage.ReserveSlot(id, loop.address, named, at, ttlMs, accept)
        : new BusMessage.RenewLease(id, loop.address, named, at, offer.token(), ttlMs, accept);
  }

  @Override
  void recordSending(RequestRecorder into, RoutedReplica to) {
    into.sent(to, offer == null ? "reserve" : "renew an offered lease", false);
  }

  @Override
  public boolean answered(BusMessage.Answer answer) {
    if (answer instanceof BusMessage.SlotReserved reserved) {
      if (reserved.ttlMicros() == 0) {
        peerLost(false); // its lease ran out on its way, or may have
        return true;
      }
      RoutedReplica from = java.util.Objects.requireNonNull(replica);
      leaveTable();
      from.reported(reserved.load()); // still counted as ours: the selection gives it back
      select(from, null, reserved.token(), attempt, reserved.ttlMicros() * 1_000);
      return true;
    }
    return super.answered(answer);
  }

  private void select(
      RoutedReplica from,
      @Nullable SlotLease lease,
      @Nullable SlotToken token,
      @Nullable AttemptId named,
      long ttl) {
    done = true;
    loop.ring().cancel(this);
    fulfilled();
    leaveParent();
    HeldSelection selection = new HeldSelection(leg, loop, from, lease, token, named, ttl);
    if (recorder != null) {
      selection.explainedBy(recorder);
    }
    selection.followParent();
    observer.onSelection(selection);
  }

  @Override
  void refused(Refusal reason, long load) {
    if (offer != null && reason == Refusal.TOO_LATE) {
      revoke(false); // else the offered slot stands idle until its lease is over
    }
    offer = null;
    super.refused(reason, load);
  }

  @Override
  void revoke(boolean timedOut) {
    if (replica != null && attempt != null) {
      loop.release(replica.info.address(), attempt);
    }
  }

  /** Nothing runs by it, so it need not wait to learn what became of it. */
  @Override
  void unanswered(RoutedReplica by) {
    by.unanswered();
    peerLost(false);
  }

  @Override
  void peerLost(boolean forGood) {
    if (!forGood) {
      revoke(false);
    }
    settle(dev.berth.protocol.Load.NONE);
    if (recorder != null) {
      recorder.lost(replica);
    }
    enqueueAgain(); // nothing ran, so another replica may be asked
  }

  @Override
  void fail(BerthException failure) {
    leaveParent();
    observer.onFailure(failure);
    if (recorder != null) {
      recorder.endOfCall();
    }
  }

  @Override
  public boolean accepts(RoutedReplica candidate) {
    return candidate.routable() && candidate.info.reservable();
  }

  @Override
  public boolean picky() {
    return router.replicas.anyUnreservable;
  }

  @Override
  public long holdNanos() { // to its loop; from then on its time to live
    return Math.min(ttlNanos, DeploymentRouter.HAND_OVER_NANOS);
  }

  @Override
  @Nullable RequestContext parent() {
    return leg.parent();
  }

  @Override
  int queuedBytes() {
    return 0;
  }
}
