package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Who reads gets every answer whole, whoever else does not. */
@Tag("simulation")
class CrowdSimulationTest extends SeededRuns<CrowdSimulation.Result> {
  /** More with {@code -Dsimulation.crowd.seeds=N}. */
  private static final int SEEDS = Integer.getInteger("simulation.crowd.seeds", 25);

  CrowdSimulationTest() {
    super("simulation.crowd.seed", CrowdSimulation::run, 1);
  }

  @Test
  void besideACrowdThatReadsNothingWhoReadsGetsAll() {
    assumeAllSeeds();
    Set<CrowdSimulation.Met> met = EnumSet.noneOf(CrowdSimulation.Met.class);
    long events = 0;
    long cut = 0;
    for (CrowdSimulation.Result result : allSeeds(SEEDS)) {
      met.addAll(result.met());
      events += result.events();
      cut += result.cut();
    }
    System.out.printf(
        "simulation of crowds: %,d seeds, %,d events, %,d cut, met %s%n", SEEDS, events, cut, met);
    assertThat(met).as("what no seed reached").contains(CrowdSimulation.Met.values());
  }
}
