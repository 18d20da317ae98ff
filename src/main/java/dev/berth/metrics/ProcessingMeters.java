package dev.berth.metrics;

/**
 * How long a replica's requests ran on one event loop. That loop alone writes, any thread reads.
 */
public final class ProcessingMeters {
  private final LatencyBuckets times = new LatencyBuckets();
  private final RollingMax max = new RollingMax();

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
