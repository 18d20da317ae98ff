package dev.berth.controller.autoscaling;

import dev.berth.config.AutoscalingOptions.Aggregation;
import java.util.ArrayDeque;

/**
 * The load of a deployment over the look-back window: the reports of all its instances merged into
 * one right-continuous step function, that is summed at each of its changes. Reports are stamped
 * with the controller's clock as they come, so the merge is made as they come, and what it costs
 * does not grow with the instances.
 *
 * <p>Loads are kept in millionths of a request: sums of whole numbers come back to 0 exactly.
 *
 * <p>Source: Ray Serve's merge_instantaneous_total and aggregate_timeseries. A window begins only
 * where every source had reported ({@link #restart}): of one that came later nothing is known
 * before, and zero would pull the mean down.
 */
final class LoadSeries {
  /** Parts of the window that are told apart; within one the last load stands for all. */
  static final int MAX_POINTS = 256;

  private static final double MICROS = 1e6;

  private record Point(long nanos, long micros) {}

  private final ArrayDeque<Point> points = new ArrayDeque<>();
  private long latest;
  private long begin; // of what may be looked back at

  LoadSeries(long now) {
    begin = now;
  }

  static long micros(double load) {
    return Math.round(load * MICROS);
  }

  static double load(long micros) {
    return micros / MICROS;
  }

  /** The load of one source is now another. Forgets what has left the window. */
  void change(long before, long after, long now, long window) {
    if (before != after) {
      latest += after - before;
      Point last = points.peekLast();
      if (last != null && points.size() > 1 && now - last.nanos < window / MAX_POINTS) {
        points.removeLast();
        points.addLast(new Point(last.nanos, latest));
      } else {
        points.addLast(new Point(now, latest));
      }
    }
    forget(now - window);
  }

  /** The one source there is tells another value. */
  void become(long micros, long now, long window) {
    change(latest, micros, now, window);
  }

  /** What was before tells nothing: not every source was known. */
  void restart(long from) {
    if (from - begin > 0) {
      begin = from;
      forget(from);
    }
  }

  /** The last point before the window is its value at its begin. */
  private void forget(long from) {
    if (points.size() < 2) {
      return;
    }
    Point first = points.removeFirst();
    while (!points.isEmpty() && points.peekFirst().nanos - from <= 0) {
      first = points.removeFirst();
    }
    points.addFirst(first);
  }

  double latest() {
    return load(latest);
  }

  /** Whether the load was another within a window that ends now. */
  boolean changedSince(long from) {
    return points.size() > 1 && points.peekLast().nanos - from > 0;
  }

  /**
   * @param from begin of the window, which is later where not all was known
   * @param now its end
   * @return the load then where the window has no length
   */
  double aggregate(Aggregation by, long from, long now) {
    long start = begin - from > 0 ? begin : from;
    double weighted = 0;
    long least = Long.MAX_VALUE;
    long most = Long.MIN_VALUE;
    long value = 0;
    long since = start;
    for (Point point : points) {
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
