package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("simulation")
class SimulationTest extends SeededRuns<Simulation.Result> {
  /** 200 in every build; more with {@code -Dsimulation.seeds=N}. */
  private static final int SEEDS = Integer.getInteger("simulation.seeds", 200);

  private static final int THREADS = 2;

  /** A run takes a tenth of a second. */
  private static final int HANGS_AFTER_SECONDS = 120;

  private static final Set<Long> UNDER_WAY = ConcurrentHashMap.newKeySet();

  SimulationTest() {
    super("simulation.seed", Simulation::run, Simulation.LEAST_EVENTS);
  }

  @Test
  void everySeedKeepsEveryInvariantAndTogetherTheyReachEverything() throws Exception {
    assumeAllSeeds();
    long started = System.nanoTime();
    List<Simulation.Result> results = runAll();
    Coverage coverage = new Coverage();
    long events = 0;
    long requests = 0;
    for (Simulation.Result result : results) {
      assertThat(result.events()).isGreaterThanOrEqualTo(Simulation.LEAST_EVENTS);
      events += result.events();
      requests += result.requests();
      coverage.add(result.coverage());
    }
    System.out.printf(
        "simulation: %,d seeds from %d, %,d events, %,d requests in %.1f s%n%s",
        results.size(),
        Seeds.BASE,
        events,
        requests,
        (System.nanoTime() - started) / 1e9,
        coverage.table());
    if (Seeds.areOfEveryBuild()) {
      assertThat(coverage.missing()).as("what no seed reached").isEmpty();
    }
  }

  private static Simulation.Result run(long seed) {
    UNDER_WAY.add(seed);
    try {
      return Simulation.run(seed);
    } finally {
      UNDER_WAY.remove(seed);
    }
  }

  private static List<Simulation.Result> runAll() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    SeedFailures<Simulation.Result> all = new SeedFailures<>(SimulationTest::run);
    try {
      List<Future<Simulation.Result>> running = new ArrayList<>();
      for (long seed = Seeds.BASE; seed < Seeds.BASE + SEEDS; seed++) {
        long each = seed;
        running.add(threads.submit(() -> all.run(each)));
      }
      List<Simulation.Result> results = new ArrayList<>();
      for (Future<Simulation.Result> run : running) {
        results.add(run.get(HANGS_AFTER_SECONDS, TimeUnit.SECONDS));
      }
      all.throwIfAny();
      return results;
    } catch (TimeoutException hanging) {
      throw new SimulationFailure("one of these runs does not end: " + UNDER_WAY, hanging);
    } finally {
      threads.shutdownNow();
    }
  }
}
