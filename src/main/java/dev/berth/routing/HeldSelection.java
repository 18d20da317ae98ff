package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.SlotLease;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A chosen replica with a slot held there.
 *
 * <pre>
 *   OPEN --dispatch--> DISPATCHED   the call owns the slot
 *        --close--> CLOSED          the slot is released
 *        --the lease's deadline--> EXPIRED
 * </pre>
 *
 * One CAS leaves OPEN, and its winner alone lowers the gauge of reserved slots: so the gauge goes
 * 0, 1, 0 on every path, an owner that vanishes included, because the loop's deadline ring holds
 * the selection and not the owner.
 */
final class HeldSelection extends RingEntry implements ReplicaSelection {
  private static final int OPEN = 0;
  private static final int DISPATCHED = 1;
  private static final int CLOSED = 2;
  private static final int EXPIRED = 3;

  private final DeploymentRouter router;
  private final RouterLoop loop;
  final RoutedReplica replica;
  final @Nullable SlotLease lease; // here
  final @Nullable SlotToken token; // elsewhere
  private final @Nullable AttemptId attempt; // elsewhere: what its lease is named
  private final long ttlNanos;
  private final String requestId;
  private final String methodName; // of the choose, and so of what it is for
  private final String sessionId;
  private final @Nullable RequestContext parent; // takes it with it when cancelled
  private volatile @Nullable Runnable leaveParent;
  private final long callDeadlineNanos; // of the choose, and so of what it is for
  private final AtomicInteger state = new AtomicInteger(OPEN);
  private final long madeNanos;
  private long dispatchedNanos; // written by the dispatcher before its task, read by that task
  private volatile long untilNanos;
  private @Nullable RequestRecorder recorder; // when it is explained; the loop's

  /** On the loop, with the slot just held; counts it as reserved. */
  HeldSelection(
      DeploymentRouter router,
      RouterLoop loop,
      RoutedReplica replica,
      @Nullable SlotLease lease,
      @Nullable SlotToken token,
      @Nullable AttemptId attempt,
      long ttlNanos,
      String requestId,
      String methodName,
      String sessionId,
      @Nullable RequestContext parent,
      long callDeadlineNanos) {
    this.router = router;
    this.loop = loop;
    this.replica = replica;
    this.lease = lease;
    this.token = token;
    this.attempt = attempt;
    this.ttlNanos = ttlNanos;
    this.requestId = requestId;
    this.methodName = methodName;
    this.sessionId = sessionId;
    this.parent = parent;
    this.callDeadlineNanos = callDeadlineNanos;
    this.madeNanos = loop.now();
    this.untilNanos = lease == null ? madeNanos + ttlNanos : lease.deadlineNanos();
    router.counters.selected.increment();
    if (attempt != null) {
      loop.heldAttempts.add(attempt);
    }
    loop.ring.schedule(this, untilNanos);
  }

  /** Is written down from now on. On the loop, before anyone else sees it. */
  void explainedBy(RequestRecorder explaining) {
    recorder = explaining;
    explaining.leased(replica, ttlNanos);
  }

  private boolean leave(int next) {
    if (!state.compareAndSet(OPEN, next)) {
      return false;
    }
    router.counters.unselected.increment();
    Runnable leave = leaveParent;
    if (leave != null) {
      leaveParent = null;
      leave.run();
    }
    return true;
  }

  /** Is closed with its parent from now on. On the loop, before anyone else sees it. */
  void followParent() {
    if (parent != null) {
      leaveParent = parent.onCancel(this::close);
    }
  }

  @Override
  void deadlinePassed(long now) {
    if (leave(EXPIRED)) {
      router.counters.undispatched.increment();
      router.counters.selectionsExpired.increment();
      giveBackCount(); // the owner of the ledger expires the lease itself
      forget();
      if (recorder != null) {
        recorder.expired();
      }
    }
  }

  @Override
  public DeploymentHandle.Call start(Request request) {
    Promise<Response> response = Promise.promise();
    if (!leave(DISPATCHED)) {
      response.fail(notOpen());
      return finished(response.future());
    }
    dispatchedNanos = loop.now();
    RoutedCall call =
        new RoutedCall(
            router,
            loop,
            RoutedHandle.traced(request, parent),
            requestId,
            methodName,
            sessionId,
            loop.now(),
            callDeadlineNanos,
            RoutedHandle.completing(loop, response),
            this);
    loop.run(
        () -> {
          loop.ring.cancel(this);
          if (recorder != null) {
            recorder.dispatching(request, methodName);
            call.recorder = recorder;
          }
          call.dispatch(this);
          call.follow(parent);
        });
    return new StartedCall(call, response.future());
  }

  private RuntimeException notOpen() {
    int now = state.get();
    if (now == EXPIRED) {
      return new BerthException.ReservationExpired("the lease of the selection has run out");
    }
    if (now == CLOSED && parent != null && parent.cancelled()) {
      return new BerthException.Cancelled("the request that chose the replica was cancelled");
    }
    return new IllegalStateException(
        "selection: "
            + (now == CLOSED ? "closed" : "already dispatched")
            + " (expected: one dispatch before close)");
  }

  private static DeploymentHandle.Call finished(Future<Response> response) {
    return new DeploymentHandle.Call() {
      @Override
      public Future<Response> response() {
        return response;
      }

      @Override
      public void cancel() {}
    };
  }

  @Override
  public Future<Void> close() {
    if (!leave(CLOSED)) {
      return Future.succeededFuture();
    }
    router.counters.undispatched.increment();
    Promise<Void> closed = Promise.promise();
    loop.run(
        () -> {
          loop.ring.cancel(this);
          try {
            releaseSlot();
            closed.complete();
          } catch (RuntimeException failed) { // the lease then runs out by itself
            closed.fail(failed);
          }
          if (recorder != null) {
            recorder.closed();
          }
        });
    return closed.future();
  }

  /** From its making to its dispatch; once it is dispatched, on the loop. */
  long gapNanos() {
    return dispatchedNanos - madeNanos;
  }

  /**
   * Gives the slot back, by whoever owns it: this selection, or the call it became. On the loop.
   */
  void releaseSlot() {
    if (recorder != null) {
      recorder.released();
    }
    if (lease != null) {
      lease.release();
      return;
    }
    giveBackCount();
    forget();
    releaseIfRemote();
  }

  /** A late word of its lease means nothing any more: what it names may be released. */
  void forget() {
    if (attempt != null) {
      loop.heldAttempts.remove(attempt);
    }
  }

  /** Ends a lease elsewhere if its token has not been consumed; harmless if it has. */
  void releaseIfRemote() {
    if (attempt != null) {
      loop.send(
          replica,
          new BusMessage.ReleaseSlot(loop.address, attempt, replica.addressFor(loop.index())));
    }
  }

  /** The slot elsewhere is no longer counted as ours. */
  private void giveBackCount() {
    if (replica instanceof RemoteReplica remote) {
      remote.giveBack();
      router.pumpIfWaiting();
    }
  }

  /** What a refused dispatch means to its caller. */
  static BerthException failureOf(Refusal refusal, RoutedReplica replica) {
    return switch (refusal) {
      case EXPIRED, RELEASED, UNKNOWN_TOKEN, ALREADY_USED, REVOKED ->
          new BerthException.ReservationExpired(
              "the reservation at " + replica.info.replicaId() + " no longer holds: " + refusal);
      case FULL, OVERLOADED, TOO_LATE, DRAINING, FOREIGN_EPOCH, UNKNOWN_REPLICA ->
          new BerthException.ReplicaUnavailable(
              "replica " + replica.info.replicaId() + " did not take the request: " + refusal);
    };
  }

  @Override
  public Future<Boolean> renew() {
    Promise<Boolean> renewed = Promise.promise();
    loop.run(
        () -> {
          if (state.get() != OPEN) {
            renewed.complete(false);
          } else if (lease != null) {
            renewed.complete(renewHere(lease));
          } else {
            RoutedRenewal.start(router, loop, this, renewed);
          }
        });
    return renewed.future();
  }

  private boolean renewHere(SlotLease held) {
    boolean active = held.renew(ttlNanos);
    if (active) {
      extend(held.deadlineNanos());
    }
    return active;
  }

  /** Whether its replica, elsewhere, said a moment ago that the lease holds. */
  boolean isFresh() {
    return lease == null
        && state.get() == OPEN
        && untilNanos - loop.now() >= ttlNanos - ttlNanos / 10;
  }

  /** The lease lasts until then. On the loop. */
  void extend(long deadlineNanos) {
    if (state.get() == OPEN) {
      untilNanos = deadlineNanos;
      if (recorder != null) {
        recorder.renewed(deadlineNanos - loop.now());
      }
      loop.ring.schedule(this, deadlineNanos);
    }
  }

  long ttlMs() {
    return ttlNanos / 1_000_000;
  }

  AttemptId attempt() {
    return java.util.Objects.requireNonNull(attempt);
  }

  @Override
  public Duration leaseRemaining() {
    return state.get() == OPEN
        ? Duration.ofNanos(Math.max(0, untilNanos - loop.now()))
        : Duration.ZERO;
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
