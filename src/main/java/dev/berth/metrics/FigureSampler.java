package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.RouteMeters.MethodStatusMeter;
import dev.berth.metrics.RouteMeters.RouteLabels;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.NodeFigures.DeploymentFigures;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/**
 * Reads the figures of an instance for the history of operators: at most once per second, from
 * counters that exist anyway. Confined to the control loop.
 */
final class FigureSampler {
  /** Maximum wire bytes of the figures of one batch; the other figures follow in the next. */
  static final int MAX_BYTES = 512 << 10;

  private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(990); // 1 s, if punctual

  private final Meters meters;
  // By the time since they were sent, the longest first.
  private final Map<DeploymentId, DeploymentActivity> all = new LinkedHashMap<>();
  private long readNanos;
  private boolean hasUnsent; // whether that reading has figures to send
  private long intervalMillis; // of a reading that is not sent yet; else 0

  FigureSampler(Meters meters, long nowNanos) {
    this.meters = meters;
    this.readNanos = nowNanos;
  }

  /** Reads the counters once per second. Returns whether there are figures to send. */
  boolean read(long nowNanos, List<ReportQueue> sources) {
    if (nowNanos - readNanos < INTERVAL_NANOS) {
      return false;
    }
    intervalMillis = hasUnsent ? intervalMillis : 0;
    intervalMillis += TimeUnit.NANOSECONDS.toMillis(nowNanos - readNanos);
    readNanos = nowNanos;
    all.values().forEach(DeploymentActivity::begin);
    sources.forEach(queue -> queue.forEachSource(this::addSource));
    for (HttpMeters loop : meters.ingress) {
      loop.routes.forEach(this::addRoute);
    }
    all.values().forEach(DeploymentActivity::end);
    all.values().removeIf(DeploymentActivity::isForgettable);
    hasUnsent = all.values().stream().anyMatch(DeploymentActivity::isDue);
    return hasUnsent;
  }

  private void addSource(HandleMetricSource source) {
    try {
      of(source.deployment()).add(source);
    } catch (RuntimeException broken) {
      // The figures lack this source. The pusher reads the source, too, and counts the failure.
    }
  }

  private void addRoute(RouteLabels labels, RouteMeters route) {
    if (!labels.deployment().isEmpty()) {
      for (MethodStatusMeter cell : route.cells) {
        of(new DeploymentId(labels.application(), labels.deployment()))
            .addRoute(cell.latencies(), cell.status());
      }
    }
  }

  private DeploymentActivity of(DeploymentId deployment) {
    return all.computeIfAbsent(deployment, DeploymentActivity::new);
  }

  /** Returns the figures of the last reading, which may be sent once; else none. */
  NodeFigures take() {
    long interval = intervalMillis;
    if (interval == 0) {
      return NodeFigures.NONE;
    }
    intervalMillis = 0;
    hasUnsent = false;
    List<DeploymentFigures> told = new ArrayList<>();
    List<DeploymentActivity> taken = new ArrayList<>();
    int left = MAX_BYTES;
    for (Iterator<DeploymentActivity> each = all.values().iterator(); each.hasNext(); ) {
      DeploymentActivity next = each.next();
      if (next.isDue() && (left -= next.bytes()) >= 0) {
        told.add(next.take());
        taken.add(next);
        each.remove();
      }
    }
    taken.forEach(each -> all.put(each.deployment(), each));
    return new NodeFigures(interval, lagMicros(), told);
  }

  private long lagMicros() {
    double highest = 0;
    for (LoopLag loop : meters.loops) {
      long[] counts = new long[LatencyBuckets.COUNT];
      loop.lags.take(counts);
      double rank = 0.99 * LongStream.of(counts).sum();
      highest = Math.max(highest, LatencyBuckets.quantileMs(counts, rank));
    }
    return Math.round(1_000 * highest);
  }

  /** Makes all gauges due again, since the controller may not have them. */
  void onLost() {
    all.values().forEach(DeploymentActivity::onLost);
  }
}
