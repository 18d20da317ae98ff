package dev.berth.metrics;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The largest value of late: of a window that moves on in steps. One thread adds, any thread reads;
 * a reader that meets a step sees the window with or without it.
 *
 * <p>Source: Ray Serve's {@code serve_deployment_max_processing_latency_ms}: 60 s in 6 buckets.
 */
public final class RollingMax {
  private final long stepNanos;
  private final int steps;
  private final AtomicLongArray numbers; // of the step each place holds
  private final AtomicLongArray maxima;

  // The owning thread's: the step it is in, so that nothing is divided while it lasts.
  private long stepEnds;
  private int place = -1;

  /**
   * @param windowNanos how far it looks back, at most
   * @param steps parts the window moves on by
   */
  public RollingMax(long windowNanos, int steps) {
    if (steps < 1 || windowNanos < steps) {
      throw new IllegalArgumentException(
          "steps: %s (expected: 1 to the nanoseconds of the window, %s)"
              .formatted(steps, windowNanos));
    }
    this.stepNanos = windowNanos / steps;
    this.steps = steps;
    this.numbers = new AtomicLongArray(steps);
    this.maxima = new AtomicLongArray(steps);
    for (int i = 0; i < steps; i++) {
      numbers.setPlain(i, Long.MIN_VALUE);
    }
  }

  /**
   * One value of 0 or more; by the owning thread only.
   *
   * @param now nanoseconds on any clock, always the same
   */
  public void add(long value, long now) {
    if (place < 0 || now - stepEnds >= 0) {
      step(value, now);
    } else if (value > maxima.getPlain(place)) {
      maxima.setRelease(place, value);
    }
  }

  private void step(long first, long now) {
    long number = Math.floorDiv(now, stepNanos);
    place = (int) Math.floorMod(number, (long) steps);
    stepEnds = (number + 1) * stepNanos;
    maxima.setRelease(place, first); // before its number: the old one is none of the new step's
    numbers.setRelease(place, number);
  }

  /** The largest value of the window that ends now; 0 when there is none. Any thread. */
  public long max(long now) {
    long newest = Math.floorDiv(now, stepNanos);
    long max = 0;
    for (int i = 0; i < steps; i++) {
      long number = numbers.getAcquire(i);
      if (number > newest - steps && number <= newest) {
        max = Math.max(max, maxima.getAcquire(i));
      }
    }
    return max;
  }
}
