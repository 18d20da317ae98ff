package dev.berth.metrics;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Scheduling latency of one event loop, and whether it is blocked. Measured by periodic heartbeats,
 * so that requests pay nothing.
 *
 * <p>Source: Ray Serve's {@code serve_event_loop_scheduling_latency_ms} and its labels.
 */
public final class LoopLag {
  private final String[] labels;
  private final String[] raysLabels;
  final LatencyBuckets lags = new LatencyBuckets();
  private final AtomicLong blocks = new AtomicLong();
  private volatile boolean blocked;

  /**
   * @param type kind of the loop in Ray Serve's labels
   * @param loop name of the loop; its index in the instance for a serving loop
   */
  public LoopLag(String type, String loop) {
    labels = new String[] {"loop", loop};
    raysLabels = new String[] {"component", "instance", "loop_type", type, "loop", loop};
  }

  /** Records the delay between submission and start of a task. Confined to the event loop. */
  public void add(long nanos) {
    lags.add(nanos);
  }

  /** Records that the loop became blocked or recovered. Called by its watchdog. */
  public void blocked(boolean isBlocked) {
    blocked = isBlocked;
    if (isBlocked) {
      blocks.incrementAndGet();
    }
  }

  public void collect(MetricSeries into) {
    MetricSeries rays = into.with(raysLabels);
    rays.histogram("serve_event_loop_scheduling_latency_ms", List.of(lags));
    rays.counter("serve_event_loop_monitoring_iterations", lags.count());
    MetricSeries ours = into.with(labels);
    ours.gauge("berth_event_loop_blocked", blocked ? 1 : 0);
    ours.counter("berth_event_loop_blocks", blocks.get());
  }
}
