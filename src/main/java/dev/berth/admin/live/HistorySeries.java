package dev.berth.admin.live;

import dev.berth.metrics.LatencyBuckets;
import dev.berth.protocol.NodeFigures.DeploymentFigures;
import dev.berth.protocol.NodeFigures.LatencyCount;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Curves of one deployment, of the sum of all, or of a node: an hour in short steps, and a day in
 * long ones. Confined to the control loop.
 */
final class HistorySeries {
  static final int P50 = 2;
  static final int P99 = 3;
  static final int TARGET = 8;

  /** Upper estimate of the bytes of a {@link HeldFigures}, whose latencies are in 20 buckets. */
  static final long HELD_BYTES = 640;

  /** Bytes of a series with the figures of one node, without its rings, rounded up. */
  private static final long FIXED_BYTES = (1 << 10) + HELD_BYTES;

  /** Last figures of a deployment on one node, with the number of the node's reading. */
  record HeldFigures(DeploymentFigures figures, long reading) {}

  /** Sum of the rows of a step, and latencies of its requests. */
  private static final class OpenStep {
    private final double[] sums;
    private final long[] latencies = new long[LatencyBuckets.buckets()];
    private int rows;

    OpenStep(int columns) {
      sums = new double[columns];
    }

    void add(double[] row) {
      rows++;
      for (int i = 0; i < sums.length; i++) {
        sums[i] += row[i];
      }
    }

    /** Returns the means and the quantiles, and begins the next step. */
    double[] end() {
      double[] row = new double[sums.length];
      for (int i = 0; i < row.length; i++) {
        row[i] = sums[i] / rows;
      }
      quantiles(latencies, row);
      Arrays.fill(sums, 0);
      Arrays.fill(latencies, 0);
      rows = 0;
      return row;
    }
  }

  final Map<String, HeldFigures> held = new HashMap<>(2); // by node
  volatile double[] latest; // row of the last second, replaced only by a different one
  final long[] latencies = new long[LatencyBuckets.buckets()]; // of the last second
  double target = Double.NaN;
  long seenMs; // time of the last figures, or of the last target
  private final OpenStep openHour;
  private final OpenStep openDay;
  private HistoryRing hour;
  private HistoryRing day;

  HistorySeries(int columns, int hourStepS, int dayStepS) {
    latest = new double[columns];
    openHour = new OpenStep(columns);
    openDay = new OpenStep(columns);
    hour = new HistoryRing(columns, hourStepS, 3_600 / hourStepS);
    day = new HistoryRing(columns, dayStepS, 86_400 / dayStepS);
  }

  static long bytes(int columns, int hourStepS, int dayStepS) {
    return FIXED_BYTES + 2L * columns * (3_600 / hourStepS + 86_400 / dayStepS);
  }

  void setLatest(double[] row) {
    latest = Arrays.equals(row, latest) ? latest : row;
  }

  HistoryRing ring(boolean ofDay) {
    return ofDay ? day : hour;
  }

  void coarsen(int hourStepS, int dayStepS) {
    hour = hour.coarser(hourStepS, 3_600 / hourStepS);
    day = day.coarser(dayStepS, 86_400 / dayStepS);
  }

  /**
   * Sets the quantiles of a row; NaN without latencies. Other rows than of deployments have none.
   */
  static void quantiles(long[] latencies, double[] row) {
    if (row.length > P99) {
      long all = 0;
      for (long each : latencies) {
        all += each;
      }
      row[P50] = all == 0 ? Double.NaN : LatencyBuckets.quantileMs(latencies, 0.5 * all);
      row[P99] = all == 0 ? Double.NaN : LatencyBuckets.quantileMs(latencies, 0.99 * all);
    }
  }

  static void add(DeploymentFigures figures, long[] latencies) {
    for (LatencyCount each : figures.latencies()) {
      if (each.bucket() >= 0 && each.bucket() < latencies.length) {
        latencies[each.bucket()] += each.count();
      }
    }
  }

  /** Adds latencies to the open steps, once per reading. */
  void addLatencies(DeploymentFigures figures) {
    add(figures, openHour.latencies);
    add(figures, openDay.latencies);
  }

  /**
   * Ends a second, whose row is {@link #latest}.
   *
   * @param fromMs begin of the second
   * @param toMs its end
   */
  void end(long fromMs, long toMs) {
    openHour.add(latest);
    openDay.add(latest);
    end(openHour, hour, fromMs, toMs);
    end(openDay, day, fromMs, toMs);
  }

  /** Stores the row of an ended step; a late end of a second stores it for several short steps. */
  private static void end(OpenStep open, HistoryRing into, long fromMs, long toMs) {
    long from = into.stepOf(fromMs);
    long to = into.stepOf(toMs);
    if (to > from) {
      double[] row = open.end();
      for (long step = Math.max(from, to - 3); step < to; step++) {
        into.put(step, row);
      }
    }
  }
}
