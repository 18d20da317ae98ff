package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.DeploymentStatus;
import java.util.EnumMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Whatever is declared and whatever fails, what runs comes to be what was declared last. */
@Tag("simulation")
class LifecycleSimulationTest {
  /** More with {@code -Dsimulation.lifecycle.seeds=N}. */
  private static final int SEEDS = Integer.getInteger("simulation.lifecycle.seeds", 120);

  @Test
  @DisabledIfSystemProperty(named = "simulation.lifecycle.seed", matches = ".+")
  void whateverHappensItComesToBeAsDeclaredLast() {
    EnumMap<LifecycleFault, Integer> faults = new EnumMap<>(LifecycleFault.class);
    EnumMap<DeploymentStatus, Long> statuses = new EnumMap<>(DeploymentStatus.class);
    long events = 0;
    long refused = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      LifecycleSimulation.Result result = LifecycleSimulation.run(seed);
      result.faults().forEach((fault, times) -> faults.merge(fault, times, Integer::sum));
      result.statuses().forEach((status, times) -> statuses.merge(status, times, Long::sum));
      events += result.events();
      refused += result.refused();
    }
    System.out.printf(
        "simulation of lifecycles: %,d seeds, %,d events, %s, %s, commands of an older term"
            + " refused: %,d%n",
        SEEDS, events, faults, statuses, refused);
    assertThat(faults).as("what no seed reached").containsOnlyKeys(LifecycleFault.values());
    assertThat(statuses).as("what no seed reached").containsOnlyKeys(DeploymentStatus.values());
  }

  @Test
  @DisabledIfSystemProperty(named = "simulation.lifecycle.seed", matches = ".+")
  void theSameSeedIsTheSameRun() {
    for (long seed = 1; seed <= 2; seed++) {
      assertThat(LifecycleSimulation.run(seed).hash())
          .as("seed %d", seed)
          .isEqualTo(LifecycleSimulation.run(seed).hash());
    }
    assertThat(LifecycleSimulation.run(1).hash()).isNotEqualTo(LifecycleSimulation.run(2).hash());
  }

  @Test
  @EnabledIfSystemProperty(named = "simulation.lifecycle.seed", matches = ".+")
  void theSeedAskedForKeepsItsPromises() {
    LifecycleSimulation.Result result =
        LifecycleSimulation.run(Long.getLong("simulation.lifecycle.seed"));

    System.out.printf("simulation of lifecycles: %s%n", result);
    assertThat(result.events()).isPositive();
  }
}
