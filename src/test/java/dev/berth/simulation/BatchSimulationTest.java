package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The claims of {@link SimulationTest}, of two to four instances whose replicas take batches. */
@Tag("simulation")
class BatchSimulationTest extends SeededRuns<Simulation.Result> {
  /** 200 in every build; more with {@code -Dsimulation.seeds=N}. */
  private static final int SEEDS = Integer.getInteger("simulation.seeds", 200);

  BatchSimulationTest() {
    super("simulation.batch.seed", Simulation::runBatches, Simulation.LEAST_EVENTS_OF_BATCHES);
  }

  @Test
  void everyRequestIsInOneBatchWithinItsBoundsAndNoneWaitsInVain() {
    assumeAllSeeds();
    long started = System.nanoTime();
    LongStream seeds = LongStream.range(Seeds.BASE, Seeds.BASE + SEEDS).parallel();
    List<Simulation.Result> results = SeedFailures.runAll(seeds, Simulation::runBatches);
    Coverage coverage = new Coverage();
    results.forEach(each -> coverage.add(each.coverage()));
    System.out.printf(
        "batches: %,d seeds from %d, %,d requests in %.1f s%n%s",
        results.size(),
        Seeds.BASE,
        results.stream().mapToInt(Simulation.Result::requests).sum(),
        (System.nanoTime() - started) / 1e9,
        coverage.table());
    if (Seeds.areOfEveryBuild()) {
      assertThat(coverage.missingOfBatches()).as("what no seed reached").isEmpty();
    }
  }
}
