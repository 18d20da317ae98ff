package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class RollingMaxTest {
  private static final long SECOND = RollingMax.STEP_NANOS / 10;

  private final RollingMax max = new RollingMax();

  @Test
  void beforeTheFirstValueItIsZero() {
    assertThat(max.max(0)).isZero();
    assertThat(max.max(Long.MIN_VALUE / 2)).isZero();
  }

  @Test
  void theLargestValueIsRememberedForTheWindow() {
    max.add(7, 100 * SECOND);
    max.add(3, 105 * SECOND);
    assertThat(max.max(105 * SECOND)).isEqualTo(7);
    assertThat(max.max(159 * SECOND)).isEqualTo(7);
    assertThat(max.max(160 * SECOND)).isZero();
  }

  @Test
  void whatComesLaterReplacesWhatHasLeftTheWindow() {
    max.add(7, 100 * SECOND);
    max.add(3, 130 * SECOND);
    assertThat(max.max(159 * SECOND)).isEqualTo(7);
    assertThat(max.max(165 * SECOND)).isEqualTo(3);
    max.add(1, 160 * SECOND); // the place of the 7
    assertThat(max.max(165 * SECOND)).isEqualTo(3);
    assertThat(max.max(195 * SECOND)).isEqualTo(1);
  }

  @Test
  void aClockBelowZeroIsAClockToo() {
    max.add(5, -3 * SECOND);
    assertThat(max.max(-1 * SECOND)).isEqualTo(5);
    assertThat(max.max(49 * SECOND)).isEqualTo(5);
    assertThat(max.max(50 * SECOND)).isZero();
  }

  @Test
  void itAgreesWithAListOfAllValues() {
    long seed = 20;
    SplittableRandom random = new SplittableRandom(seed);
    TreeMap<Long, Long> largestOfStep = new TreeMap<>();
    long now = -1_000 * SECOND;
    for (int i = 0; i < 5_000; i++) {
      now += random.nextInt(12) * SECOND;
      long value = random.nextInt(1000);
      max.add(value, now);
      long step = Math.floorDiv(now, RollingMax.STEP_NANOS);
      largestOfStep.merge(step, value, Math::max);
      long expected =
          largestOfStep.tailMap(step - RollingMax.STEPS, false).values().stream()
              .mapToLong(v -> v)
              .max()
              .orElse(0);
      assertThat(max.max(now)).as("seed %d, value %d", seed, i).isEqualTo(expected);
    }
  }
}
