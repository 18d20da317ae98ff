package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Who reads gets every answer whole, whoever else does not. */
@Tag("simulation")
class CrowdSimulationTest {
  /** More with {@code -Dsimulation.crowd.seeds=N}. */
  private static final int SEEDS = Integer.getInteger("simulation.crowd.seeds", 25);

  /** The first one; {@code -Dsimulation.base=N}. */
  private static final long BASE = Long.getLong("simulation.base", 1);

  @Test
  @DisabledIfSystemProperty(named = "simulation.crowd.seed", matches = ".+")
  void besideACrowdThatReadsNothingWhoReadsGetsAll() {
    Set<CrowdSimulation.Met> met = EnumSet.noneOf(CrowdSimulation.Met.class);
    long events = 0;
    long cut = 0;
    for (long seed = BASE; seed < BASE + SEEDS; seed++) {
      CrowdSimulation.Result result = CrowdSimulation.run(seed);
      met.addAll(result.met());
      events += result.events();
      cut += result.cut();
    }
    System.out.printf(
        "simulation of crowds: %,d seeds, %,d events, %,d cut, met %s%n", SEEDS, events, cut, met);
    assertThat(met).as("what no seed reached").contains(CrowdSimulation.Met.values());
  }

  @Test
  @DisabledIfSystemProperty(named = "simulation.crowd.seed", matches = ".+")
  void theSameSeedIsTheSameRun() {
    assertThat(CrowdSimulation.run(1).hash()).isEqualTo(CrowdSimulation.run(1).hash());
    assertThat(CrowdSimulation.run(1).hash()).isNotEqualTo(CrowdSimulation.run(2).hash());
  }

  @Test
  @EnabledIfSystemProperty(named = "simulation.crowd.seed", matches = ".+")
  void theSeedAskedForKeepsItsPromises() {
    CrowdSimulation.Result result = CrowdSimulation.run(Long.getLong("simulation.crowd.seed"));
    System.out.printf("simulation of crowds: %s%n", result);
    assertThat(result.events()).isPositive();
  }
}
