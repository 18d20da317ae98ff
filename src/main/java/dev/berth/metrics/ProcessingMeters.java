package dev.berth.metrics;

/**
 * Processing times of a replica's requests on one event loop. The loop writes, and any thread
 * reads.
 */
public final class ProcessingMeters {
  private final LatencyBuckets times = new LatencyBuckets();
  private final RollingMax max = new RollingMax();

  /** Records the duration of an ended request. Confined to the event loop. */
  public void recordDuration(long nanos, long now) {
    times.add(nanos);
    max.add(nanos, now);
  }

  public LatencyBuckets times() {
    return times;
  }

  /**
   * Returns the maximum of the last minute; 0 if there is none. Uses the clock of {@link
   * #recordDuration}.
   */
  public long maxNanos(long now) {
    return max.max(now);
  }
}
