package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.util.List;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What the tests of all simulations ask of them; the claim of all seeds is each one's own. */
abstract class SeededRuns<R extends SeededRuns.Result> {
  /** What a run came to. */
  interface Result {
    long hash();

    long events();
  }

  private final LongFunction<R> runs;
  private final long leastEvents;
  private final @Nullable Long asked;

  /**
   * @param property that asks for one seed alone
   */
  SeededRuns(String property, LongFunction<R> runs, long leastEvents) {
    this.runs = runs;
    this.leastEvents = leastEvents;
    this.asked = Long.getLong(property);
  }

  /** Else one seed alone is asked for. */
  final void assumeAllSeeds() {
    assumeThat(asked).isNull();
  }

  /** Runs as many seeds from the base on; fails with each one that failed, once all have run. */
  final List<R> allSeeds(int seeds) {
    return SeedFailures.runAll(LongStream.range(Seeds.BASE, Seeds.BASE + seeds), runs);
  }

  @Test
  void theSameSeedIsTheSameRun() {
    assumeAllSeeds();
    for (long seed = 1; seed <= 2; seed++) {
      assertThat(runs.apply(seed).hash())
          .as("seed %d", seed)
          .isEqualTo(runs.apply(seed).hash())
          .isNotEqualTo(runs.apply(3 - seed).hash());
    }
  }

  @Test
  void theSeedAskedForKeepsItsPromises() {
    assumeThat(asked).isNotNull();
    R result = runs.apply(asked);
    System.out.printf("simulation: %s%n", result);
    assertThat(result.events()).isGreaterThanOrEqualTo(leastEvents);
  }
}
