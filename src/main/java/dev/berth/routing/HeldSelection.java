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
import dev.berth.protocol.Load;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.Reservations.Problem;
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
 *   DISPATCHED --its replica is gone--> LOST, or its lease was over--> EXPIRED
 * </pre>
 *
 * One CAS leaves OPEN, and its winner alone lowers the gauge of reserved slots: so the gauge goes
 * 0, 1, 0 on every path, an owner that vanishes included, because the loop's deadline ring holds
 * the selection and not the owner.
 *
 * <p>Any thread may leave OPEN, and a reservation's dispatch may start on another loop than chose:
 * what is here is moved by the thread that won, as its lease is thread-safe; the ring and the names
 * of leases elsewhere belong to the loop, and are told by a task. So a blocked loop keeps no slot.
 */
public final class HeldSelection extends HeldSlot implements ReplicaSelection {
  /** How far it is, and what whoever comes then is told. */
  private enum State {
    OPEN(null),
    DISPATCHED(Problem.ALREADY_USED),
    CLOSED(Problem.RELEASED),
    EXPIRED(Problem.EXPIRED),
    /** Dispatched, and its replica was gone. */
    LOST(Problem.REPLICA_GONE);

    final @Nullable Problem problem;

    State(@Nullable Problem problem) {
      this.problem = problem;
    }
  }

  private final long ttlNanos;
  private final @Nullable RequestContext parent; // takes it with it when cancelled
  private volatile @Nullable Runnable leaveParent;
  private volatile @Nullable Runnable whenLeft;
  private final AtomicReference<State> state = new AtomicReference<>(State.OPEN);
  private volatile long untilNanos;

  /** With the slot just held; counts it as reserved. */
  HeldSelection(
      Leg leg,
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
    router.counters.selected.increment();
    loop.ring().schedule(this, untilNanos);
  }

  /** Whether another instance has it. */
  public boolean isElsewhere() {
    return token != null;
  }

  /** Whether its replica is not there any more. */
  public boolean isStranded() {
    return replica.gone();
  }

  /** Is written down from now on; before anyone else sees it. */
  void explainedBy(RequestRecorder explaining) {
    assert loop.isHere();
    recorder = explaining;
    explaining.leased(replica, ttlNanos);
  }

  private boolean leave(State next) {
    if (!state.compareAndSet(State.OPEN, next)) {
      return false;
    }
    router.counters.unselected.increment();
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
    return state.get() == State.OPEN;
  }

  /** Whoever took it could not dispatch it. */
  private void fallTo(State worse) {
    boolean taken = state.compareAndSet(State.DISPATCHED, worse);
    assert taken : state + " to " + worse;
  }

  /**
   * Tells when it is no longer open, on the thread that ended it, and at once when it is over by
   * now; at least once.
   */
  public void whenLeft(Runnable told) {
    whenLeft = told;
    if (!isOpen()) {
      told.run();
    }
  }

  /** Is closed with its parent from now on; before anyone else sees it. */
  void followParent() {
    assert loop.isHere();
    if (parent != null) {
      leaveParent = parent.onCancel(this::close);
    }
  }

  @Override
  protected void deadlinePassed(long now) {
    if (isOpen() && !expireIfPast(now)) {
      loop.ring().schedule(this, untilNanos); // renewed since
    }
  }

  /**
   * Ends it when its lease has run out, whatever its loop does. Any thread.
   *
   * @return whether this did
   */
  public boolean expireIfPast(long now) {
    if (!isOpen() || !isPast(now) || !leave(State.EXPIRED)) {
      return false;
    }
    router.counters.undispatched.increment();
    router.counters.selectionsExpired.increment();
    giveBackCount(); // the owner of the ledger expires the lease itself
    loop.run(
        () -> {
          loop.ring().cancel(this);
          forget();
          if (recorder != null) {
            recorder.expired();
          }
        });
    return true;
  }

  /**
   * Asks the lease, as it may have been renewed: it alone knows, and once it is over it stays so.
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

  // --- a dispatch that may start on another loop ---

  /** How it ended; null while it is open. */
  public @Nullable Problem ended() {
    return state.get().problem;
  }

  /**
   * Takes the slot for a request that starts now. Any thread; exactly one of all that use, close
   * and expire it wins.
   *
   * @return null when its slot is the caller's, to be passed to {@link RoutedCall#dispatchTaken};
   *     else why it is not
   */
  public @Nullable Problem take() {
    Problem lost = leaveToRun();
    if (lost != null || lease == null || lease.consume() == null) {
      return lost;
    }
    fallTo(State.EXPIRED); // between the two looks at the clock
    router.counters.undispatched.increment();
    return Problem.EXPIRED;
  }

  private @Nullable Problem leaveToRun() {
    long now = loop.now();
    expireIfPast(now);
    if (!leave(State.DISPATCHED)) {
      return ended();
    }
    dispatchedNanos = now;
    loop.run(() -> loop.ring().cancel(this));
    if (!replica.gone()) {
      return null;
    }
    fallTo(State.LOST);
    releaseSlot();
    router.counters.undispatched.increment();
    return Problem.REPLICA_GONE;
  }

  /**
   * Hands the slot over, as it is held, to a request at another instance; as {@link #take}.
   *
   * @param asker what the lease is named from now on, if it has no name
   * @return null when it is not to be had
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
      return new BusMessage.SlotReserved(callId, asker, at, named, left, Load.NONE);
    }
    giveBackCount();
    forget();
    SlotToken held = Objects.requireNonNull(token);
    return new BusMessage.SlotReserved(callId, attempt(), at, held, left, Load.NONE);
  }

  /**
   * What another instance handed over. On the loop.
   *
   * @return null when its replica is not known here; the slot is released then
   */
  public static @Nullable HeldSelection of(Leg leg, RouterLoop loop, BusMessage.SlotReserved slot) {
    RoutedReplica at = leg.router().at(slot.target());
    if (at == null) {
      loop.release(slot.target(), slot.attempt());
      return null;
    }
    at.takeOver();
    long ttl = slot.ttlMicros() * 1_000;
    return new HeldSelection(leg, loop, at, null, slot.token(), slot.attempt(), ttl);
  }

  public long ttlNanos() {
    return ttlNanos;
  }

  @Override
  public Pending<Response> start(Request request) {
    Objects.requireNonNull(request, "request: null (expected: a request)"); // it is open still
    if (!leave(State.DISPATCHED)) {
      return new NotBegun(Future.failedFuture(notOpen()));
    }
    dispatchedNanos = loop.now();
    HandleCall shown = new HandleCall(leg, loop);
    RoutedCall call = newCall(loop, HandleCall.traced(request, parent), shown);
    loop.run(
        () -> {
          loop.ring().cancel(this);
          if (recorder != null) {
            recorder.dispatching(request, leg.methodName());
            call.recorder = recorder;
          }
          call.dispatch();
          call.follow(parent);
        });
    return shown.of(call);
  }

  /** The one call that runs on its slot. */
  public RoutedCall newCall(RouterLoop on, Request request, CallOwner owner) {
    return new RoutedCall(router, on, request, owner, this);
  }

  private RuntimeException notOpen() {
    State now = state.get();
    if (now == State.EXPIRED) {
      return new BerthException.ReservationExpired("the lease of the selection has run out");
    }
    if (now == State.CLOSED && parent != null && parent.cancelled()) {
      return new BerthException.Cancelled("the request that chose the replica was cancelled");
    }
    String is = now == State.CLOSED ? "closed" : "already dispatched";
    return new IllegalStateException("selection: " + is + " (expected: one dispatch before close)");
  }

  /** A dispatch that did not begin. */
  private record NotBegun(Future<Response> future) implements Pending<Response> {
    @Override
    public void cancel() {}
  }

  @Override
  public Future<Void> close() {
    if (!leave(State.CLOSED)) {
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
            recorder.closed();
          }
        });
    return closed.future();
  }

  private void release(Promise<Void> closed) {
    try {
      releaseSlot();
      closed.complete();
    } catch (RuntimeException failed) { // the lease then runs out by itself
      closed.fail(failed);
    }
  }

  /** Its replica, elsewhere, has said how its slots are. */
  void reported(long load) {
    replica.reported(load);
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
            RoutedRenewal.start(loop, this, renewed);
          }
        });
    return renewed.future();
  }

  /** The ring still has the old deadline, and finds the new one then. */
  private boolean renewHere(SlotLease held) {
    boolean active = isOpen() && held.renew(ttlNanos);
    if (active) {
      untilNanos = held.deadlineNanos();
    }
    return active;
  }

  /** Whether its replica, elsewhere, said a moment ago that the lease holds. */
  public boolean isFresh() {
    return lease == null && isOpen() && untilNanos - loop.now() >= ttlNanos - ttlNanos / 10;
  }

  /** The lease lasts until then. */
  void extend(long deadlineNanos) {
    if (isOpen()) {
      untilNanos = deadlineNanos;
      if (recorder != null) {
        recorder.renewed(deadlineNanos - loop.now());
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
