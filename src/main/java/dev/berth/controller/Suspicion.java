package dev.berth.controller;

import java.util.concurrent.TimeUnit;

/**
 * Whether a replica is kept out of the snapshot since it gave nothing but failures. It comes back
 * by itself after a while, and is then on probation: failing again soon keeps it out for longer.
 *
 * @param times it was kept out, those long ago forgotten
 * @param out whether it was found to fail and has not answered well since
 * @param untilNanos when it comes back, or came back
 */
record Suspicion(int times, boolean out, long untilNanos) {
  /** How long it is kept out, for each time of late. */
  static final long BASE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** The longest it is kept out. */
  static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(300);

  /** So long after it came back it is taken for a good one again. */
  static final long PROBATION_NANOS = TimeUnit.SECONDS.toNanos(300);

  static final Suspicion NONE = new Suspicion(0, false, 0);

  Suspicion suspected(long nowNanos) {
    if (isOut(nowNanos)) {
      return this;
    }
    boolean probation = times > 0 && nowNanos - untilNanos < PROBATION_NANOS;
    int count = probation ? times + 1 : 1;
    return new Suspicion(count, true, nowNanos + Math.min(MAX_NANOS, count * BASE_NANOS));
  }

  /** It answers well again. */
  Suspicion cleared(long nowNanos) {
    return isOut(nowNanos) ? new Suspicion(times, false, nowNanos) : this;
  }

  boolean isOut(long nowNanos) {
    return out && untilNanos - nowNanos > 0;
  }
}
