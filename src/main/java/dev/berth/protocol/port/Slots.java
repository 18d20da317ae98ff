package dev.berth.protocol.port;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import org.jspecify.annotations.Nullable;

/**
 * The slots of one replica, at the instance that hosts it. Any thread may call; nothing blocks.
 *
 * <p>Contract: (1) no grant when {@code ongoing >= maxOngoing} or draining; (2) every grant ends in
 * exactly one complete, release or expiry; (3) an attempt is granted at most once; (4) after every
 * freed slot the {@link SlotObserver} is told, after the state is settled.
 */
public interface Slots {

  /** Slots; may be changed live. */
  int maxOngoing();

  /** Reserved and running. */
  int ongoing();

  /** Whether nothing new is granted. */
  boolean draining();

  /** FREE to RUNNING for the caller, who owes one {@link #complete}. */
  boolean tryAcquire();

  /**
   * FREE to RUNNING for a request from elsewhere, at most once per attempt.
   *
   * @return null when granted; REVOKED when the attempt was seen or released before; else why not,
   *     and the attempt is remembered so that a late duplicate cannot run
   */
  @Nullable Refusal tryAcquire(AttemptId attempt);

  /**
   * FREE to RESERVED under a lease named by the attempt. A repeated attempt whose lease is still
   * active gets the same lease.
   *
   * @param ttlNanos from now; cut to the ledger's maximum
   */
  Reservation reserve(AttemptId attempt, long ttlNanos);

  /**
   * FREE to RESERVED for a hand-over inside this instance: a lease that no message names.
   *
   * @return null when nothing is free
   */
  @Nullable SlotLease hold(long ttlNanos);

  /**
   * RUNNING to RESERVED in one step: the caller's request is complete and its slot is held for the
   * next. Counts as a complete and a grant.
   *
   * @return null when the replica drains or is over a lowered max; then nothing changed, and the
   *     caller still owes its {@link #complete}
   */
  @Nullable SlotLease completeAndHold(long ttlNanos);

  /** RUNNING to FREE, once for each slot that was made RUNNING. */
  void complete();

  /**
   * Consumes the lease of a token that came over the wire.
   *
   * @param attempt the request's own attempt, at most once as in {@link #tryAcquire(AttemptId)}
   * @return null when the slot now runs the request; else why not
   */
  @Nullable Refusal consume(SlotToken token, AttemptId attempt);

  /**
   * Ends the lease of an attempt, or makes its late arrival REVOKED. True when a slot was freed.
   */
  boolean release(AttemptId attempt);

  /**
   * Makes the late arrival of an attempt REVOKED. One that came already goes on.
   *
   * @return what was known of it: NEVER when it will never run, REFUSED when it did not
   */
  AttemptState recall(AttemptId attempt);

  /**
   * Moves the deadline of a token's lease.
   *
   * @return null when it did; else why not
   */
  @Nullable Refusal renew(SlotToken token, long ttlNanos);

  /** A report of these slots for an answer: see {@link dev.berth.protocol.Load}. */
  long load();

  /** What a reserve came to. */
  sealed interface Reservation {
    record Granted(SlotLease lease) implements Reservation {}

    record Refused(Refusal reason) implements Reservation {}
  }
}
