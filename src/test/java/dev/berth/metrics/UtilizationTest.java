package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class UtilizationTest {
  private static final long SECOND = Duration.ofSeconds(1).toNanos();

  private final Utilization utilization = new Utilization();

  @Test
  void beforeTheFirstSampleNothingWasUsed() {
    assertThat(utilization.share(0)).isZero();
  }

  @Test
  void itIsTheMeanOfWhatWasBusy() {
    utilization.sample(4, 4, 0);
    utilization.sample(0, 4, SECOND);
    utilization.sample(1, 4, 15 * SECOND);
    utilization.sample(1, 4, 16 * SECOND);
    assertThat(utilization.share(16 * SECOND)).isEqualTo(6.0 / 16);
  }

  @Test
  void tenMinutesLaterItIsForgotten() {
    utilization.sample(4, 4, 0);
    utilization.sample(0, 4, 300 * SECOND);
    assertThat(utilization.share(599 * SECOND)).isEqualTo(0.5);
    assertThat(utilization.share(600 * SECOND)).isZero();
    utilization.sample(2, 4, 600 * SECOND); // the place of the first
    assertThat(utilization.share(600 * SECOND)).isEqualTo(0.25);
  }

  @Test
  void aChangedNumberOfSlotsCountsFromThenOn() {
    utilization.sample(1, 1, 0);
    utilization.sample(1, 3, SECOND);
    assertThat(utilization.share(SECOND)).isEqualTo(0.5);
  }
}
