package dev.berth.controller;

import java.util.concurrent.TimeUnit;

/**
 * The outlier state of a replica that is excluded from the snapshot, as it returned nothing but
 * failures. The replica returns after a while and is then on probation: another failure soon
 * excludes it for longer.
 *
 * @param times recent exclusions; older ones are forgotten
 * @param out whether it was found failing and has not succeeded since
 * @param untilNanos end of the last exclusion
 */
record OutlierState(int times, boolean out, long untilNanos) {
  /** Exclusion in nanoseconds for each recent time. */
  static final long BASE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Maximum exclusion in nanoseconds. */
  static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(300);

  /** Probation in nanoseconds after an exclusion; afterwards earlier exclusions are forgotten. */
  static final long PROBATION_NANOS = TimeUnit.SECONDS.toNanos(300);

  static final OutlierState NONE = new OutlierState(0, false, 0);

  OutlierState suspected(long nowNanos) {
    if (isOut(nowNanos)) {
      return this;
    }
    boolean probation = times > 0 && nowNanos - untilNanos < PROBATION_NANOS;
    int count = probation ? times + 1 : 1;
    return new OutlierState(count, true, nowNanos + Math.min(MAX_NANOS, count * BASE_NANOS));
  }

  /** Returns the state after the replica succeeded again. */
  OutlierState cleared(long nowNanos) {
    return isOut(nowNanos) ? new OutlierState(times, false, nowNanos) : this;
  }

  boolean isOut(long nowNanos) {
    return out && untilNanos - nowNanos > 0;
  }
}
