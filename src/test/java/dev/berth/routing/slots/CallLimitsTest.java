package dev.berth.routing.slots;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class CallLimitsTest {
  private final CallLimits limits = new CallLimits();

  @Test
  void triesDoubleUntilACallIsRefused() {
    refuse();
    assertThat(taken()).isZero();
    for (int step : new int[] {1, 2, 4, 8}) {
      limits.relax(false);
      assertThat(taken()).isEqualTo(step);
    }
    refuse();
    limits.relax(false);
    assertThat(taken()).isEqualTo(1);
  }

  @Test
  void limitWithoutARefusalIsUnknown() {
    refuse();
    assertThat(limits.isKnown("t")).isTrue();
    assertThat(limits.isKnown("u")).isFalse();
    limits.relax(true);
    assertThat(limits.isKnown("t")).isFalse();
  }

  private void refuse() {
    limits.onRefused("t", "tool t: 1 calls");
    limits.giveBack("t");
  }

  private int taken() {
    int taken = 0;
    while (limits.tryTake("t")) {
      taken++;
    }
    return taken;
  }
}
