package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.replica.HealthCheckState.HealthCheckAction;
import java.time.Duration;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Times are in milliseconds from the start; the period is 1 s, the timeout 3 s. */
class HealthWatchTest {
  private final HealthCheckState watch =
      new HealthCheckState(
          new HealthCheckSettings(ms(1_000), ms(3_000)), new SplittableRandom(1), 0);

  private static long ms(long millis) {
    return Duration.ofMillis(millis).toNanos();
  }

  @Test
  void aCheckIsDueOnceAPeriodGiveOrTakeATenth() {
    assertThat(watch.due(true, ms(899))).isEqualTo(HealthCheckAction.NOTHING);
    long at = 900;
    for (int round = 0; round < 20; round++) {
      long before = at;
      while (watch.due(true, ms(at)) == HealthCheckAction.NOTHING) {
        at++;
      }
      if (round > 0) {
        assertThat(at - before).isBetween(900L, 1_101L);
      }
      watch.onFinished(true, ms(at));
    }
    assertThat(watch.failures()).isZero();
  }

  @Test
  void noSecondCheckStartsBesideOneThatRuns() {
    assertThat(watch.due(true, ms(1_200))).isEqualTo(HealthCheckAction.CHECK);
    assertThat(watch.due(true, ms(4_199))).isEqualTo(HealthCheckAction.NOTHING);
    watch.onFinished(true, ms(4_199));
    assertThat(watch.due(true, ms(4_200))).isEqualTo(HealthCheckAction.CHECK);
  }

  @Test
  void threeFailuresInARowMakeItFail() {
    fail(2);
    assertThat(watch.failing()).isFalse();
    fail(1);
    assertThat(watch.failing()).isTrue();
    assertThat(watch.failures()).isEqualTo(3);
  }

  @Test
  void aSuccessBetweenStartsTheCountAnew() {
    fail(2);
    watch.start(0);
    watch.onFinished(true, 0);
    fail(2);
    assertThat(watch.failing()).isFalse();
  }

  @Test
  void aSuccessEndsFailing() {
    fail(5);
    watch.start(0);
    assertThat(watch.onFinished(true, 0)).isTrue();
    assertThat(watch.failing()).isFalse();
  }

  @Test
  void theTimeOfACheckRunsFromWhenItHasAThread() {
    assertThat(watch.due(true, ms(1_200))).isEqualTo(HealthCheckAction.CHECK);
    assertThat(watch.due(true, ms(60_000)))
        .as("nobody knows whether it is well")
        .isEqualTo(HealthCheckAction.NOTHING);
    assertThat(watch.nextLook(ms(60_000))).isGreaterThan(ms(60_000));
    watch.onBegun(ms(60_000));
    assertThat(watch.nextLook(ms(60_000))).isEqualTo(ms(63_000));
    assertThat(watch.due(true, ms(62_999))).isEqualTo(HealthCheckAction.NOTHING);
    assertThat(watch.due(true, ms(63_000))).isEqualTo(HealthCheckAction.INTERRUPT);
    assertThat(watch.failures()).isEqualTo(1);
  }

  @Test
  void aCheckThatHangsFailsAtItsTimeoutAndWithEachPeriodAfter() {
    watch.start(0);
    watch.onBegun(0);
    assertThat(watch.due(true, ms(2_999))).isEqualTo(HealthCheckAction.NOTHING);
    assertThat(watch.due(true, ms(3_000))).isEqualTo(HealthCheckAction.INTERRUPT);
    assertThat(watch.failures()).isEqualTo(1);
    assertThat(watch.due(true, ms(3_999))).isEqualTo(HealthCheckAction.NOTHING);
    assertThat(watch.due(true, ms(4_000))).isEqualTo(HealthCheckAction.WAIT_ON);
    assertThat(watch.failing()).isFalse();
    assertThat(watch.due(true, ms(5_000))).isEqualTo(HealthCheckAction.WAIT_ON);
    assertThat(watch.failing()).isTrue();
  }

  @Test
  void anAnswerThatComesTooLateHasFailed() {
    watch.start(0);
    watch.onBegun(0);
    watch.due(true, ms(3_000));
    assertThat(watch.onFinished(true, ms(3_100))).isFalse();
    assertThat(watch.failures()).isEqualTo(1);
    assertThat(watch.due(true, ms(3_100)))
        .as("the next is due at once")
        .isEqualTo(HealthCheckAction.CHECK);
  }

  private void fail(int times) {
    for (int i = 0; i < times; i++) {
      watch.start(0);
      watch.onFinished(false, 0);
    }
  }
}
