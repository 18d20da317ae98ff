package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LatencyBucketsTest {

  @Test
  void theBoundsAreRays() {
    assertThat(LatencyBuckets.upperBoundsMs())
        .containsExactly(
            1,
            2,
            5,
            10,
            20,
            50,
            100,
            200,
            300,
            400,
            500,
            1000,
            2000,
            5000,
            10_000,
            60_000,
            120_000,
            300_000,
            600_000,
            Double.POSITIVE_INFINITY);
  }

  @Test
  void aBoundBelongsToItsOwnBucket() {
    LatencyBuckets latencies = new LatencyBuckets();
    latencies.add(TimeUnit.MILLISECONDS.toNanos(5));
    latencies.add(TimeUnit.MILLISECONDS.toNanos(5) + 1);
    latencies.add(TimeUnit.HOURS.toNanos(1));
    long[] counts = new long[LatencyBuckets.COUNT];
    long sum = latencies.addTo(counts);
    assertThat(counts[2]).isOne();
    assertThat(counts[3]).isOne();
    assertThat(counts[LatencyBuckets.COUNT - 1]).isOne();
    assertThat(latencies.count()).isEqualTo(3);
    assertThat(sum).isEqualTo(TimeUnit.MILLISECONDS.toNanos(10) + 1 + TimeUnit.HOURS.toNanos(1));
  }
}
