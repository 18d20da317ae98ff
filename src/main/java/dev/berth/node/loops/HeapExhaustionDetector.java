package dev.berth.node.loops;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Detector of heap exhaustion in a live process. Either of two conditions counts if it lasts for 10
 * s: collections find the live set above 95 % of its pool, or the collector takes 98 % of the time.
 *
 * <p>The usage of a pool is evidence only right after a collection of that pool. A collection that
 * finds less, or one observation with less collector time, restarts the 10 s. Confined to its
 * caller.
 */
public final class HeapExhaustionDetector {
  /** Minimum duration of a condition before the heap counts as exhausted. */
  public static final long EXHAUSTION_PERIOD_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final double FULL = 0.95;
  private static final double COLLECTING = 0.98;

  /** Minimum number of full collections: one pause alone may be long. */
  private static final int MIN_COLLECTIONS = 3;

  /**
   * Observation of the heap at one time.
   *
   * @param liveBytes usage of the oldest pool after its last collection
   * @param maxBytes maximum size of the pool
   * @param collections number of full collections since start
   * @param gcMillis time that collections paused the process since start
   */
  public record HeapObservation(
      long liveBytes, long maxBytes, long collections, long gcMillis, long nowNanos) {}

  private @Nullable HeapObservation before;
  private boolean full;
  private long fullSinceNanos;
  private boolean collecting;
  private HeapObservation collectingSince = new HeapObservation(0, 0, 0, 0, 0);

  /** Returns why the process should end; null when it should continue. */
  @Nullable String of(HeapObservation now) {
    HeapObservation last = before;
    before = now;
    if (last == null) {
      return null;
    }
    boolean fresh = now.collections != last.collections || now.liveBytes != last.liveBytes;
    if (fresh && isFull(now)) {
      return "the live set is "
          + Math.round(100.0 * now.liveBytes / now.maxBytes)
          + " % of the "
          + now.maxBytes
          + " bytes allowed, for 10 s";
    }
    return onlyCollects(last, now) ? "the collector takes 98 % of the time, for 10 s" : null;
  }

  /**
   * Returns whether the pool was full for 10 s without a new collection: the caller should request
   * one.
   */
  public boolean wantsCollection(long nowNanos) {
    return full && nowNanos - fullSinceNanos >= EXHAUSTION_PERIOD_NANOS;
  }

  private boolean isFull(HeapObservation now) {
    if (now.liveBytes <= now.maxBytes * FULL) {
      full = false;
    } else if (!full) {
      full = true;
      fullSinceNanos = now.nowNanos;
    }
    return full && now.nowNanos - fullSinceNanos >= EXHAUSTION_PERIOD_NANOS;
  }

  private boolean onlyCollects(HeapObservation last, HeapObservation now) {
    long gcNanos = TimeUnit.MILLISECONDS.toNanos(now.gcMillis - last.gcMillis);
    if (gcNanos < (now.nowNanos - last.nowNanos) * COLLECTING) {
      collecting = false;
    } else if (!collecting) {
      collecting = true;
      collectingSince = last;
    }
    return collecting
        && now.nowNanos - collectingSince.nowNanos >= EXHAUSTION_PERIOD_NANOS
        && now.collections - collectingSince.collections >= MIN_COLLECTIONS;
  }
}
