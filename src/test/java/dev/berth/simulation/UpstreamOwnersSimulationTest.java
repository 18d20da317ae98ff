package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.simulation.UpstreamFaults.FaultKind;
import dev.berth.simulation.UpstreamOwnersSimulation.UpstreamRun;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Upstreams of a cluster never run more requests than their maxima, whichever nodes own them. */
@Tag("simulation")
class UpstreamOwnersSimulationTest extends SeededRuns<UpstreamRun> {
  private static final int SEEDS = Integer.getInteger("simulation.upstreams.seeds", 200);

  UpstreamOwnersSimulationTest() {
    super("simulation.upstreams.seed", UpstreamOwnersSimulation::run, 1_000);
  }

  @Test
  void maximumHoldsAtEachEventAndOpensWhollyAfterFaults() {
    assumeAllSeeds();
    Map<FaultKind, List<Long>> gaps = new EnumMap<>(FaultKind.class);
    Map<FaultKind, Integer> faults = new EnumMap<>(FaultKind.class);
    Map<String, Long> sums = new TreeMap<>();
    Map<String, Long> most = new TreeMap<>();
    long events = 0;
    for (UpstreamRun run : allSeeds(SEEDS)) {
      events += run.events();
      run.faults().forEach((kind, times) -> faults.merge(kind, times, Integer::sum));
      run.gaps()
          .forEach((kind, all) -> gaps.computeIfAbsent(kind, a -> new ArrayList<>()).addAll(all));
      run.counts().forEach((name, count) -> sums.merge(name, count, Long::sum));
      run.counts().forEach((name, count) -> most.merge(name, count, Math::max));
    }
    System.out.printf(
        "simulation of owners of upstreams: %,d seeds from %d, %,d events, sums %s, most %s%n",
        SEEDS, Seeds.BASE, events, sums, most);
    gaps.forEach(
        (kind, all) -> {
          all.sort(null);
          System.out.printf(
              "  %-10s %,5d faults, %,5d gaps, median %,7d ms, longest %,7d ms%n",
              kind,
              faults.getOrDefault(kind, 0),
              all.size(),
              all.get(all.size() / 2),
              all.get(all.size() - 1));
        });
    if (Seeds.areOfEveryBuild()) {
      assertThat(faults).containsOnlyKeys(FaultKind.values());
      assertThat(sums.values()).allMatch(count -> count > 0);
    }
  }
}
