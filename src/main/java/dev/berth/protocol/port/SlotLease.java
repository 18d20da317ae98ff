package dev.berth.protocol.port;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import org.jspecify.annotations.Nullable;

/**
 * One or more slots of a replica, reserved until a deadline. A lease ends exactly once: consumed,
 * released or expired. The thread that ends the lease changes the state of its slots. Thread-safe.
 */
public interface SlotLease {

  SlotToken token();

  /**
   * Assigns an attempt id to a lease that no message names yet. A remote router may then release
   * the lease, which also ends when that router is lost.
   */
  void name(AttemptId attempt);

  /** Returns the deadline on the nano clock of the instance that hosts the replica. */
  long deadlineNanos();

  /**
   * Moves the slots from RESERVED to RUNNING. Checks the deadline itself, so the result never
   * depends on a sweep.
   *
   * @return null when the slots now run the caller's request, which requires one {@link
   *     Slots#complete(int)}; else the reason for the refusal
   */
  @Nullable Refusal consume();

  /** Moves the slots from RESERVED to FREE. Returns false when the lease had ended. */
  boolean release();

  /**
   * Moves the deadline to {@code ttlNanos} from now if that is later.
   *
   * @return false when the lease had ended
   */
  boolean renew(long ttlNanos);

  /** Returns whether the lease has not ended and its deadline has not passed. */
  boolean active();
}
