package dev.berth.routing.slots;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One wait for a slot, until the pump has one for it, its caller cancels, or its deadline passes:
 * whoever ends it first, by one CAS, wins.
 *
 * <p>The links belong to whoever runs the pump. One that is not in line is linked to itself.
 */
public final class Waiter {
  final Waiting owner;
  final long sequence; // orders the queue; kept when a request waits again
  private final AtomicBoolean waiting = new AtomicBoolean(true);

  Waiter before = this;
  Waiter after = this;

  Waiter(Waiting owner, long sequence) {
    this.owner = owner;
    this.sequence = sequence;
  }

  /** What is before the first in line, and behind the last: nobody's. */
  @SuppressWarnings("NullAway")
  static Waiter ends() {
    return new Waiter(null, 0);
  }

  /** Stands in line behind another. */
  void link(Waiter ahead) {
    before = ahead;
    after = ahead.after;
    after.before = this;
    ahead.after = this;
  }

  /** Leaves the line; nothing when it is in none. */
  void unlink() {
    before.after = after;
    after.before = before;
    before = this;
    after = this;
  }

  boolean waiting() {
    return waiting.get();
  }

  /** Ends the wait; false when it had ended. */
  boolean end() {
    return waiting.compareAndSet(true, false);
  }
}
