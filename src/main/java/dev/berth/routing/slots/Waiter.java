package dev.berth.routing.slots;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One wait for a slot. Its state is atomic, and whoever leaves WAITING wins:
 *
 * <pre>
 *   WAITING --the pump has a slot for it--> GRANTED
 *           --the caller cancels--> CANCELLED
 *           --its deadline passes--> EXPIRED
 * </pre>
 *
 * The links and {@code linked} belong to whoever runs the pump.
 */
public final class Waiter {
  private static final int WAITING = 0;
  private static final int GRANTED = 1;
  private static final int CANCELLED = 2;
  private static final int EXPIRED = 3;

  final Waiting owner;
  final long sequence; // orders the queue; kept when a request waits again
  private final AtomicInteger state = new AtomicInteger(WAITING);

  @Nullable Waiter before;
  @Nullable Waiter after;
  boolean linked;

  Waiter(Waiting owner, long sequence) {
    this.owner = owner;
    this.sequence = sequence;
  }

  boolean waiting() {
    return state.get() == WAITING;
  }

  boolean grant() {
    return state.compareAndSet(WAITING, GRANTED);
  }

  boolean cancel() {
    return state.compareAndSet(WAITING, CANCELLED);
  }

  boolean expire() {
    return state.compareAndSet(WAITING, EXPIRED);
  }
}
