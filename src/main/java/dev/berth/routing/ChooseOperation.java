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
 * A choose operation. The ledger of a local replica holds its slot at once; a remote slot is
 * reserved by a message with an attempt id. A lost or late reply is released by that id at once, so
 * that only the slots of dead requesters last for the time to live.
 *
 * <p>Source: Ray #63254 choose_replica, whose first review finding was the slot lost with a reply.
 */
public final class ChooseOperation extends SlotRequest {
  /**
   * Maximum remote replicas tried by a choose that does not wait; their load reports may be old.
   */
  private static final int MAX_REPLICAS_TRIED = 4;

  private final GangMember leg;
  private final long ttlNanos;
  private final boolean waits;
  private final SelectionObserver observer;
  private int asked = 1;

  /**
   * @param deadlineNanos the deadline for the slot; the dispatch has its own deadline
   * @param ttlNanos the time to live of the lease
   * @param waits whether the choose waits if no slot is free; otherwise it is refused
   */
  public ChooseOperation(
      GangMember leg,
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
    return !waits && asked++ < MAX_REPLICAS_TRIED;
  }

  @Override
  BusMessage message(RoutedReplica to, long id) {
    AttemptId named = java.util.Objects.requireNonNull(attempt);
    long ttlMs = ttlNanos / 1_000_000;
    ReplicaAddress at = to.addressFor(loop.index());
    long accept = loop.acceptMicros(to, callDeadlineNanos);
    return offer == null
        ? new BusMessage.ReserveSlot(id, loop.address, named, at, ttlMs, accept, cost())
        : new BusMessage.RenewLease(id, loop.address, named, at, offer.token(), ttlMs, accept);
  }

  @Override
  void recordSending(RequestRecorder into, RoutedReplica to) {
    into.recordSend(to, offer == null ? "reserve" : "renew an offered lease", false, cost());
  }

  @Override
  public boolean onReply(BusMessage.Answer answer) {
    if (answer instanceof BusMessage.SlotReserved reserved) {
      if (reserved.ttlMicros() == 0) {
        peerLost(false); // its lease expired, or may have, in transit
        return true;
      }
      RoutedReplica from = java.util.Objects.requireNonNull(replica);
      leaveTable();
      from.recordLoadReport(reserved.load()); // still counted; the selection uncounts it
      select(from, null, reserved.token(), attempt, reserved.ttlMicros() * 1_000);
      return true;
    }
    return super.onReply(answer);
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
    LeasedSelection selection = new LeasedSelection(leg, loop, from, lease, token, named, ttl);
    if (recorder != null) {
      selection.explainedBy(recorder);
    }
    selection.followParent();
    observer.onSelection(selection);
  }

  @Override
  void onRefused(Refusal reason, long load) {
    if (offer != null && reason == Refusal.TOO_LATE) {
      revoke(false); // else the offered slot idles until its lease expires
    }
    offer = null;
    super.onRefused(reason, load);
  }

  @Override
  void revoke(boolean timedOut) {
    if (replica != null && attempt != null) {
      loop.release(replica.info.address(), attempt);
    }
  }

  /**
   * Tries another replica at once: a choose runs no handler, so the unknown outcome does no harm.
   */
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
    settle(dev.berth.protocol.LoadReport.NONE);
    if (recorder != null) {
      recorder.recordLoss(replica);
    }
    enqueueAgain(); // nothing ran, so another replica may be tried
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
  public int cost() {
    return leg.cost();
  }

  @Override
  public boolean picky() {
    return router.replicas.anyUnreservable;
  }

  @Override
  public long holdNanos() { // until its loop uses it; then the time to live
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
