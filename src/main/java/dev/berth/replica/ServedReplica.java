package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.RequestContext;
import dev.berth.metrics.UserMeters;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.UserFailure;
import dev.berth.protocol.port.InstancePorts;
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
 * A replica as its requests see it, on all of its loops: its name, its slots and bounds, where it
 * logs, and what is counted of them. Its life is {@code Replica}'s, which this does not know. Any
 * thread.
 */
abstract class ServedReplica {
  private final String replicaId;
  private final DeploymentId deployment;
  private final ReplicaAddress address;
  final SlotLedger slots;
  final RefusedRouters refused;
  final LedgerLimits ledgerLimits;
  final LongSupplier nanoClock;
  final FailureLog failures;
  final InstantSource wallClock;
  private final UserMeters meters;
  final Logger userLog; // where its user code logs
  volatile ReplicaLimits limits; // what it is held to from now on

  /** When a draining replica is killed, on the nano clock; null while there is no such time. */
  volatile @Nullable Long graceEndsNanos;

  private final FailureCounts errors = new FailureCounts(FailureLog.MAX_CLASSES);
  private final LongAdder timeouts = new LongAdder();
  private final AtomicInteger zombies = new AtomicInteger();

  /** Loops that a request which is no zombie yet has blocked for longer than cancel_grace_s. */
  final Set<Integer> blocksLoops = ConcurrentHashMap.newKeySet();

  ServedReplica(
      ReplicaSpec spec,
      ReplicaAddress address,
      SlotLedger slots,
      InstancePorts instance,
      ReplicaLimits limits) {
    this.replicaId = spec.replicaId(); // of the spec no more: it holds on to user code
    this.deployment = spec.deployment();
    this.address = address;
    this.slots = slots;
    this.limits = spec.limits() == null ? limits : spec.limits();
    this.refused =
        new RefusedRouters(instance.bus(), instance.nanoClock(), spec.epoch(), this.limits);
    this.ledgerLimits = slots.limits();
    this.nanoClock = instance.nanoClock();
    this.wallClock = instance.wallClock();
    this.meters = new UserMeters(spec.deployment(), spec.replicaId());
    this.userLog =
        LoggerFactory.getLogger(spec.deployment().application() + "." + spec.deployment().name());
    this.failures = new FailureLog(spec.deployment(), spec.replicaId(), nanoClock);
  }

  // --- what its life makes of it ---

  /** More or fewer cancelled requests have not settled in their grace. On any of its loops. */
  abstract void lingeringChanged();

  /** A request failed in its hands. On any of its loops. */
  abstract void requestFailed(String how);

  /** User code failed, by other than an error of ours. On any of its loops. */
  abstract void handlerFailed(Throwable cause);

  // --- what it is ---

  public String replicaId() {
    return replicaId;
  }

  public DeploymentId deployment() {
    return deployment;
  }

  /** Where its messages go: the loop of its first seat. */
  public ReplicaAddress address() {
    return address;
  }

  /** Its slots, for the routers of this instance. */
  public SlotLedger slots() {
    return slots;
  }

  /** What its user code counts. */
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

  // --- what its invocations tell ---

  /** RUNNING to FREE, or to whoever waits for it: the one place where a request gives its slot. */
  void settleSlot() {
    if (!refused.completing(slots)) {
      slots.complete();
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

  /** Whether more requests linger than may. */
  boolean isLingering() {
    return zombies() > limits.maxZombieRequests();
  }

  /**
   * What a caller is told of a failure of user code: its kind if it is one of ours, no internals.
   *
   * @param request that it is the failure of
   */
  BerthException failureOf(Throwable failure, RequestContext request) {
    Throwable cause = failure;
    // A blocking handler that waited for a call gets it wrapped.
    for (int depth = 0; depth < UserFailure.MOST_CAUSES && isWrapper(cause); depth++) {
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
   * How long a lease may be made to last: never past the time when a draining replica is killed.
   */
  long renewableNanos(long ttlNanos) {
    long bounded = Math.min(ttlNanos, ledgerLimits.maxTtlNanos());
    Long ends = graceEndsNanos;
    return ends == null ? bounded : Math.min(bounded, ends - nanoClock.getAsLong());
  }

  // --- its bounds ---

  /** What it is held to. */
  public ReplicaLimits limits() {
    return limits;
  }

  // --- figures ---

  /** Requests whose handler failed, by the class of the failure. */
  public Map<String, Long> errors() {
    return errors.sums();
  }

  /** Requests whose deadline passed while they ran. */
  public long timeouts() {
    return timeouts.sum();
  }

  /**
   * Cancelled requests that have not settled within their grace, now, and those whose handlers
   * block their loops for as long, which no cancel can reach.
   */
  public int zombies() {
    return zombies.get() + blocksLoops.size();
  }
}
