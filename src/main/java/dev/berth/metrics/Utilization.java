package dev.berth.metrics;

import java.util.concurrent.TimeUnit;

/**
 * Share of a replica's slots that were in use over a window, estimated by samples of busy slots and
 * of all slots. Requests pay nothing, a long request counts while it runs, and a changed number of
 * slots counts from its change on. Thread-safe by locking, since it is rarely called.
 *
 * <p>Source: Ray Serve's {@code serve_replica_utilization_percent}, user time / (window * slots)
 * over 600 s. The mean number of busy slots is the same figure; Ray adds a request when it ends.
 */
public final class Utilization {
  /** Length of the window in nanoseconds. */
  public static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(600);

  private static final int STEPS = 60;
  private static final long STEP_NANOS = WINDOW_NANOS / STEPS;

  private final long[] numbers = new long[STEPS]; // number of the step in each place
  private final long[] busy = new long[STEPS];
  private final long[] slots = new long[STEPS];

  public Utilization() {
    java.util.Arrays.fill(numbers, Long.MIN_VALUE);
  }

  /**
   * Records a sample. Samples should be evenly spaced.
   *
   * @param now nanoseconds, always on the same clock
   */
  public synchronized void sample(int busyNow, int slotsNow, long now) {
    long number = Math.floorDiv(now, STEP_NANOS);
    int place = (int) Math.floorMod(number, (long) STEPS);
    if (numbers[place] != number) {
      numbers[place] = number;
      busy[place] = 0;
      slots[place] = 0;
    }
    busy[place] += busyNow;
    slots[place] += slotsNow;
  }

  /** Returns the share for the window that ends now, or for its sampled part; 0 without samples. */
  public synchronized double share(long now) {
    long newest = Math.floorDiv(now, STEP_NANOS);
    long busySum = 0;
    long slotsSum = 0;
    for (int place = 0; place < STEPS; place++) {
      if (numbers[place] > newest - STEPS && numbers[place] <= newest) {
        busySum += busy[place];
        slotsSum += slots[place];
      }
    }
    return slotsSum == 0 ? 0 : (double) busySum / slotsSum;
  }
}
