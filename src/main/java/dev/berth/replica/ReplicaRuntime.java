package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.RequestContext;
import dev.berth.metrics.UserMeters;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.UserFailure;
import dev.berth.protocol.port.AttemptState;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.log.FailureCounts;
import dev.berth.replica.log.FailureLog;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.replica.slots.SlotLedger;
import java.time.InstantSource;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Thread-safe state of a replica that its requests use, on all of its loops: name, slots, limits,
 * logs and counters. Does not know the lifecycle, which belongs to {@code Replica}.
 */
abstract class ReplicaRuntime {
  private final String replicaId;
  private final DeploymentId deployment;
  private final ReplicaAddress address;
  final boolean isUpstream; // it represents a remote server, whose exchange bounds a slot
  final SlotLedger slots;
  final RemoteWaiters refused;
  final LedgerLimits ledgerLimits;
  final LongSupplier nanoClock;
  final FailureLog failures;
  final InstantSource wallClock;
  private final UserMeters meters;
  final Logger userLog; // logger of the user code
  volatile ReplicaLimits limits; // present limits

  /** Time at which a draining replica is killed, on the nano clock; null for none. */
  volatile @Nullable Long graceEndsNanos;

  private final FailureCounts errors = new FailureCounts(FailureLog.MAX_CLASSES);

  /** Requests whose deadline passed while they ran. */
  public final LongAdder timeouts = new LongAdder();

  /** Batches of its handlers; null unless the deployment batches. */
  final @Nullable BatchRunner batches;

  private final AtomicInteger zombies = new AtomicInteger();

  /** Loops blocked for longer than cancel_grace_s by a request that is not a zombie yet. */
  final Set<Integer> blocksLoops = ConcurrentHashMap.newKeySet();

  ReplicaRuntime(
      ReplicaSpec spec,
      ReplicaAddress address,
      SlotLedger slots,
      InstanceDependencies instance,
      ReplicaLimits limits) {
    this.replicaId = spec.replicaId(); // the spec is not retained: it references user code
    this.deployment = spec.deployment();
    this.address = address;
    this.isUpstream = !spec.upstream().isEmpty();
    this.slots = slots;
    this.limits = spec.limits() == null ? limits : spec.limits();
    this.ledgerLimits = slots.limits();
    this.nanoClock = instance.nanoClock();
    this.wallClock = instance.wallClock();
    this.meters = new UserMeters(spec.deployment(), spec.replicaId());
    this.userLog =
        LoggerFactory.getLogger(spec.deployment().application() + "." + spec.deployment().name());
    this.failures = new FailureLog(spec.deployment(), spec.replicaId(), nanoClock);
    BatchSettings batching = this.limits.batching();
    this.batches = batching == null ? null : new BatchRunner(this, batching);
    this.refused =
        new RemoteWaiters(instance.bus(), instance.nanoClock(), spec.epoch(), this.limits, batches);
  }

  // --- callbacks of the lifecycle ---

  /** Called when the number of zombies changed, on any loop of the replica. */
  abstract void lingeringChanged();

  /** Called when a request failed in the handler, on any loop of the replica. */
  abstract void requestFailed(String how);

  /**
   * Called when user code failed by an exception that is not a {@code BerthException}, on any loop
   * of the replica.
   */
  abstract void handlerFailed(Throwable cause);

  /** Returns the ledger of requests without a slot; null if none were ever permitted. */
  abstract @Nullable SlotLedger slotless();

  // --- properties ---

  public String replicaId() {
    return replicaId;
  }

  public DeploymentId deployment() {
    return deployment;
  }

  /** Returns the address of its messages, which is the loop of its first seat. */
  public ReplicaAddress address() {
    return address;
  }

  /** Returns the slots, for the routers of this instance. */
  public SlotLedger slots() {
    return slots;
  }

  /** Returns the meters of its user code. */
  public UserMeters meters() {
    return meters;
  }

  long epoch() {
    return address.epoch();
  }

  int ordinal() {
    return address.ordinal();
  }

  long load() {
    return slots.load();
  }

  // --- reports of its invocations ---

  /**
   * Frees RUNNING slots or hands them off to a waiter: the only place where a request releases its
   * slots.
   */
  void settleSlots(int n) {
    if (!refused.completing(slots, n)) {
      slots.complete(n);
    }
  }

  /** Ends a request: frees its n slots, or its place among the requests without a slot. */
  void settle(boolean isSlotless, int n) {
    SlotLedger beside = isSlotless ? slotless() : null;
    if (beside == null) {
      settleSlots(n);
    } else {
      beside.complete(n);
    }
  }

  /** Prevents the late arrival of an attempt, with or without a slot; see {@link Slots#recall}. */
  AttemptState recall(AttemptId attempt) {
    SlotLedger beside = slotless();
    AttemptState known = slots.recall(attempt);
    AttemptState other = beside == null ? AttemptState.NEVER : beside.recall(attempt);
    return switch (other) {
      case NEVER, REVOKED, REFUSED -> known;
      case GRANTED, LEASED, FORGOTTEN -> other;
    };
  }

  /** Releases an attempt, with or without a slot; see {@link Slots#release}. */
  void release(AttemptId attempt) {
    SlotLedger beside = slotless();
    slots.release(attempt);
    if (beside != null) {
      beside.release(attempt);
    }
  }

  void timedOut() {
    timeouts.increment();
  }

  void zombieFound() {
    zombies.incrementAndGet();
    lingeringChanged();
  }

  void zombieSettled() {
    zombies.decrementAndGet();
    lingeringChanged();
  }

  /** Returns whether the zombies exceed their maximum. */
  boolean isLingering() {
    return zombies() > limits.maxZombieRequests();
  }

  /**
   * Returns the caller's error for a failure of user code: a {@code BerthException} as it is,
   * without internals otherwise.
   *
   * @param request the failed request
   */
  BerthException failureOf(Throwable failure, RequestContext request) {
    Throwable cause = failure;
    // A blocking handler that waited for a call receives the failure wrapped.
    for (int depth = 0; depth < UserFailure.MAX_CAUSES && isWrapper(cause); depth++) {
      Throwable inner = UserFailure.legible(cause).getCause();
      cause = inner == null ? cause : inner;
    }
    errors.add(cause);
    if (cause instanceof BerthException expected) {
      return expected;
    }
    failures.add("handler failed", cause, request);
    handlerFailed(cause);
    return new BerthException.HandlerFailed("replica " + replicaId() + ": handler failed", cause);
  }

  private static boolean isWrapper(Throwable failure) {
    return failure instanceof CompletionException || failure instanceof ExecutionException;
  }

  /**
   * Returns the maximum time of a renewed lease, which ends before a draining replica is killed.
   */
  long renewableNanos(long ttlNanos) {
    long bounded = Math.min(ttlNanos, ledgerLimits.maxTtlNanos());
    Long ends = graceEndsNanos;
    return ends == null ? bounded : Math.min(bounded, ends - nanoClock.getAsLong());
  }

  // --- limits ---

  /** Returns the present limits. */
  public ReplicaLimits limits() {
    return limits;
  }

  // --- metrics ---

  /** Returns the number of requests whose handler failed, by class of the failure. */
  public Map<String, Long> errors() {
    return errors.sums();
  }

  /**
   * Returns the number of zombies. Loops that a handler blocks for as long, which no cancel can
   * reach, count too.
   */
  public int zombies() {
    return zombies.get() + blocksLoops.size();
  }
}
