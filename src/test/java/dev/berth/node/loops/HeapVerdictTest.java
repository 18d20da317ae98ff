package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HeapVerdictTest {
  private static final long MAX = 1_000;

  private final HeapExhaustionDetector verdict = new HeapExhaustionDetector();
  private long seconds;
  private long collections;
  private long gcMillis;

  /** A second later there was a collection that found so much, and took so long. */
  private @Nullable String collected(long liveBytes, long millis) {
    collections++;
    return looked(liveBytes, millis);
  }

  /** A second later. */
  private @Nullable String looked(long liveBytes, long millis) {
    gcMillis += millis;
    seconds++;
    return verdict.of(
        new HeapExhaustionDetector.HeapObservation(
            liveBytes, MAX, collections, gcMillis, TimeUnit.SECONDS.toNanos(seconds)));
  }

  @ParameterizedTest(name = "live {0}, collecting for {1} ms a second")
  @CsvSource({"960, 100, 10, 96 % of the 1000 bytes", "500, 990, 9, 98 % of the time"})
  void whatIsSoForTenSecondsIsTheEnd(long live, long millis, int well, String said) {
    looked(0, 0);
    for (int second = 0; second < well; second++) {
      assertThat(collected(live, millis)).as("second %s", second).isNull();
    }
    assertThat(collected(live, millis)).contains(said);
  }

  /** Each ninth second is as {@code then} says. */
  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "ninety percent and nearly all the time, 949, 900, 900, 900",
    "a collection that found room, 999, 100, 950, 100",
    "a second in which the process ran, 500, 1000, 500, 970"
  })
  void itIsNoneForTenMinutes(String why, long live, long millis, long liveThen, long millisThen) {
    looked(0, 0);
    for (int second = 0; second < 600; second++) {
      boolean then = second % 9 == 8;
      assertThat(collected(then ? liveThen : live, then ? millisThen : millis)).isNull();
    }
  }

  @Test
  void whatOneCollectionFoundIsNotFoundAgainByLooking() {
    looked(0, 0);
    assertThat(collected(990, 100)).isNull();
    for (int second = 0; second < 100; second++) {
      assertThat(looked(990, 0)).as("no collection has looked since").isNull();
    }
    assertThat(collected(500, 100)).as("and now it is free").isNull();
  }

  @Test
  void afterTenSecondsWithoutACollectionOneIsAskedFor() {
    looked(0, 0);
    collected(990, 100);
    long foundNanos = TimeUnit.SECONDS.toNanos(seconds);
    assertThat(
            verdict.wantsCollection(
                foundNanos + HeapExhaustionDetector.EXHAUSTION_PERIOD_NANOS - 1))
        .isFalse();
    assertThat(verdict.wantsCollection(foundNanos + HeapExhaustionDetector.EXHAUSTION_PERIOD_NANOS))
        .isTrue();
    collected(500, 100);
    assertThat(verdict.wantsCollection(foundNanos + HeapExhaustionDetector.EXHAUSTION_PERIOD_NANOS))
        .isFalse();
  }

  @Test
  void aCollectionWithoutACountIsKnownByWhatItFound() {
    looked(0, 0);
    String said = null;
    for (int second = 0; second <= 10; second++) {
      said = looked(960 + second, 0);
    }
    assertThat(said).contains("97 %");
  }

  @Test
  void onePauseHoweverLongIsNoState() {
    looked(0, 0);
    seconds += 59;
    assertThat(collected(500, 60_000)).isNull();
    assertThat(looked(500, 0)).isNull();
  }
}
