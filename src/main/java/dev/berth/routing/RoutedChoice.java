package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.RequestContext;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.SlotLease;
import org.jspecify.annotations.Nullable;

/**
 * One choose on its way: a slot here is held at once by its ledger; one elsewhere is asked for by
 * message, under an attempt id, so that a lost or late answer is released by that name at once and
 * the time to live is only for the dead.
 *
 * <p>Source: Ray #63254 choose_replica, whose first review finding was the slot lost with a reply.
 */
public sealed class RoutedChoice extends SlotRequest permits LegChoice {
  private final long ttlNanos;
  private final String requestId;
  private final String methodName;
  private final String sessionId;
  private final @Nullable RequestContext parent;
  private final SelectionObserver observer;
  private RemoteReplica.@Nullable Offer offer; // being renewed to the full time to live

  RoutedChoice(
      DeploymentRouter router,
      RouterLoop loop,
      long deadlineNanos,
      long ttlNanos,
      String requestId,
      String methodName,
      String sessionId,
      @Nullable RequestContext parent,
      SelectionObserver observer) {
    super(router, loop, deadlineNanos);
    this.ttlNanos = ttlNanos;
    this.requestId = requestId;
    this.methodName = methodName;
    this.sessionId = sessionId;
    this.parent = parent;
    this.observer = observer;
  }

  /** Ends the choose at once with {@link BerthException.Cancelled}. Any thread. */
  public void cancel() {
    loop.run(this::cancelNow);
  }

  @Override
  boolean tryOn(RoutedReplica candidate) {
    if (candidate instanceof LocalReplica local) {
      SlotLease lease = local.slots.hold(ttlNanos);
      if (lease == null) {
        return false;
      }
      select(local, lease, null, null, ttlNanos);
      return true;
    }
    if (!candidate.tryTake()) {
      return false;
    }
    takePlace();
    reserve(candidate, null);
    return true;
  }

  @Override
  boolean use(Grant granted) {
    RoutedReplica to = java.util.Objects.requireNonNull(granted.replica());
    SlotLease lease = granted.lease();
    if (lease == null) {
      reserve(to, granted.offer());
      return true;
    }
    if (!lease.renew(ttlNanos)) {
      return false; // this loop was blocked for longer than the lease
    }
    select(to, lease, null, null, ttlNanos);
    return true;
  }

  private void reserve(RoutedReplica to, RemoteReplica.@Nullable Offer held) {
    offer = held;
    attempt = held == null ? loop.nextAttempt() : held.attempt();
    send(to);
  }

  @Override
  BusMessage message(RoutedReplica to, long id) {
    AttemptId named = java.util.Objects.requireNonNull(attempt);
    long ttlMs = ttlNanos / 1_000_000;
    return offer == null
        ? new BusMessage.ReserveSlot(id, loop.address, named, to.addressFor(loop.index()), ttlMs)
        : new BusMessage.RenewLease(
            id, loop.address, named, to.addressFor(loop.index()), offer.token(), ttlMs);
  }

  @Override
  void recordSending(RequestRecorder into, RoutedReplica to) {
    into.sent(to, offer == null ? "reserve" : "renew an offered lease", false);
  }

  @Override
  void unsend(RoutedReplica to) {
    if (to instanceof RemoteReplica remote) {
      remote.giveBack();
    }
  }

  /** The replica holds a slot for us. */
  void reserved(SlotToken token, long grantedTtlMs, long load) {
    RemoteReplica from = (RemoteReplica) java.util.Objects.requireNonNull(replica);
    AttemptId named = java.util.Objects.requireNonNull(attempt);
    loop.pending.remove(pendingId);
    pendingId = PendingTable.FULL;
    from.reported(load); // still counted as ours: the selection gives it back
    select(from, null, token, named, grantedTtlMs * 1_000_000);
  }

  /** By when the selection's dispatch must be over. */
  long selectionDeadlineNanos() {
    return callDeadlineNanos;
  }

  private void select(
      RoutedReplica from,
      @Nullable SlotLease lease,
      @Nullable SlotToken token,
      @Nullable AttemptId named,
      long ttl) {
    done = true;
    loop.ring.cancel(this);
    fulfilled();
    leaveParent();
    HeldSelection selection =
        new HeldSelection(
            router,
            loop,
            from,
            lease,
            token,
            named,
            ttl,
            requestId,
            methodName,
            sessionId,
            parent,
            selectionDeadlineNanos());
    if (recorder != null) {
      selection.explainedBy(recorder);
    }
    selection.followParent();
    observer.onSelection(selection);
  }

  @Override
  void refused(Refusal reason, long load) {
    offer = null;
    super.refused(reason, load);
  }

  @Override
  void revoke(boolean timedOut) {
    if (replica != null && attempt != null) {
      loop.send(
          replica,
          new BusMessage.ReleaseSlot(loop.address, attempt, replica.addressFor(loop.index())));
    }
  }

  @Override
  void peerLost() {
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
    return router.anyUnreservable();
  }

  @Override
  public long holdNanos() { // to its loop; from then on its time to live
    return Math.min(ttlNanos, DeploymentRouter.HAND_OVER_NANOS);
  }

  @Override
  int queuedBytes() {
    return 0;
  }
}
