package dev.berth.fakes;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * A nano clock that moves only when told to. It starts five seconds before {@link Long#MAX_VALUE},
 * as {@link System#nanoTime} may, so that comparing times by anything but their difference fails
 * soon. Any thread.
 */
public final class ManualClock implements LongSupplier {
  private final AtomicLong now;

  public ManualClock() {
    this(Long.MAX_VALUE - Duration.ofSeconds(5).toNanos());
  }

  public ManualClock(long startNanos) {
    this.now = new AtomicLong(startNanos);
  }

  @Override
  public long getAsLong() {
    return now.get();
  }

  public void advance(Duration by) {
    advanceNanos(by.toNanos());
  }

  public void advanceNanos(long by) {
    if (by < 0) {
      throw new IllegalArgumentException("by: " + by + " (expected: >= 0)");
    }
    now.addAndGet(by);
  }
}
