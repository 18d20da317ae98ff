package dev.berth.replica.batch;

import dev.berth.metrics.LatencyBuckets;
import dev.berth.metrics.MetricSeries;
import dev.berth.view.BatchFill;
import java.util.Arrays;
import java.util.List;

/**
 * Measurements of one method's batches. Written under the lock of its table.
 *
 * <p>Source: names and bounds are Ray Serve's.
 */
public final class BatchMeters {
  private static final double[] SIZES = bounds(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024);
  private static final double[] PERCENTS =
      bounds(5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100);

  private final LatencyBuckets waits = new LatencyBuckets();
  private final LatencyBuckets durations = new LatencyBuckets();
  private final long[] sizes = new long[SIZES.length];
  private final long[] fills = new long[PERCENTS.length];
  private long batches;
  private long requests;
  private double percents; // sum

  private static double[] bounds(double... finite) {
    double[] all = Arrays.copyOf(finite, finite.length + 1);
    all[finite.length] = Double.POSITIVE_INFINITY;
    return all;
  }

  void onWait(long nanos) {
    waits.add(nanos);
  }

  void onEnd(long nanos) {
    durations.add(nanos);
  }

  synchronized void onStart(int size, int maxSize) {
    double percent = 100.0 * size / maxSize;
    sizes[bucket(SIZES, size)]++;
    fills[bucket(PERCENTS, percent)]++;
    batches++;
    requests += size;
    percents += percent;
  }

  private static int bucket(double[] bounds, double value) {
    int at = Arrays.binarySearch(bounds, value);
    return at < 0 ? -at - 1 : at;
  }

  synchronized BatchFill fill() {
    return new BatchFill(batches, percents);
  }

  /** Reports the metrics. */
  public synchronized void show(MetricSeries into) {
    if (batches > 0) {
      into.counter("serve_batches_processed", batches);
      into.histogram("serve_actual_batch_size", SIZES, sizes.clone(), requests);
      into.histogram("serve_batch_utilization_percent", PERCENTS, fills.clone(), percents);
      into.histogram("serve_batch_wait_time_ms", List.of(waits));
      into.histogram("serve_batch_execution_time_ms", List.of(durations));
    }
  }
}
