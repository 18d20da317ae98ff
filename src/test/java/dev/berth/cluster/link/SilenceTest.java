package dev.berth.cluster.link;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** With 500 of interval and 3 000 of time-out, in whatever unit. */
class SilenceTest {
  private final HeartbeatMonitor silence = new HeartbeatMonitor(500, 3_000, 0);

  @Test
  void whoSaysNothingForTheTimeoutIsSuspected() {
    for (int now = 500; now <= 3_000; now += 500) {
      assertThat(silence.sweep(now)).as("at %d", now).isFalse();
    }
    assertThat(silence.sweep(3_500)).isTrue();
  }

  @Test
  void anythingHeardBeginsItAnew() {
    for (int now = 500; now <= 60_000; now += 500) {
      assertThat(silence.sweep(now)).isFalse();
      if (now % 2_500 == 0) {
        silence.recordContact();
      }
    }
  }

  @Test
  void aPauseOfOnesOwnAddsAtMostOneIntervalMore() {
    for (int now = 500; now <= 2_000; now += 500) {
      silence.sweep(now);
    }
    int resumed = 3_600_000; // an hour later: 2 000 of silence became 3 000, not more
    assertThat(silence.sweep(resumed)).isFalse();
    assertThat(silence.sweep(resumed + 500)).isTrue();
  }

  @Test
  void whoWasHeardBeforeThePauseHasTimeAfterIt() {
    silence.recordContact();
    assertThat(silence.sweep(1_000_000)).isFalse();
    for (int later = 500; later <= 3_000; later += 500) {
      assertThat(silence.sweep(1_000_000 + later)).isFalse();
    }
    assertThat(silence.sweep(1_003_500)).isTrue();
  }

  @Test
  void anObserverThatIsAlwaysSlowStillEnds() {
    int sweeps = 0;
    for (int now = 10_000; !silence.sweep(now); now += 10_000) {
      sweeps++;
    }
    assertThat(sweeps).isEqualTo(3);
  }
}
