package dev.berth.cluster.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClockOffsetTest {
  private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long SECOND = 1_000 * MS;

  /** What the peer's clock is ahead, and by how much faster it goes, in ppm. */
  private long ahead = -9_000 * SECOND;

  private long ppm;
  private long now = 5 * SECOND;
  private final ClockOffset clock = new ClockOffset();

  private long peer(long own) {
    return own + ahead + own / 1_000_000 * ppm;
  }

  /** A ping there and back. */
  private void ping(long there, long back) {
    long sent = now;
    now += there + back;
    clock.onPong(sent, peer(sent + there), now);
  }

  /** How old a frame seems that was sent so long ago. */
  private long age(long ago) {
    return now - clock.sentNanos(peer(now - ago));
  }

  private boolean isPlausible(long ago) {
    return clock.isPlausible(clock.sentNanos(peer(now - ago)), now);
  }

  @Test
  void nothingIsKnownBeforeAnAnswer() {
    assertThat(clock.known).isFalse();
    ping(MS, MS);
    assertThat(clock.known).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "0, 20", "20, 0"})
  void aFrameSeemsNoYoungerThanItIsAndOlderByOneWayAtMost(long there, long back) {
    ping(there * MS, back * MS);
    assertThat(age(7 * MS)).isBetween(7 * MS, (7 + there) * MS);
    assertThat(isPlausible(0)).isTrue();
  }

  @Test
  void theNearestAnswerCounts() {
    ping(40 * MS, 3 * MS);
    ping(MS, MS);
    now += SECOND;
    ping(500 * MS, MS);
    assertThat(age(0)).isBetween(0L, MS);
  }

  @ParameterizedTest
  @CsvSource({"1, 500", "2, -500", "3, 0"})
  void clocksThatDriftAreFollowed(long seed, long drift) {
    ppm = drift;
    Random random = new Random(seed);
    for (int i = 0; i < 7_200; i++) {
      ping(random.nextLong(MS), random.nextLong(random.nextInt(10) == 0 ? 300 * MS : MS));
      assertThat(isPlausible(0)).as("at %d", i).isTrue();
      assertThat(age(0)).as("at %d", i).isBetween(-5 * MS, 5 * MS);
      now += SECOND / 2;
    }
  }

  @Test
  void whatAPeerSentBeforeItsClockStoodStillIsAsOldAsItIs() {
    ping(MS, MS);
    long sent = peer(now);
    now += 10 * SECOND;
    ahead -= 10 * SECOND; // it was suspended
    assertThat(now - clock.sentNanos(sent)).isGreaterThanOrEqualTo(10 * SECOND);
    assertThat(age(0)).as("until the next answer").isGreaterThanOrEqualTo(10 * SECOND);
    ping(3 * MS, 3 * MS);
    assertThat(age(0)).isBetween(0L, 3 * MS);
  }

  @Test
  void aFrameFromTheFutureSaysThatOnesOwnClockStoodStill() {
    ping(MS, MS);
    now += SECOND / 2;
    assertThat(isPlausible(0)).isTrue();
    ahead += 10 * SECOND; // the own one was suspended
    assertThat(isPlausible(0)).isFalse();
    assertThat(isPlausible(9 * SECOND)).isFalse();
    ping(MS, MS);
    assertThat(isPlausible(0)).isTrue();
    assertThat(age(0)).isBetween(0L, MS);
  }
}
