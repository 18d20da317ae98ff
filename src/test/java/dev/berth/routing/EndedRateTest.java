package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class EndedRateTest {
  private final CompletionRate rate = new CompletionRate();

  @Test
  void whatEndedBeforeTheFirstLookCountsForNothing() {
    long start = 1_000_000 * CompletionRate.INTERVAL_NANOS;
    rate.measure(1_000, false, start);
    assertThat(rate.perSecond()).isZero();
    rate.measure(1_001, false, start + CompletionRate.INTERVAL_NANOS);
    assertThat(rate.perSecond()).isEqualTo(2);
  }
}
