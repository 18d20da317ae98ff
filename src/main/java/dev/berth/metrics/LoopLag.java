package dev.berth.metrics;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How late one event loop runs its tasks, and whether something blocks it. It is measured by a beat
 * now and then, so that a request costs nothing here.
 *
 * <p>Source: Ray Serve's {@code serve_event_loop_scheduling_latency_ms} and its labels.
 */
public final class LoopLag {
  private final String[] labels;
  private final String[] raysLabels;
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
    labels = new String[] {"loop", loop};
    raysLabels = new String[] {"component", "instance", "loop_type", type, "loop", loop};
  }

  /** Of the instance's control loop. */
  public static LoopLag ofControl() {
    return new LoopLag("control", "control");
  }

  /** Of the carriers that the instance's virtual threads share. */
  public static LoopLag ofCarriers() {
    return new LoopLag("carriers", "carriers");
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

  public void collect(Series into) {
    Series rays = into.with(raysLabels);
    rays.histogram("serve_event_loop_scheduling_latency_ms", List.of(lags));
    rays.counter("serve_event_loop_monitoring_iterations", lags.count());
    Series ours = into.with(labels);
    ours.gauge("berth_event_loop_blocked", blocked ? 1 : 0);
    ours.counter("berth_event_loop_blocks", blocks.get());
  }
}
