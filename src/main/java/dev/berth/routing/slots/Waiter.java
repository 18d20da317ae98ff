package dev.berth.routing.slots;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A single wait for a slot. The pump grants a slot, the caller cancels, or the deadline passes: one
 * CAS decides which of them ends the wait.
 *
 * <p>The links are confined to the runner of the pump. A waiter outside the queue is linked to
 * itself.
 */
public final class Waiter {
  final Waiting owner;
  final long sequence; // queue order; retained when a request waits again
  private final AtomicBoolean waiting = new AtomicBoolean(true);

  Waiter before = this;
  Waiter after = this;

  Waiter(Waiting owner, long sequence) {
    this.owner = owner;
    this.sequence = sequence;
  }

  /** Returns the sentinel before the head and after the tail; it has no owner. */
  @SuppressWarnings("NullAway")
  static Waiter ends() {
    return new Waiter(null, 0);
  }

  /** Inserts the waiter behind another. */
  void link(Waiter ahead) {
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

  boolean waiting() {
    return waiting.get();
  }

  /** Ends the wait; returns false if it had ended. */
  boolean end() {
    return waiting.compareAndSet(true, false);
  }
}
