package dev.berth.metrics;

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
  static final class Sum {
    private final long[] buckets = new long[LatencyBuckets.COUNT];
    private long requests;
    private long errors;

    void add(int status, LatencyBuckets latencies) {
      long count = latencies.count();
      requests += count;
      errors += status >= 500 ? count : 0;
      latencies.addTo(buckets);
    }

    SideCounts counts() {
      return new SideCounts(requests, errors, quantile(0.5), quantile(0.99));
    }

    /** Within its bucket as if all were spread evenly; of the last one its lower bound. */
    private double quantile(double share) {
      double[] upTo = LatencyBuckets.upperBoundsMs();
      double wanted = share * requests;
      double below = 0;
      for (int i = 0; i < buckets.length && requests > 0; i++) {
        double from = i == 0 ? 0 : upTo[i - 1];
        if (below + buckets[i] >= wanted && buckets[i] > 0) {
          double to = i == buckets.length - 1 ? from : upTo[i];
          return from + (to - from) * (wanted - below) / buckets[i];
        }
        below += buckets[i];
      }
      return 0;
    }
  }
}
