package dev.berth.routing;

import dev.berth.protocol.port.TickTimer;
import org.jspecify.annotations.Nullable;

/**
 * Deadlines of one event loop, in a wheel of 25 ms buckets. The loop's one tick advances the wheel,
 * so that no request owns a timer, and sleeps while the wheel is empty. A deadline fires at the
 * first tick at or after it. Confined to its loop.
 *
 * <p>Source: Varghese and Lauck 1987, scheme 6 (a wheel with rounds).
 */
public final class DeadlineRing {
  private static final long TICK_NANOS = TickTimer.TICK_NANOS;
  private static final int BUCKETS = 1024; // 25.6 s per turn
  private final @Nullable RingEntry[] buckets = new RingEntry[BUCKETS];
  private final TickTimer.LoopTick ticks;
  private final long origin; // times are differences from this one, so the clock may wrap
  private long tick; // the last tick processed
  private int size;

  DeadlineRing(long now, TickTimer.LoopTick ticks) {
    this.origin = now;
    this.ticks = ticks;
  }

  /** Schedules an entry, or moves a scheduled one. */
  public void schedule(RingEntry entry, long deadlineNanos) {
    cancel(entry);
    ticks.need();
    entry.deadlineNanos = deadlineNanos;
    long due =
        Math.max(Math.floorDiv(deadlineNanos - origin + TICK_NANOS - 1, TICK_NANOS), tick + 1);
    int bucket = (int) (due & (BUCKETS - 1));
    RingEntry head = buckets[bucket];
    entry.bucket = bucket;
    entry.before = null;
    entry.after = head;
    if (head != null) {
      head.before = entry;
    }
    buckets[bucket] = entry;
    size++;
  }

  /** Removes an entry; no effect if it is not scheduled. */
  public void cancel(RingEntry entry) {
    if (entry.bucket < 0) {
      return;
    }
    if (entry.before != null) {
      entry.before.after = entry.after;
    } else {
      buckets[entry.bucket] = entry.after;
    }
    if (entry.after != null) {
      entry.after.before = entry.before;
    }
    entry.before = null;
    entry.after = null;
    entry.bucket = -1;
    size--;
  }

  /** Fires passed deadlines. Callbacks may schedule and cancel entries. */
  void advance(long now) {
    long target = Math.floorDiv(now - origin, TICK_NANOS);
    if (target <= tick) {
      return;
    }
    // After a pause longer than a turn, one turn visits every bucket.
    long from = Math.max(tick + 1, target - BUCKETS + 1);
    tick = target;
    for (long due = from; due <= target; due++) {
      fire((int) (due & (BUCKETS - 1)), now);
    }
  }

  /**
   * Advances, and fires passed deadlines before the next tick too: for a clock that stops in
   * between.
   */
  void advanceExactly(long now) {
    advance(now);
    fire((int) ((tick + 1) & (BUCKETS - 1)), now);
  }

  private void fire(int bucket, long now) {
    RingEntry entry = buckets[bucket];
    while (entry != null) {
      RingEntry next = entry.after;
      if (entry.deadlineNanos - now <= 0) {
        cancel(entry);
        entry.deadlinePassed(now);
        if (next != null && next.bucket != bucket) {
          next = buckets[bucket]; // the callback unlinked the next entry: restart the bucket
        }
      }
      entry = next;
    }
  }

  int size() {
    return size;
  }
}
