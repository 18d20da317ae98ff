package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LatencyBucketsTest {

  @Test
  void theBoundsAreRays() {
    assertThat(Arrays.toString(LatencyBuckets.upperBoundsMs()))
        .isEqualTo(
            "[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 300.0, 400.0, 500.0, 1000.0, 2000.0,"
                + " 5000.0, 10000.0, 60000.0, 120000.0, 300000.0, 600000.0, Infinity]");
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
