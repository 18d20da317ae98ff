package dev.berth.metrics;

import io.prometheus.metrics.model.snapshots.Labels;
import java.util.concurrent.atomic.AtomicLong;

/** How late one event loop runs its tasks, and whether something blocks it. */
public final class LoopLag {
  private final Labels labels;
  private final LatencyBuckets lags = new LatencyBuckets();
  private final AtomicLong blocks = new AtomicLong();
  private volatile boolean blocked;

  /**
   * @param loop the loop's index within the instance
   */
  public LoopLag(int loop) {
    labels = Labels.of("loop", Integer.toString(loop));
  }

  /** A task ran so many nanoseconds after it was handed over. On the loop. */
  public void add(long nanos) {
    lags.add(nanos);
  }

  /** The loop takes no tasks, or does so again. By whoever watches it. */
  public void blocked(boolean isBlocked) {
    blocked = isBlocked;
    if (isBlocked) {
      blocks.incrementAndGet();
    }
  }

  void collect(Families into) {
    long[] counts = new long[LatencyBuckets.COUNT];
    long sumNanos = lags.addTo(counts);
    into.histogram(
        "berth_event_loop_lag_ms",
        "How late an event loop ran a task that was handed to it.",
        labels,
        counts,
        sumNanos / 1e6);
    into.gauge(
        "berth_event_loop_blocked", "1 while an event loop is blocked.", labels, blocked ? 1 : 0);
    into.counter(
        "berth_event_loop_blocks", "Times an event loop was blocked.", labels, blocks.get());
  }
}
