package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.replica.HealthWatch.Act;
import java.time.Duration;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Times are in milliseconds from the start; the period is 1 s, the timeout 3 s. */
class HealthWatchTest {
  private final HealthWatch watch =
      new HealthWatch(new HealthCheckSettings(ms(1_000), ms(3_000)), new SplittableRandom(1), 0);

  private static long ms(long millis) {
    return Duration.ofMillis(millis).toNanos();
  }

  @Test
  void aCheckIsDueOnceAPeriodGiveOrTakeATenth() {
    assertThat(watch.due(true, ms(899))).isEqualTo(Act.NOTHING);
    long at = 900;
    for (int round = 0; round < 20; round++) {
      long before = at;
      while (watch.due(true, ms(at)) == Act.NOTHING) {
        at++;
      }
      if (round > 0) {
        assertThat(at - before).isBetween(900L, 1_101L);
      }
      watch.finished(true, ms(at));
    }
    assertThat(watch.failures()).isZero();
  }

  @Test
  void noSecondCheckStartsBesideOneThatRuns() {
    assertThat(watch.due(true, ms(1_200))).isEqualTo(Act.CHECK);
    assertThat(watch.due(true, ms(4_199))).isEqualTo(Act.NOTHING);
    watch.finished(true, ms(4_199));
    assertThat(watch.due(true, ms(4_200))).isEqualTo(Act.CHECK);
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
    watch.finished(true, 0);
    fail(2);
    assertThat(watch.failing()).isFalse();
  }

  @Test
  void aSuccessEndsFailing() {
    fail(5);
    watch.start(0);
    assertThat(watch.finished(true, 0)).isTrue();
    assertThat(watch.failing()).isFalse();
  }

  @Test
  void theTimeOfACheckRunsFromWhenItHasAThread() {
    assertThat(watch.due(true, ms(1_200))).isEqualTo(Act.CHECK);
    assertThat(watch.due(true, ms(60_000)))
        .as("nobody knows whether it is well")
        .isEqualTo(Act.NOTHING);
    assertThat(watch.nextLook(ms(60_000))).isGreaterThan(ms(60_000));
    watch.begun(ms(60_000));
    assertThat(watch.nextLook(ms(60_000))).isEqualTo(ms(63_000));
    assertThat(watch.due(true, ms(62_999))).isEqualTo(Act.NOTHING);
    assertThat(watch.due(true, ms(63_000))).isEqualTo(Act.INTERRUPT);
    assertThat(watch.failures()).isEqualTo(1);
  }

  @Test
  void aCheckThatHangsFailsAtItsTimeoutAndWithEachPeriodAfter() {
    watch.start(0);
    watch.begun(0);
    assertThat(watch.due(true, ms(2_999))).isEqualTo(Act.NOTHING);
    assertThat(watch.due(true, ms(3_000))).isEqualTo(Act.INTERRUPT);
    assertThat(watch.failures()).isEqualTo(1);
    assertThat(watch.due(true, ms(3_999))).isEqualTo(Act.NOTHING);
    assertThat(watch.due(true, ms(4_000))).isEqualTo(Act.WAIT_ON);
    assertThat(watch.failing()).isFalse();
    assertThat(watch.due(true, ms(5_000))).isEqualTo(Act.WAIT_ON);
    assertThat(watch.failing()).isTrue();
  }

  @Test
  void anAnswerThatComesTooLateHasFailed() {
    watch.start(0);
    watch.begun(0);
    watch.due(true, ms(3_000));
    assertThat(watch.finished(true, ms(3_100))).isFalse();
    assertThat(watch.failures()).isEqualTo(1);
    assertThat(watch.due(true, ms(3_100))).as("the next is due at once").isEqualTo(Act.CHECK);
  }

  private void fail(int times) {
    for (int i = 0; i < times; i++) {
      watch.start(0);
      watch.finished(false, 0);
    }
  }
}
