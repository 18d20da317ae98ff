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
        requests,
        errors,
        LatencyBuckets.quantileMs(buckets, 0.5 * requests),
        LatencyBuckets.quantileMs(buckets, 0.99 * requests));
  }
}
