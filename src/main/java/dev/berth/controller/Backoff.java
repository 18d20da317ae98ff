package dev.berth.controller;

import java.util.concurrent.TimeUnit;

/**
 * How long a deployment waits before it starts replicas again. One wait for all of its replicas:
 * those that fail while it runs do not make it longer.
 *
 * @param loops failures in a row, each after the wait for the one before it
 * @param untilNanos no start before; without meaning when loops is 0
 */
record Backoff(int loops, long untilNanos) {
  /** The first wait; each further one is twice as long. */
  static final long INITIAL_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The longest wait, before its jitter. */
  static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(64);

  /** The share of a wait that is certain; the rest is drawn, so that deployments spread out. */
  static final double CERTAIN = 0.5;

  /** Nothing failed for so long after a wait: the next failure is a first one. */
  static final long STEADY_NANOS = TimeUnit.SECONDS.toNanos(60);

  static final Backoff NONE = new Backoff(0, 0);

  /**
   * After a failure.
   *
   * @param ran whether it had run: then the first replacement need not wait
   * @param chance from 0 to 1
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
