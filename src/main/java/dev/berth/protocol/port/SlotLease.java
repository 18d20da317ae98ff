package dev.berth.protocol.port;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import org.jspecify.annotations.Nullable;

/**
 * A slot held for someone until a deadline. It ends exactly once, in one of consumed, released,
 * expired; whoever ends it moves the slot. Safe from any thread.
 */
public interface SlotLease {

  SlotToken token();

  /**
   * Gives one that no message names yet a name, so that a router elsewhere may release it, and it
   * ends when that router is lost.
   */
  void name(AttemptId attempt);

  /** When it runs out, on the nano clock of the instance that hosts the replica. */
  long deadlineNanos();

  /**
   * RESERVED to RUNNING. Checks the deadline itself, so it never depends on a sweep.
   *
   * @return null when the slot now runs the caller's request, who owes one {@link Slots#complete};
   *     else why not
   */
  @Nullable Refusal consume();

  /** RESERVED to FREE; false when the lease had ended. */
  boolean release();

  /**
   * Moves the deadline to {@code ttlNanos} from now if that is later.
   *
   * @return false when the lease had ended
   */
  boolean renew(long ttlNanos);

  /** Whether it has not ended and its deadline has not passed. */
  boolean active();
}
