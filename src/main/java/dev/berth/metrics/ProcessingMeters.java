package dev.berth.metrics;

import java.util.concurrent.TimeUnit;

/**
 * How long a replica's requests ran on one event loop. That loop alone writes, any thread reads.
 */
public final class ProcessingMeters {
  private static final long MAX_WINDOW_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final int MAX_STEPS = 6;

  private final LatencyBuckets times = new LatencyBuckets();
  private final RollingMax max = new RollingMax(MAX_WINDOW_NANOS, MAX_STEPS);

  /** A request ended after so long; on the owning loop. */
  public void ended(long nanos, long now) {
    times.add(nanos);
    max.add(nanos, now);
  }

  public LatencyBuckets times() {
    return times;
  }

  /** The longest of the last minute; 0 when there was none. On the clock of {@link #ended}. */
  public long maxNanos(long now) {
    return max.max(now);
  }
}
