package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SeedFailuresTest {

  private static long failsForEven(long seed) {
    if (seed % 2 == 0) {
      throw new SimulationFailure("claim of " + seed + "\n  the last events");
    }
    return seed;
  }

  @Test
  void everyFailingSeedIsReportedAfterTheLastHasRun() {
    List<Long> ran = new ArrayList<>();
    assertThatThrownBy(
            () ->
                SeedFailures.runAll(
                    LongStream.rangeClosed(1, 5),
                    seed -> {
                      ran.add(seed);
                      return failsForEven(seed);
                    }))
        .isInstanceOf(SimulationFailure.class)
        .hasMessage(
            """
            2 seeds failed from %d on:
              seed 2: claim of 2
              seed 4: claim of 4"""
                .formatted(Seeds.BASE))
        .hasRootCauseMessage("claim of 2\n  the last events");
    assertThat(ran).containsExactly(1L, 2L, 3L, 4L, 5L);
  }

  @Test
  void resultsKeepTheOrderOfTheirSeeds() {
    assertThat(SeedFailures.runAll(LongStream.of(1, 5, 3), SeedFailuresTest::failsForEven))
        .containsExactly(1L, 5L, 3L);
  }
}
