package dev.berth.metrics;

import io.prometheus.metrics.model.snapshots.Labels;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How late one event loop runs its tasks, and whether something blocks it. It is measured by a beat
 * now and then, so that a request costs nothing here.
 *
 * <p>Source: Ray Serve's {@code serve_event_loop_scheduling_latency_ms} and its labels.
 */
public final class LoopLag {
  private final Labels labels;
  private final Labels raysLabels;
  private final LatencyBuckets lags = new LatencyBuckets();
  private final AtomicLong blocks = new AtomicLong();
  private volatile boolean blocked;

  /**
   * @param loop the loop's index within the instance
   */
  public LoopLag(int loop) {
    this("serving", Integer.toString(loop));
  }

  private LoopLag(String type, String loop) {
    labels = Labels.of("loop", loop);
    raysLabels = Labels.of("component", "instance", "loop_type", type, "loop", loop);
  }

  /** Of the instance's control loop. */
  public static LoopLag ofControl() {
    return new LoopLag("control", "control");
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
    into.histogram(
        "serve_event_loop_scheduling_latency_ms",
        "How late an event loop ran a task that was handed to it.",
        raysLabels,
        lags);
    into.counter(
        "serve_event_loop_monitoring_iterations",
        "How often that was measured.",
        raysLabels,
        lags.count());
    into.gauge(
        "berth_event_loop_blocked", "1 while an event loop is blocked.", labels, blocked ? 1 : 0);
    into.counter(
        "berth_event_loop_blocks", "Times an event loop was blocked.", labels, blocks.get());
  }
}
