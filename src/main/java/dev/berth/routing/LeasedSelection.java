package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.protocol.port.SlotLease;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.slots.RoutedReplica;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A chosen replica with a slot held there.
 *
 * <pre>
 *   OPEN --dispatch--> DISPATCHED   the call owns the slot
 *        --close--> CLOSED          the slot is released
 *        --the lease's deadline--> EXPIRED
 *   DISPATCHED --its replica was removed--> LOST, or its lease had expired--> EXPIRED
 * </pre>
 *
 * <p><b>State.</b> One CAS leaves OPEN, and its winner alone lowers the gauge of reserved slots.
 * The gauge therefore goes 0, 1, 0 on every path. An abandoned selection is included, because the
 * loop's deadline ring holds the selection and not its owner.
 *
 * <p><b>Concurrency.</b> Any thread may leave OPEN, and a reservation may be dispatched on another
 * loop than the choose. The winner changes a local lease directly, because leases are thread-safe.
 * The ring and the attempt ids of remote leases are confined to the loop and are updated by a task.
 * A blocked loop therefore retains no local slot.
 */
public final class LeasedSelection extends HeldSlot implements ReplicaSelection {
  /** State of the selection, with the problem that a later use of it reports. */
  private enum SelectionState {
    OPEN(null),
    DISPATCHED(ReservationProblem.ALREADY_USED),
    CLOSED(ReservationProblem.RELEASED),
    EXPIRED(ReservationProblem.EXPIRED),
    /** Dispatched, but the replica had been removed. */
    LOST(ReservationProblem.REPLICA_GONE);

    final @Nullable ReservationProblem problem;

    SelectionState(@Nullable ReservationProblem problem) {
      this.problem = problem;
    }
  }

  public final long ttlNanos;
  private final @Nullable RequestContext parent; // its cancel closes the selection
  private volatile @Nullable Runnable leaveParent;
  private volatile @Nullable Runnable whenLeft;
  private final AtomicReference<SelectionState> state = new AtomicReference<>(SelectionState.OPEN);
  private volatile long untilNanos;

  /** Creates a selection for a slot just acquired, and counts it as reserved. */
  LeasedSelection(
      GangMember leg,
      RouterLoop loop,
      RoutedReplica replica,
      @Nullable SlotLease lease,
      @Nullable SlotToken token,
      @Nullable AttemptId attempt,
      long ttlNanos) {
    super(leg, loop, replica, lease, token, attempt);
    this.ttlNanos = ttlNanos;
    this.parent = leg.parent();
    this.untilNanos = lease == null ? madeNanos + ttlNanos : lease.deadlineNanos();
    router.counters.selected.add(leg.cost());
    loop.ring().schedule(this, untilNanos);
  }

  /** Returns whether the slot is at another instance. */
  public boolean isElsewhere() {
    return token != null;
  }

  /** Returns whether the replica has been removed. */
  public boolean isStranded() {
    return replica.isRemoved();
  }

  /** Records the selection from now on. Call before the selection is shared. */
  void explainedBy(RequestRecorder explaining) {
    assert loop.isHere();
    recorder = explaining;
    explaining.recordLease(replica, ttlNanos);
  }

  private boolean leave(SelectionState next) {
    if (!state.compareAndSet(SelectionState.OPEN, next)) {
      return false;
    }
    router.counters.unselected.add(leg.cost());
    Runnable leave = leaveParent;
    if (leave != null) {
      leaveParent = null;
      leave.run();
    }
    Runnable told = whenLeft;
    if (told != null) {
      told.run();
    }
    return true;
  }

  private boolean isOpen() {
    return state.get() == SelectionState.OPEN;
  }

  /** Marks a dispatched selection that could not be used. */
  private void fallTo(SelectionState worse) {
    boolean taken = state.compareAndSet(SelectionState.DISPATCHED, worse);
    assert taken : state + " to " + worse;
  }

  /**
   * Runs a callback when the selection is no longer open, on the thread that ended it, or at once
   * if it has ended. The callback may run more than once.
   */
  public void whenLeft(Runnable told) {
    whenLeft = told;
    if (!isOpen()) {
      told.run();
    }
  }

  /** Closes the selection with its parent from now on. Call before the selection is shared. */
  void followParent() {
    assert loop.isHere();
    if (parent != null) {
      leaveParent = parent.onCancel(this::close);
    }
  }

  @Override
  protected void deadlinePassed(long now) {
    if (isOpen() && !expireIfPast(now)) {
      loop.ring().schedule(this, untilNanos); // renewed since then
    }
  }

  /**
   * Expires the selection if its lease has expired, even if its loop is blocked. Thread-safe.
   *
   * @return whether this call expired it
   */
  public boolean expireIfPast(long now) {
    if (!isOpen() || !isPast(now) || !leave(SelectionState.EXPIRED)) {
      return false;
    }
    router.counters.undispatched.increment();
    router.counters.selectionsExpired.increment();
    giveBackCount(); // the ledger's owner expires the lease itself
    loop.run(
        () -> {
          loop.ring().cancel(this);
          forget();
          if (recorder != null) {
            recorder.recordExpiry();
          }
        });
    return true;
  }

  /**
   * Returns whether the lease has expired. Reads the lease, because a renewal may have moved its
   * deadline; an expired lease stays expired.
   */
  private boolean isPast(long now) {
    if (untilNanos - now > 0) {
      return false;
    }
    if (lease != null && lease.active()) {
      untilNanos = lease.deadlineNanos();
      return false;
    }
    return true;
  }

  // --- dispatch, possibly from another loop ---

  /** Returns how the selection ended; null while it is open. */
  public @Nullable ReservationProblem endReason() {
    return state.get().problem;
  }

  /**
   * Takes the slot for a request that starts now. Thread-safe; exactly one of all takes, closes and
   * expiries wins.
   *
   * @return null if the caller now owns the slot and must pass it to {@link
   *     RoutedCall#dispatchTaken}; otherwise the reason
   */
  public @Nullable ReservationProblem take() {
    ReservationProblem lost = leaveToRun();
    if (lost != null || lease == null || lease.consume() == null) {
      return lost;
    }
    fallTo(SelectionState.EXPIRED); // expired between the two clock reads
    router.counters.undispatched.increment();
    return ReservationProblem.EXPIRED;
  }

  private @Nullable ReservationProblem leaveToRun() {
    long now = loop.now();
    expireIfPast(now);
    if (!leave(SelectionState.DISPATCHED)) {
      return endReason();
    }
    dispatchedNanos = now;
    loop.run(() -> loop.ring().cancel(this));
    if (!replica.isRemoved()) {
      return null;
    }
    fallTo(SelectionState.LOST);
    releaseSlot();
    router.counters.undispatched.increment();
    return ReservationProblem.REPLICA_GONE;
  }

  /**
   * Transfers the held slot to a request at another instance, with the guarantees of {@link #take}.
   *
   * @param asker new attempt id of a lease that has none
   * @return null if the slot is not available
   */
  public BusMessage.@Nullable SlotReserved giveTo(AttemptId asker, long callId) {
    if (leaveToRun() != null) {
      return null;
    }
    long left = Math.max(0, untilNanos - loop.now()) / 1_000;
    ReplicaAddress at = replica.info.address();
    if (lease != null) {
      lease.name(asker);
      SlotToken named = lease.token();
      return new BusMessage.SlotReserved(
          callId, asker, at, named, left, LoadReport.NONE, leg.cost());
    }
    giveBackCount();
    forget();
    SlotToken held = Objects.requireNonNull(token);
    return new BusMessage.SlotReserved(
        callId, attempt(), at, held, left, LoadReport.NONE, leg.cost());
  }

  /**
   * Returns a selection for a slot that another instance transferred. Call on the loop.
   *
   * @return null if the replica is unknown here; the slot is then released
   */
  public static @Nullable LeasedSelection of(
      GangMember leg, RouterLoop loop, BusMessage.SlotReserved slot) {
    RoutedReplica at = leg.router().at(slot.target());
    if (at == null) {
      loop.release(slot.target(), slot.attempt());
      return null;
    }
    at.takeOver(slot.cost());
    long ttl = slot.ttlMicros() * 1_000;
    return new LeasedSelection(
        leg.withCost(slot.cost()), loop, at, null, slot.token(), slot.attempt(), ttl);
  }

  @Override
  public Pending<Response> start(Request request) {
    // the selection stays open
    Objects.requireNonNull(request, "request: null (expected: a request)");
    if (!leave(SelectionState.DISPATCHED)) {
      return new NotBegun(Future.failedFuture(notOpen()));
    }
    dispatchedNanos = loop.now();
    HandleCall shown = new HandleCall(leg, loop);
    RoutedCall call = newCall(loop, HandleCall.traced(request, parent), shown);
    loop.run(
        () -> {
          loop.ring().cancel(this);
          if (recorder != null) {
            recorder.recordDispatch(request, leg.methodName());
            call.recorder = recorder;
          }
          call.dispatch();
          call.follow(parent);
        });
    return shown.of(call);
  }

  /** Returns the one call that uses the selection's slot. */
  public RoutedCall newCall(RouterLoop on, Request request, CallObserver owner) {
    return new RoutedCall(router, on, request, owner, this);
  }

  private RuntimeException notOpen() {
    SelectionState now = state.get();
    if (now == SelectionState.EXPIRED) {
      return new BerthException.ReservationExpired("the lease of the selection expired");
    }
    if (now == SelectionState.CLOSED && parent != null && parent.cancelled()) {
      return new BerthException.Cancelled("the request that acquired the selection was cancelled");
    }
    String is = now == SelectionState.CLOSED ? "closed" : "already dispatched";
    return new IllegalStateException("selection: " + is + " (expected: one dispatch before close)");
  }

  /** The result of a dispatch that did not begin. */
  private record NotBegun(Future<Response> future) implements Pending<Response> {
    @Override
    public void cancel() {}
  }

  @Override
  public Future<Void> close() {
    if (!leave(SelectionState.CLOSED)) {
      return Future.succeededFuture();
    }
    router.counters.undispatched.increment();
    Promise<Void> closed = Promise.promise();
    boolean atOnce = lease != null && recorder == null;
    if (atOnce) {
      release(closed);
    }
    loop.run(
        () -> {
          loop.ring().cancel(this);
          if (!atOnce) {
            release(closed);
          }
          if (recorder != null) {
            recorder.recordClose();
          }
        });
    return closed.future();
  }

  private void release(Promise<Void> closed) {
    try {
      releaseSlot();
      closed.complete();
    } catch (RuntimeException failed) { // the lease then expires on its own
      closed.fail(failed);
    }
  }

  /** Records a load report of the remote replica, and grants slots that became free. */
  void onLoadReport(long load) {
    replica.recordLoadReport(load);
    router.pumpIfWaiting();
  }

  @Override
  public Future<Boolean> renew() {
    if (lease != null && recorder == null) {
      return Future.succeededFuture(renewHere(lease));
    }
    Promise<Boolean> renewed = Promise.promise();
    loop.run(
        () -> {
          if (!isOpen()) {
            renewed.complete(false);
          } else if (lease != null) {
            boolean active = renewHere(lease);
            if (active) {
              extend(lease.deadlineNanos());
            }
            renewed.complete(active);
          } else {
            RenewOperation.start(loop, this, renewed);
          }
        });
    return renewed.future();
  }

  /**
   * Renews a local lease. The ring retains the old deadline, and finds the new one when that
   * passes.
   */
  private boolean renewHere(SlotLease held) {
    boolean active = isOpen() && held.renew(ttlNanos);
    if (active) {
      untilNanos = held.deadlineNanos();
    }
    return active;
  }

  /**
   * Returns whether a remote replica confirmed the lease within the last tenth of its time to live.
   */
  public boolean isFresh() {
    return lease == null && isOpen() && untilNanos - loop.now() >= ttlNanos - ttlNanos / 10;
  }

  /** Sets a new deadline of the lease. */
  void extend(long deadlineNanos) {
    if (isOpen()) {
      untilNanos = deadlineNanos;
      if (recorder != null) {
        recorder.recordRenewal(deadlineNanos - loop.now());
      }
      loop.ring().schedule(this, deadlineNanos);
    }
  }

  @Override
  public Duration leaseRemaining() {
    return isOpen() ? Duration.ofNanos(Math.max(0, untilNanos - loop.now())) : Duration.ZERO;
  }

  @Override
  public String replicaId() {
    return replica.info.replicaId();
  }

  @Override
  public DeploymentId deployment() {
    return replica.info.deployment();
  }

  @Override
  public String nodeId() {
    return replica.info.address().node();
  }

  @Override
  public Optional<String> host() {
    return Optional.ofNullable(replica.info.host());
  }

  @Override
  public OptionalInt port() {
    return replica.info.port();
  }

  @Override
  public Optional<String> availabilityZone() {
    return Optional.ofNullable(replica.info.zone());
  }

  @Override
  public Map<String, String> metadata() {
    return replica.info.metadata();
  }

  @Override
  public String toString() {
    return "ReplicaSelection[" + replicaId() + ", " + leaseRemaining().toMillis() + " ms left]";
  }
}
