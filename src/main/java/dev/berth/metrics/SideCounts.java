package dev.berth.metrics;

import java.util.List;
import java.util.stream.LongStream;

/**
 * What became of the requests of one of a route's deployments.
 *
 * @param requests answered, or given up by their clients
 * @param errors of them with a status of 500 or above
 * @param p50Ms median latency, as near as the buckets of the histogram tell; 0 without requests
 * @param p99Ms likewise
 */
public record SideCounts(long requests, long errors, double p50Ms, double p99Ms) {

  /** Adds up loops, methods and statuses. */
  static SideCounts of(List<RouteMeters.Cell> cells) {
    long errors = // before the others, which are to be no fewer
        cells.stream()
            .filter(each -> each.status() >= 500)
            .mapToLong(each -> each.latencies().count())
            .sum();
    long[] buckets = new long[LatencyBuckets.COUNT];
    cells.forEach(each -> each.latencies().addTo(buckets));
    long requests = LongStream.of(buckets).sum();
    return new SideCounts(
        requests, errors, quantile(buckets, 0.5 * requests), quantile(buckets, 0.99 * requests));
  }

  /** Within its bucket as if all were spread evenly; of the last one its lower bound. */
  private static double quantile(long[] buckets, double wanted) {
    double[] upTo = LatencyBuckets.upperBoundsMs();
    double below = 0;
    for (int i = 0; i < buckets.length; i++) {
      if (buckets[i] > 0 && below + buckets[i] >= wanted) {
        double from = i == 0 ? 0 : upTo[i - 1];
        double to = i == buckets.length - 1 ? from : upTo[i];
        return from + (to - from) * (wanted - below) / buckets[i];
      }
      below += buckets[i];
    }
    return 0;
  }
}
