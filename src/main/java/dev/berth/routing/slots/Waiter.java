package dev.berth.routing.slots;

import dev.berth.protocol.BatchSettings;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * A single wait for a slot. The pump grants a slot, the caller cancels, or the deadline passes: one
 * CAS decides which of these events ends the wait.
 *
 * <p>Only the thread that runs the pump of the {@link WaiterQueue} uses the links. A waiter outside
 * the queue is linked to itself.
 */
public final class Waiter {
  static final long NEVER = Long.MIN_VALUE;

  private static final AtomicIntegerFieldUpdater<Waiter> ENDED =
      AtomicIntegerFieldUpdater.newUpdater(Waiter.class, "ended");

  final WaiterOwner owner;
  final int cost;
  final @Nullable String batchKey; // null if the request runs alone
  BatchForming.@Nullable KeyLine line; // of its key, once linked; used by the runner
  @Nullable BatchSettings rules; // at that time, of a batch that begins with it
  long overtakenNanos = NEVER; // since when younger waiters have taken slots; used by the runner
  final long sequence; // place in the queue; kept when a request waits again
  private volatile int ended; // 1 after the end

  Waiter before = this;
  Waiter after = this;

  Waiter(WaiterOwner owner, long sequence) {
    this.owner = owner;
    this.cost = owner == null ? 1 : owner.cost();
    this.batchKey = owner == null ? null : owner.batchKey();
    this.sequence = sequence;
  }

  /** Returns the sentinel before the head and after the tail. The sentinel has no owner. */
  @SuppressWarnings("NullAway")
  static Waiter ends() {
    return new Waiter(null, 0);
  }

  /**
   * Inserts the waiter at the place of its sequence. This is nearly always the tail; a request that
   * waits again goes to its old place.
   */
  void linkInOrder(Waiter ends) {
    Waiter ahead = ends.before;
    while (ahead.sequence > sequence) { // the sentinel has the lowest
      ahead = ahead.before;
    }
    before = ahead;
    after = ahead.after;
    after.before = this;
    ahead.after = this;
  }

  /** Removes the waiter from the queue; no effect outside it. */
  void unlink() {
    before.after = after;
    after.before = before;
    before = this;
    after = this;
  }

  boolean isLinked() {
    return after != this;
  }

  /** Returns whether the slots of a completed request may go to the waiter in one step. */
  boolean takesSlotsOf(RoutedReplica replica) {
    return waiting()
        && batchKey == null
        && !owner.paused()
        && owner.accepts(replica)
        && replica.limits.hasRoom(owner.limit());
  }

  boolean waiting() {
    return ended == 0;
  }

  /** Ends the wait; returns false if the wait had ended before. */
  boolean end() {
    return ENDED.compareAndSet(this, 0, 1);
  }
}
