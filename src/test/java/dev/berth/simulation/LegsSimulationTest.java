package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Slots of several deployments at once: no deadlock, no livelock, no leak. */
@Tag("simulation")
class LegsSimulationTest {
  /** More with {@code -Dsimulation.legs.seeds=N}. */
  private static final int SEEDS = Integer.getInteger("simulation.legs.seeds", 60);

  @Test
  @DisabledIfSystemProperty(named = "simulation.legs.seed", matches = ".+")
  void everyoneIsServedOrEndsByTheDeadlineAndNothingIsLeft() {
    EnumMap<LegsWorkload.Outcome, Integer> outcomes = new EnumMap<>(LegsWorkload.Outcome.class);
    long events = 0;
    long anew = 0;
    int gated = 0;
    for (long seed = Seeds.BASE; seed < Seeds.BASE + SEEDS; seed++) {
      LegsSimulation.Result result = LegsSimulation.run(seed);
      result.outcomes().forEach((outcome, times) -> outcomes.merge(outcome, times, Integer::sum));
      events += result.events();
      anew += result.anew();
      gated = Math.max(gated, result.gated());
    }
    System.out.printf(
        "simulation of legs: %,d seeds from %d, %,d events, %s, begun anew %,d, at a gate at most %,d%n",
        SEEDS, Seeds.BASE, events, outcomes, anew, gated);
    if (Seeds.areOfEveryBuild()) {
      assertThat(outcomes)
          .as("what no seed reached")
          .containsOnlyKeys(LegsWorkload.Outcome.values());
      assertThat(anew).as("collections begun anew").isPositive();
      assertThat(gated).as("waiting at a gate").isGreaterThan(1);
    }
  }

  @Test
  @DisabledIfSystemProperty(named = "simulation.legs.seed", matches = ".+")
  void theSameSeedIsTheSameRun() {
    for (long seed = 1; seed <= 2; seed++) {
      assertThat(LegsSimulation.run(seed).hash())
          .as("seed %d", seed)
          .isEqualTo(LegsSimulation.run(seed).hash());
    }
    assertThat(LegsSimulation.run(1).hash()).isNotEqualTo(LegsSimulation.run(2).hash());
  }

  @Test
  @EnabledIfSystemProperty(named = "simulation.legs.seed", matches = ".+")
  void theSeedAskedForKeepsItsPromises() {
    LegsSimulation.Result result = LegsSimulation.run(Long.getLong("simulation.legs.seed"));
    System.out.printf("simulation of legs: %s%n", result);
    assertThat(result.events()).isPositive();
  }
}
