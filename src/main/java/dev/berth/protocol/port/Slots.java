package dev.berth.protocol.port;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import org.jspecify.annotations.Nullable;

/**
 * The slots of one replica, at the instance that hosts it. Thread-safe; never blocks.
 *
 * <p>Contract: (1) No grant when {@code ongoing >= maxOngoing} or draining. (2) Every grant ends in
 * exactly one complete, release or expiry. (3) An attempt is granted at most once. (4) Each freed
 * slot is reported to the {@link SlotObserver}, after the state has changed.
 */
public interface Slots {

  /** Returns the number of slots, which may change at any time; 0 while the replica is closed. */
  int maxOngoing();

  /** Returns the number of reserved and running slots. */
  int ongoing();

  /** Returns whether the replica grants nothing new. */
  boolean draining();

  /**
   * Moves a slot from FREE to RUNNING for the caller. Each success requires one {@link #complete}.
   */
  boolean tryAcquire();

  /**
   * Moves a slot from FREE to RUNNING for a remote request, at most once per attempt. A refused
   * attempt is recorded so that a late duplicate cannot run.
   *
   * @return null when granted, REVOKED when the attempt is already known or was released before,
   *     else the reason for the refusal
   */
  @Nullable Refusal tryAcquire(AttemptId attempt);

  /**
   * Moves a slot from FREE to RESERVED under a lease of the attempt. A repeated attempt whose lease
   * is still active returns the same lease.
   *
   * @param ttlNanos time to live from now; limited to the ledger's maximum
   */
  ReserveResult reserve(AttemptId attempt, long ttlNanos);

  /**
   * Moves a slot from FREE to RESERVED for a hand-off inside this instance, under a lease without
   * an attempt id.
   *
   * @return null when no slot is free
   */
  @Nullable SlotLease hold(long ttlNanos);

  /**
   * Moves the caller's slot from RUNNING to RESERVED in one step: the caller's request is complete
   * and the slot is reserved for the next. Counts as a complete and a grant.
   *
   * @return null when the replica drains or exceeds a lowered maximum; then nothing has changed,
   *     and {@link #complete} is still required
   */
  @Nullable SlotLease completeAndHold(long ttlNanos);

  /** Moves a slot from RUNNING to FREE. Called once for each slot that became RUNNING. */
  void complete();

  /**
   * Consumes the lease of a token that was received in a message.
   *
   * @param attempt the request's own attempt, granted at most once as in {@link
   *     #tryAcquire(AttemptId)}
   * @return null when the slot now runs the request; else the reason for the refusal
   */
  @Nullable Refusal consume(SlotToken token, AttemptId attempt);

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
