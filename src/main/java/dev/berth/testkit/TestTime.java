package dev.berth.testkit;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Manual clock with its timers. The clock is thread-safe; the timers are confined to the thread
 * that runs the loops.
 */
final class TestTime implements LongSupplier, InstantSource {
  private static final Instant START = Instant.parse("2000-01-01T00:00:00Z");

  /**
   * Timer of a loop. Timers of one moment fire in the order of their numbers, which is their start
   * order.
   */
  private record Timer(
      long atNanos, long number, Executor loop, Runnable task, AtomicBoolean over) {
    void fire() {
      if (over.compareAndSet(false, true)) {
        task.run();
      }
    }
  }

  private final AtomicLong now = new AtomicLong(); // nanoseconds since the start
  private final PriorityQueue<Timer> timers =
      new PriorityQueue<>(
          Comparator.comparingLong(Timer::atNanos).thenComparingLong(Timer::number));
  private long started;

  @Override
  public long getAsLong() {
    return now.get();
  }

  /** Returns the time of day. */
  @Override
  public Instant instant() {
    return START.plus(elapsed());
  }

  Duration elapsed() {
    return Duration.ofNanos(now.get());
  }

  /**
   * Starts a timer of a loop.
   *
   * @return cancels the timer
   */
  Runnable start(Executor loop, long delayNanos, Runnable task) {
    long at = now.get() + delayNanos;
    AtomicBoolean over = new AtomicBoolean();
    Timer timer = new Timer(at < 0 ? Long.MAX_VALUE : at, started++, loop, task, over);
    timers.add(timer);
    return () -> {
      over.set(true);
      timers.remove(timer);
    };
  }

  /** Returns the time of the next timer; {@link Long#MAX_VALUE} when there is none. */
  long next() {
    Timer next = timers.peek();
    return next == null ? Long.MAX_VALUE : next.atNanos;
  }

  /** Returns the number of pending timers. */
  int waiting() {
    return timers.size();
  }

  /** Sets the time, and passes the due timers to their loops. */
  void moveTo(long nanos) {
    now.set(nanos);
    while (next() <= now.get()) {
      Timer due = timers.remove();
      due.loop.execute(due::fire);
    }
  }
}
