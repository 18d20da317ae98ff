package dev.berth.metrics;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Latency histogram with Ray Serve's buckets. One thread writes at a time, and any thread reads. A
 * write costs two plain reads and two ordered writes, without locks or allocation. A reader may
 * briefly see a bucket without its part of the sum. Several loops form one histogram: readers add
 * up their buckets.
 *
 * <p>Source: the bucket bounds are Ray Serve's {@code DEFAULT_LATENCY_BUCKET_MS}.
 */
public final class LatencyBuckets {
  private static final long[] BOUNDS_MS = {
    1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 500, 1_000, 2_000, 5_000, 10_000, 60_000, 120_000,
    300_000, 600_000
  };
  private static final long[] BOUNDS_NANOS =
      LongStream.of(BOUNDS_MS).map(TimeUnit.MILLISECONDS::toNanos).toArray();

  /** Number of buckets, including the one without an upper bound. */
  static final int COUNT = BOUNDS_MS.length + 1;

  private static final int SUM = COUNT;

  private final AtomicLongArray cells = new AtomicLongArray(COUNT + 1);
  private long @Nullable [] taken; // at the last take; null before the first latency

  /** Returns the upper bounds in milliseconds; the last is infinite. */
  static double[] upperBoundsMs() {
    return DoubleStream.concat(
            LongStream.of(BOUNDS_MS).asDoubleStream(), DoubleStream.of(Double.POSITIVE_INFINITY))
        .toArray();
  }

  /** Records a latency. Confined to the owning thread. */
  public void add(long nanos) {
    int bucket = 0; // most latencies are short, so a scan beats a search
    while (bucket < BOUNDS_NANOS.length && nanos > BOUNDS_NANOS[bucket]) {
      bucket++;
    }
    cells.setRelease(bucket, cells.getPlain(bucket) + 1);
    cells.setRelease(SUM, cells.getPlain(SUM) + nanos);
  }

  /** Returns the number of buckets. */
  public static int buckets() {
    return COUNT;
  }

  /**
   * Returns a quantile of counts in milliseconds, interpolated linearly within its bucket. For the
   * last bucket, returns its lower bound.
   *
   * @param counts number of latencies by bucket
   * @param rank number of latencies up to the quantile
   */
  public static double quantileMs(long[] counts, double rank) {
    double below = 0;
    for (int i = 0; i < counts.length; i++) {
      if (counts[i] > 0 && below + counts[i] >= rank) {
        double from = i == 0 ? 0 : BOUNDS_MS[i - 1];
        double to = i == BOUNDS_MS.length ? from : BOUNDS_MS[i];
        return from + (to - from) * (rank - below) / counts[i];
      }
      below += counts[i];
    }
    return 0;
  }

  /** Creates the parts of one histogram, one per thread. */
  public static List<LatencyBuckets> forEach(int threads) {
    return Stream.generate(LatencyBuckets::new).limit(threads).toList();
  }

  /** Returns the number of recorded latencies. Thread-safe. */
  public long count() {
    return IntStream.range(0, COUNT).mapToLong(cells::getAcquire).sum();
  }

  /**
   * Adds the counts since the last call to {@code counts}, one per bucket, and returns their sum.
   * Confined to the control loop.
   */
  long take(long[] counts) {
    long all = 0;
    for (int i = 0; i < COUNT; i++) {
      long now = cells.getAcquire(i);
      long before = taken == null ? 0 : taken[i];
      if (now != before) {
        taken = taken == null ? new long[COUNT] : taken;
        taken[i] = now;
        counts[i] += now - before;
        all += now - before;
      }
    }
    return all;
  }

  /**
   * Adds the counts to {@code counts}, one per bucket, and returns the sum of latencies in
   * nanoseconds.
   */
  long addTo(long[] counts) {
    for (int i = 0; i < COUNT; i++) {
      counts[i] += cells.getAcquire(i);
    }
    return cells.getAcquire(SUM);
  }
}
