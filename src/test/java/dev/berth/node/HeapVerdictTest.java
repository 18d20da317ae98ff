package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class HeapVerdictTest {
  private static final long MAX = 1_000;

  private final HeapVerdict verdict = new HeapVerdict();
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
        new HeapVerdict.Sight(
            liveBytes, MAX, collections, gcMillis, TimeUnit.SECONDS.toNanos(seconds)));
  }

  @Test
  void aHeapThatStaysFullForTenSecondsIsTheEnd() {
    looked(0, 0);
    for (int second = 0; second < 10; second++) {
      assertThat(collected(960, 100)).as("second %s", second).isNull();
    }
    assertThat(collected(960, 100)).contains("96 %").contains("1000 bytes");
  }

  @Test
  void aLiveSetOfNinetyPercentIsNoReasonForTenMinutes() {
    for (int second = 0; second < 600; second++) {
      assertThat(collected(900 + second % 50, 900)).isNull();
    }
  }

  @Test
  void oneCollectionThatFoundRoomBeginsTheTimeAnew() {
    looked(0, 0);
    for (int second = 0; second < 100; second++) {
      assertThat(collected(second % 9 == 8 ? 950 : 999, 100)).isNull();
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
    assertThat(verdict.wantsCollection(foundNanos + HeapVerdict.PATIENCE_NANOS - 1)).isFalse();
    assertThat(verdict.wantsCollection(foundNanos + HeapVerdict.PATIENCE_NANOS)).isTrue();
    collected(500, 100);
    assertThat(verdict.wantsCollection(foundNanos + HeapVerdict.PATIENCE_NANOS)).isFalse();
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
  void aCollectorThatTakesAllTheTimeIsTheEnd() {
    looked(0, 0);
    for (int second = 0; second < 9; second++) {
      assertThat(collected(500, 990)).as("second %s", second).isNull();
    }
    assertThat(collected(500, 990)).contains("98 % of the time");
  }

  @Test
  void aSecondInWhichTheProcessRanBeginsTheTimeAnew() {
    looked(0, 0);
    for (int second = 0; second < 100; second++) {
      assertThat(collected(500, second % 9 == 8 ? 970 : 1_000)).isNull();
    }
  }

  @Test
  void onePauseHoweverLongIsNoState() {
    looked(0, 0);
    seconds += 59;
    assertThat(collected(500, 60_000)).isNull();
    assertThat(looked(500, 0)).isNull();
  }
}
