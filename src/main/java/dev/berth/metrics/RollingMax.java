package dev.berth.metrics;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Maximum of the last minute, over a window that advances in steps of ten seconds. One thread
 * writes, and any thread reads. A reader concurrent with a step sees the window before or after it.
 *
 * <p>Source: Ray Serve's {@code serve_deployment_max_processing_latency_ms}: 60 s in 6 buckets.
 */
final class RollingMax {
  static final int STEPS = 6;
  static final long STEP_NANOS = TimeUnit.SECONDS.toNanos(60) / STEPS;

  // number of the step in each place
  private final AtomicLongArray numbers = new AtomicLongArray(STEPS);
  private final AtomicLongArray maxima = new AtomicLongArray(STEPS);

  // Current step of the writer thread, which saves a division per value.
  private long stepEnds;
  private int place = -1;

  RollingMax() {
    for (int i = 0; i < STEPS; i++) {
      numbers.setPlain(i, Long.MIN_VALUE);
    }
  }

  /**
   * Records a value of 0 or more. Confined to the writer thread.
   *
   * @param now nanoseconds, always on the same clock
   */
  void add(long value, long now) {
    if (place < 0 || now - stepEnds >= 0) {
      step(value, now);
    } else if (value > maxima.getPlain(place)) {
      maxima.setRelease(place, value);
    }
  }

  private void step(long first, long now) {
    long number = Math.floorDiv(now, STEP_NANOS);
    place = (int) Math.floorMod(number, (long) STEPS);
    stepEnds = (number + 1) * STEP_NANOS;
    maxima.setRelease(place, first); // before its number: the old value is not part of the new step
    numbers.setRelease(place, number);
  }

  /** Returns the maximum of the window that ends now; 0 if it is empty. Thread-safe. */
  long max(long now) {
    long newest = Math.floorDiv(now, STEP_NANOS);
    long max = 0;
    for (int i = 0; i < STEPS; i++) {
      long number = numbers.getAcquire(i);
      if (number > newest - STEPS && number <= newest) {
        max = Math.max(max, maxima.getAcquire(i));
      }
    }
    return max;
  }
}
