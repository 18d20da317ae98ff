package dev.berth.protocol.port;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import org.jspecify.annotations.Nullable;

/**
 * The slots of one replica, at the instance that hosts it. Thread-safe; never blocks.
 *
 * <p>Contract: (1) A grant takes all of its n slots in one step, or none: none when {@code ongoing
 * + n > maxOngoing} or draining. (2) Every granted slot ends in exactly one complete, release or
 * expiry; the slots of a lease end together. (3) An attempt is granted at most once. (4) Freed
 * slots are reported to the {@link SlotObserver}, after the state has changed.
 *
 * <p>Methods without {@code n} are for one slot.
 */
public interface Slots {

  /** Returns the number of slots, which may change at any time; 0 while the replica is closed. */
  int maxOngoing();

  /** Returns the number of reserved and running slots. */
  int ongoing();

  /** Returns whether the replica grants nothing new. */
  boolean draining();

  /** Refuses remote requests as FULL while the free slots are kept for a local waiter. */
  void keepForLocal(boolean kept);

  /**
   * Refuses all requests as FULL, but for offers, while the free slots are kept for a remote
   * router.
   */
  void keepForRemote(boolean kept);

  /**
   * Moves n slots from FREE to RUNNING for the caller. Each success requires one {@link
   * #complete(int)} of as many.
   */
  boolean tryAcquire(int n);

  default boolean tryAcquire() {
    return tryAcquire(1);
  }

  /**
   * Moves n slots from FREE to RUNNING for a remote request, at most once per attempt. A refused
   * attempt is recorded so that a late duplicate cannot run.
   *
   * @return null when granted, REVOKED when the attempt is already known or was released before,
   *     else the reason for the refusal
   */
  @Nullable Refusal tryAcquire(AttemptId attempt, int n);

  default @Nullable Refusal tryAcquire(AttemptId attempt) {
    return tryAcquire(attempt, 1);
  }

  /**
   * Moves n slots from FREE to RESERVED under a lease of the attempt. A repeated attempt whose
   * lease is still active returns the same lease.
   *
   * @param ttlNanos time to live from now; limited to the ledger's maximum
   */
  ReserveResult reserve(AttemptId attempt, int n, long ttlNanos);

  default ReserveResult reserve(AttemptId attempt, long ttlNanos) {
    return reserve(attempt, 1, ttlNanos);
  }

  /**
   * Moves n slots from FREE to RESERVED for a hand-off inside this instance, under a lease without
   * an attempt id.
   *
   * @return null when fewer slots are free
   */
  @Nullable SlotLease hold(int n, long ttlNanos);

  default @Nullable SlotLease hold(long ttlNanos) {
    return hold(1, ttlNanos);
  }

  /**
   * Completes the caller's request and reserves slots for the next one in one step. Counts as a
   * complete and a grant.
   *
   * @param done slots of the caller's request
   * @param next slots of the next request
   * @return null when the replica drains, or the next request does not fit; then nothing has
   *     changed, and {@link #complete} is still required
   */
  @Nullable SlotLease completeAndHold(int done, int next, long ttlNanos);

  default @Nullable SlotLease completeAndHold(long ttlNanos) {
    return completeAndHold(1, 1, ttlNanos);
  }

  /** Moves n slots from RUNNING to FREE. Called once for each grant that became RUNNING. */
  void complete(int n);

  default void complete() {
    complete(1);
  }

  /**
   * Consumes the lease of a token that was received in a message.
   *
   * @param attempt the request's own attempt, granted at most once as in {@link
   *     #tryAcquire(AttemptId, int)}
   * @param n slots of the request; a lease of another number of slots is refused as unknown
   * @return null when the slots now run the request; else the reason for the refusal
   */
  @Nullable Refusal consume(SlotToken token, AttemptId attempt, int n);

  default @Nullable Refusal consume(SlotToken token, AttemptId attempt) {
    return consume(token, attempt, 1);
  }

  /**
   * Ends the lease of an attempt, or refuses its late arrival with REVOKED. Returns whether a slot
   * was freed.
   */
  boolean release(AttemptId attempt);

  /**
   * Refuses the late arrival of an attempt with REVOKED. An attempt that has arrived continues.
   *
   * @return the state before: NEVER when the attempt will never run, REFUSED when it did not run
   */
  AttemptState recall(AttemptId attempt);

  /**
   * Moves the deadline of a token's lease.
   *
   * @return null when the deadline was moved; else the reason for the refusal
   */
  @Nullable Refusal renew(SlotToken token, long ttlNanos);

  /** Returns a report of these slots for a reply: see {@link dev.berth.protocol.LoadReport}. */
  long load();

  /** The result of a reserve. */
  sealed interface ReserveResult {
    record ReserveGranted(SlotLease lease) implements ReserveResult {}

    record ReserveRefused(Refusal reason) implements ReserveResult {}
  }
}
