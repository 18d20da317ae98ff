package dev.berth.node.loops;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Whether the heap is so full that the process is of no use any more, though it lives: the live set
 * stayed above 95 % of its pool for 10 s, as collections found it, or the collector took 98 % of
 * the time for as long.
 *
 * <p>What a pool holds is evidence only when a collection has just looked at it. One that found
 * less, or one look at which the collector took less, begins the time anew. Plain: confined to who
 * calls it.
 */
public final class HeapVerdict {
  /** How long it must have been so. */
  public static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final double FULL = 0.95;
  private static final double COLLECTING = 0.98;

  /** One pause may be long; it is a state when one follows the other. */
  private static final int MIN_COLLECTIONS = 3;

  /**
   * What was seen at one time.
   *
   * @param liveBytes of the oldest pool, after the last collection that looked at it
   * @param maxBytes what the pool may grow to
   * @param collections full ones so far
   * @param gcMillis time that the process stood still for collections so far
   */
  public record Sight(
      long liveBytes, long maxBytes, long collections, long gcMillis, long nowNanos) {}

  private @Nullable Sight before;
  private boolean full;
  private long fullSinceNanos;
  private boolean collecting;
  private Sight collectingSince = new Sight(0, 0, 0, 0, 0);

  /** Why the process should end; null when it should not. */
  @Nullable String of(Sight now) {
    Sight last = before;
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
          + " bytes that it may be, for 10 s";
    }
    return onlyCollects(last, now) ? "the collector takes 98 % of the time, for 10 s" : null;
  }

  /** Whether it was full for so long, and no collection has looked at it again: one should. */
  public boolean wantsCollection(long nowNanos) {
    return full && nowNanos - fullSinceNanos >= PATIENCE_NANOS;
  }

  private boolean isFull(Sight now) {
    if (now.liveBytes <= now.maxBytes * FULL) {
      full = false;
    } else if (!full) {
      full = true;
      fullSinceNanos = now.nowNanos;
    }
    return full && now.nowNanos - fullSinceNanos >= PATIENCE_NANOS;
  }

  private boolean onlyCollects(Sight last, Sight now) {
    long gcNanos = TimeUnit.MILLISECONDS.toNanos(now.gcMillis - last.gcMillis);
    if (gcNanos < (now.nowNanos - last.nowNanos) * COLLECTING) {
      collecting = false;
    } else if (!collecting) {
      collecting = true;
      collectingSince = last;
    }
    return collecting
        && now.nowNanos - collectingSince.nowNanos >= PATIENCE_NANOS
        && now.collections - collectingSince.collections >= MIN_COLLECTIONS;
  }
}
