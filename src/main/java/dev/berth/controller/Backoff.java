package dev.berth.controller;

import java.util.concurrent.TimeUnit;

/**
 * The wait of a deployment before it starts replicas again. All of its replicas share one wait:
 * failures during the wait do not extend it.
 *
 * @param loops consecutive failures, each after the wait of the previous one
 * @param untilNanos end of the wait; meaningless when {@code loops} is 0
 */
record Backoff(int loops, long untilNanos) {
  /** First wait in nanoseconds; each further one is twice as long. */
  static final long INITIAL_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Maximum wait in nanoseconds, before its jitter. */
  static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(64);

  /** Fixed share of a wait; the rest is random, so that deployments spread out. */
  static final double CERTAIN = 0.5;

  /**
   * Time in nanoseconds without a failure after a wait; the next failure then counts as the first.
   */
  static final long STEADY_NANOS = TimeUnit.SECONDS.toNanos(60);

  static final Backoff NONE = new Backoff(0, 0);

  /**
   * Returns the backoff after a failure.
   *
   * @param ran whether the replica had run: its first replacement then starts without a wait
   * @param chance random number from 0 to 1
   */
  Backoff after(boolean ran, long nowNanos, double chance) {
    if (isWaiting(nowNanos)) {
      return this;
    }
    int before = loops > 0 && nowNanos - untilNanos >= STEADY_NANOS ? 0 : loops;
    int doublings = ran ? before - 1 : before;
    long wait = 0;
    if (doublings >= 0) {
      wait = doublings > 30 ? MAX_NANOS : Math.min(MAX_NANOS, INITIAL_NANOS << doublings);
    }
    return new Backoff(before + 1, nowNanos + (long) (wait * (CERTAIN + (1 - CERTAIN) * chance)));
  }

  boolean isWaiting(long nowNanos) {
    return loops > 0 && untilNanos - nowNanos > 0;
  }
}
