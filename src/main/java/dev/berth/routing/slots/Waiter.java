package dev.berth.routing.slots;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One wait for a slot, until the pump has one for it, its caller cancels, or its deadline passes:
 * whoever ends it first, by one CAS, wins.
 *
 * <p>The links and {@code linked} belong to whoever runs the pump.
 */
public final class Waiter {
  final Waiting owner;
  final long sequence; // orders the queue; kept when a request waits again
  private final AtomicBoolean waiting = new AtomicBoolean(true);

  @Nullable Waiter before;
  @Nullable Waiter after;
  boolean linked;

  Waiter(Waiting owner, long sequence) {
    this.owner = owner;
    this.sequence = sequence;
  }

  boolean waiting() {
    return waiting.get();
  }

  /** Ends the wait; false when it had ended. */
  boolean end() {
    return waiting.compareAndSet(true, false);
  }
}
