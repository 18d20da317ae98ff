package dev.berth.metrics;

import java.util.concurrent.TimeUnit;

/**
 * How much of its slots a replica used of late, by samples: slots in use at a moment against slots
 * there were. A request costs nothing here, one that runs for an hour counts while it runs, and a
 * changed number of slots counts from then on. Any thread; rarely called, so it locks.
 *
 * <p>Source: Ray Serve's {@code serve_replica_utilization_percent}, user time / (window * slots)
 * over 600 s. The mean number of busy slots is the same figure; Ray adds a request when it ends.
 */
public final class Utilization {
  /** How far it looks back. */
  public static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(600);

  private static final int STEPS = 60;
  private static final long STEP_NANOS = WINDOW_NANOS / STEPS;

  private final long[] numbers = new long[STEPS]; // of the step each place holds
  private final long[] busy = new long[STEPS];
  private final long[] slots = new long[STEPS];

  public Utilization() {
    java.util.Arrays.fill(numbers, Long.MIN_VALUE);
  }

  /**
   * One sample; the time between two of them should be about the same.
   *
   * @param now nanoseconds on any clock, always the same
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

  /** The share of the window that ends now, or of what was sampled of it; 0 when nothing was. */
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
