package dev.berth.controller.autoscaling;

import dev.berth.config.AutoscalingOptions.AggregationFunction;
import java.util.ArrayDeque;

/**
 * The load of a deployment over the look-back window. Reports of all instances are merged into one
 * right-continuous step function, summed at each change. The controller's clock stamps reports on
 * arrival and they are merged at once, so the cost does not grow with the instances.
 *
 * <p>Loads are stored in millionths of a request: sums of whole numbers return to 0 exactly.
 *
 * <p>Source: Ray Serve's merge_instantaneous_total and aggregate_timeseries. A window begins only
 * after every source has reported ({@link #restart}). The earlier load of a later source is
 * unknown, and zero would lower the mean.
 */
final class LoadSeries {
  /** Maximum number of parts of the window; within one part only the last load counts. */
  static final int MAX_POINTS = 256;

  private static final double MICROS = 1e6;

  private record LoadPoint(long nanos, long micros) {}

  private final ArrayDeque<LoadPoint> points = new ArrayDeque<>();
  private long latest;
  private long begin; // begin of the known load

  LoadSeries(long now) {
    begin = now;
  }

  static long micros(double load) {
    return Math.round(load * MICROS);
  }

  static double load(long micros) {
    return micros / MICROS;
  }

  /** Records a changed load of one source. Removes points that have left the window. */
  void change(long before, long after, long now, long window) {
    if (before != after) {
      latest += after - before;
      LoadPoint last = points.peekLast();
      if (last != null && points.size() > 1 && now - last.nanos < window / MAX_POINTS) {
        points.removeLast();
        points.addLast(new LoadPoint(last.nanos, latest));
      } else {
        points.addLast(new LoadPoint(now, latest));
      }
    }
    forget(now - window);
  }

  /** Records another value of a series with a single source. */
  void become(long micros, long now, long window) {
    change(latest, micros, now, window);
  }

  /** Begins the window at a later time, when not every source was known before. */
  void restart(long from) {
    if (from - begin > 0) {
      begin = from;
      forget(from);
    }
  }

  /** Removes points before the window except the last, which holds the value at its begin. */
  private void forget(long from) {
    if (points.size() < 2) {
      return;
    }
    LoadPoint first = points.removeFirst();
    while (!points.isEmpty() && points.peekFirst().nanos - from <= 0) {
      first = points.removeFirst();
    }
    points.addFirst(first);
  }

  double latest() {
    return load(latest);
  }

  /** Returns whether the load has changed since a time. */
  boolean changedSince(long from) {
    return points.size() > 1 && points.peekLast().nanos - from > 0;
  }

  /**
   * Aggregates the load of a window.
   *
   * @param from begin of the window; later where not every source was known
   * @param now end of the window
   * @return the present load when the window has no length
   */
  double aggregate(AggregationFunction by, long from, long now) {
    long start = begin - from > 0 ? begin : from;
    double weighted = 0;
    long least = Long.MAX_VALUE;
    long most = Long.MIN_VALUE;
    long value = 0;
    long since = start;
    for (LoadPoint point : points) {
      if (point.nanos - start > 0) {
        weighted += (double) value * (point.nanos - since);
        least = Math.min(least, value);
        most = Math.max(most, value);
        since = point.nanos;
      }
      value = point.micros;
    }
    weighted += (double) value * (now - since);
    least = Math.min(least, value);
    most = Math.max(most, value);
    return switch (by) {
      case MEAN -> (now - start > 0 ? weighted / (now - start) : value) / MICROS;
      case MAX -> load(most);
      case MIN -> load(least);
    };
  }
}
