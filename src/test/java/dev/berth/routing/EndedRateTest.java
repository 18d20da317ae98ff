package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class EndedRateTest {
  private final EndedRate rate = new EndedRate();

  @Test
  void whatEndedBeforeTheFirstLookCountsForNothing() {
    long start = 1_000_000 * EndedRate.INTERVAL_NANOS;
    rate.measure(1_000, false, start);
    assertThat(rate.perSecond()).isZero();
    rate.measure(1_001, false, start + EndedRate.INTERVAL_NANOS);
    assertThat(rate.perSecond()).isEqualTo(2);
  }
}
