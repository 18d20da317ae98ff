package dev.berth.metrics;

import java.util.List;
import java.util.stream.LongStream;

/**
 * Results of requests to one of a route's deployments.
 *
 * @param requests with a response, or whose client left
 * @param errors responses with a status of 500 or above
 * @param p50Ms median latency, estimated from the buckets of the histogram; 0 without requests
 * @param p99Ms 99th percentile, likewise
 */
public record TrafficTargetCounts(long requests, long errors, double p50Ms, double p99Ms) {

  /** Returns the sum over loops, methods and statuses. */
  static TrafficTargetCounts of(List<RouteMeters.MethodStatusMeter> cells) {
    long errors = // first, so that there are never more errors than requests
        cells.stream()
            .filter(each -> each.status() >= 500)
            .mapToLong(each -> each.latencies().count())
            .sum();
    long[] buckets = new long[LatencyBuckets.COUNT];
    cells.forEach(each -> each.latencies().addTo(buckets));
    long requests = LongStream.of(buckets).sum();
    return new TrafficTargetCounts(
        requests, errors, quantile(buckets, 0.5 * requests), quantile(buckets, 0.99 * requests));
  }

  /** Interpolates linearly within a bucket. For the last bucket, returns its lower bound. */
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
