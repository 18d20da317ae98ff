package dev.berth.metrics;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The largest value of late: of the last minute, a window that moves on in steps of ten seconds.
 * One thread adds, any thread reads; a reader that meets a step sees the window with or without it.
 *
 * <p>Source: Ray Serve's {@code serve_deployment_max_processing_latency_ms}: 60 s in 6 buckets.
 */
final class RollingMax {
  static final int STEPS = 6;
  static final long STEP_NANOS = TimeUnit.SECONDS.toNanos(60) / STEPS;

  private final AtomicLongArray numbers = new AtomicLongArray(STEPS); // of the step each holds
  private final AtomicLongArray maxima = new AtomicLongArray(STEPS);

  // The owning thread's: the step it is in, so that nothing is divided while it lasts.
  private long stepEnds;
  private int place = -1;

  RollingMax() {
    for (int i = 0; i < STEPS; i++) {
      numbers.setPlain(i, Long.MIN_VALUE);
    }
  }

  /**
   * One value of 0 or more; by the owning thread only.
   *
   * @param now nanoseconds on any clock, always the same
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
    maxima.setRelease(place, first); // before its number: the old one is none of the new step's
    numbers.setRelease(place, number);
  }

  /** The largest value of the window that ends now; 0 when there is none. Any thread. */
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
