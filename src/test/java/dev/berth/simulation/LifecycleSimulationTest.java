package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.berth.view.DeploymentStatus;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Whatever is declared and whatever fails, what runs comes to be what was declared last. */
@Tag("simulation")
class LifecycleSimulationTest extends SeededRuns<LifecycleSimulation.Result> {
  /** More with {@code -Dsimulation.lifecycle.seeds=N}. */
  private static final int SEEDS = Integer.getInteger("simulation.lifecycle.seeds", 120);

  private static final Logger LOG = (Logger) LoggerFactory.getLogger("dev.berth");

  @TempDir static Path folder;

  LifecycleSimulationTest() {
    super("simulation.lifecycle.seed", seed -> LifecycleSimulation.run(seed, folder), 1);
  }

  /** Everything fails there, and says so. */
  @BeforeAll
  static void silence() {
    LOG.setLevel(Level.OFF);
  }

  @AfterAll
  static void speakAgain() {
    LOG.setLevel(null);
  }

  @Test
  void whateverHappensItComesToBeAsDeclaredLast() {
    assumeAllSeeds();
    EnumMap<LifecycleFault, Integer> faults = new EnumMap<>(LifecycleFault.class);
    EnumMap<DeploymentStatus, Long> statuses = new EnumMap<>(DeploymentStatus.class);
    Map<String, Long> counts = new TreeMap<>();
    long events = 0;
    for (LifecycleSimulation.Result result : allSeeds(SEEDS)) {
      result.faults().forEach((fault, times) -> faults.merge(fault, times, Integer::sum));
      result.statuses().forEach((status, times) -> statuses.merge(status, times, Long::sum));
      events += result.events();
      result.counts().forEach((what, times) -> counts.merge(what, times, Long::sum));
    }
    System.out.printf(
        "simulation of lifecycles: %,d seeds from %d, %,d events, %s, %s, %s%n",
        SEEDS, Seeds.BASE, events, faults, statuses, counts);
    if (Seeds.areOfEveryBuild()) {
      assertThat(faults).as("what no seed reached").containsOnlyKeys(LifecycleFault.values());
      assertThat(statuses).as("what no seed reached").containsOnlyKeys(DeploymentStatus.values());
      assertThat(counts.values()).as("what no seed reached: %s", counts).doesNotContain(0L);
    }
  }
}
