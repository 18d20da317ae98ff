package dev.berth.cluster.membership;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("simulation")
class MembershipSimulationTest {
  private static final long BASE = Long.getLong("membership.base", 1);
  private static final int SEEDS = Integer.getInteger("membership.seeds", 200);

  @Test
  void promisesAreKeptWhateverBefallsNodesAndTheController() {
    Map<MembershipSimulation.Fault, Integer> faults =
        new EnumMap<>(MembershipSimulation.Fault.class);
    int lost = 0;
    int doubted = 0;
    for (long seed = BASE; seed < BASE + SEEDS; seed++) {
      MembershipSimulation.Outcome outcome = run(seed);
      outcome.faults().forEach((fault, times) -> faults.merge(fault, times, Integer::sum));
      lost += outcome.lost();
      doubted += outcome.doubted() ? 1 : 0;
    }
    System.out.printf("membership: %d lost, %d runs in doubt, %s%n", lost, doubted, faults);
    assertThat(faults).hasSize(MembershipSimulation.Fault.values().length);
    assertThat(lost).isGreaterThan(SEEDS);
    assertThat(doubted).isPositive();
  }

  @Test
  void theSameSeedIsTheSameRun() {
    assertThat(run(1).hash()).isEqualTo(run(1).hash()).isNotEqualTo(run(2).hash());
  }

  private static MembershipSimulation.Outcome run(long seed) {
    try {
      return new MembershipSimulation(seed).run();
    } catch (RuntimeException | AssertionError failed) {
      throw new AssertionError(
          "seed " + seed + "; replay: -Dmembership.seeds=1 -Dmembership.base=" + seed, failed);
    }
  }
}
