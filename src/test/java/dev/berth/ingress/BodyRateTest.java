package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class BodyRateTest {
  private static final int LEAST = 100; // bytes per second
  private static final long SWEEP_MS = 100;

  private final MinBodyRateMonitor rate = new MinBodyRateMonitor(0);
  private long nowMs;
  private long received;

  /** A sweep later, after so many bytes. */
  private double swept(long bytes, boolean awaits) {
    nowMs += SWEEP_MS;
    received += bytes;
    return rate.lagNanos(TimeUnit.MILLISECONDS.toNanos(nowMs), received, awaits, LEAST) / 1e6;
  }

  @Test
  void aByteNowAndThenLagsAsLongAsItIsAwaited() {
    double lagMs = 0;
    for (int second = 0; second < 50; second++) {
      for (int sweep = 0; sweep < 10; sweep++) {
        lagMs = swept(sweep == 0 && second % 25 == 0 ? 1 : 0, true);
      }
    }
    assertThat(lagMs).isBetween(49_900.0, 50_000.0);
  }

  @Test
  void theLeastRateIsEnoughInWhateverPieces() {
    double most = 0;
    for (int sweep = 1; sweep <= 1000; sweep++) {
      most = Math.max(most, swept(sweep % 50 == 0 ? 500 : 0, true));
    }
    assertThat(most).isEqualTo(4900);
  }

  @Test
  void whatCameFastIsNotSavedUp() {
    swept(1 << 30, true);
    assertThat(swept(0, true)).isEqualTo(100);
    assertThat(swept(0, true)).isEqualTo(200);
  }

  @Test
  void whatItLaggedIsMadeUpFor() {
    for (int sweep = 0; sweep < 10; sweep++) {
      swept(0, true);
    }
    assertThat(swept(50, true)).isEqualTo(600);
    assertThat(swept(1000, true)).isZero();
  }

  @Test
  void whoIsHeldBackDoesNotLag() {
    for (int sweep = 0; sweep < 1000; sweep++) {
      assertThat(swept(0, false)).isZero();
    }
    assertThat(swept(0, true)).as("it may send only now").isZero();
    assertThat(swept(0, true)).isEqualTo(100);
  }

  @Test
  void aMomentOfBeingHeldBackExcusesItsSweep() {
    assertThat(swept(0, true)).isEqualTo(100);
    rate.heldBack();
    assertThat(swept(0, true)).isEqualTo(100);
    assertThat(swept(0, true)).isEqualTo(200);
  }

  @Test
  void aLoopThatStoodStillIsNoClientsFault() {
    nowMs = 60_000;
    assertThat(swept(0, true)).isEqualTo(MinBodyRateMonitor.MAX_SWEEP_NANOS / 1e6);
  }
}
