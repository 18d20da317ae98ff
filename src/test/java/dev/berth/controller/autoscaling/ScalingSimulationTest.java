package dev.berth.controller.autoscaling;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.autoscaling.ScalingWorld.Run;
import java.util.Locale;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What must hold under any load, with seeds; and ours beside others', to be looked at. */
class ScalingSimulationTest {
  private static final int SEEDS = 2;
  private static final double START_S = 20;
  private static final int MAX = 60;

  private static final ScalingRules RULES =
      Rules.of("min_replicas=0 max_replicas=60 upscale_delay_s=10 downscale_delay_s=60");

  private static Run run(Scaler scaler, Trace trace, long seed) {
    return ScalingWorld.run(scaler, trace.rates(seed), START_S, 1);
  }

  private static Run ours(Trace trace, long seed) {
    return run(new BerthScaler("Berth", RULES, 3), trace, seed);
  }

  /** Replicas that the highest rate needs, by Little's law. */
  private static double needed(Trace trace, long seed) {
    double most = 0;
    for (double rate : trace.rates(seed)) {
      most = Math.max(most, rate);
    }
    return most * ScalingWorld.SERVICE_S / RULES.target();
  }

  @ParameterizedTest
  @EnumSource(Trace.class)
  void theBoundsHoldAndTheSameSeedIsTheSameRun(Trace trace) {
    for (long seed = 1; seed <= SEEDS; seed++) {
      Run run = ours(trace, seed);
      assertThat(run.wanted()).allMatch(wanted -> wanted >= 0 && wanted <= MAX);
      assertThat(seed > 1 || ours(trace, seed).equals(run)).isTrue();
    }
  }

  @Test
  void aSteadyLoadIsMetAndThenNothingMoves() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      Run run = ours(Trace.STEADY, seed);
      assertThat(run.turns()).as("seed %d", seed).isLessThanOrEqualTo(1);
      int half = run.wanted().size() / 2;
      int end = run.wanted().get(run.wanted().size() - 1);
      assertThat(run.wanted().subList(half, run.wanted().size())).containsOnly(end);
      assertThat(end - needed(Trace.STEADY, seed)).as("seed %d", seed).isBetween(0.0, 1.01);
    }
  }

  @Test
  void startingReplicasAreAwaitedAndNotAskedForTwice() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      double needed = needed(Trace.STEADY, seed);
      int[] most = new int[2];
      for (int counted = 0; counted < 2; counted++) {
        ScalingRules rules =
            Rules.of("max_replicas=10000 upscale_delay_s=10 count_starting=%s", counted);
        most[counted] = run(new BerthScaler("", rules, 3), Trace.STEADY, seed).most();
      }
      // What had gathered when the delay ended, and no more.
      assertThat(most[1]).as("seed %d", seed).isLessThan((int) (20 * needed));
      assertThat(most[0]).as("seed %d", seed).isGreaterThan(3 * most[1]);
    }
  }

  @ParameterizedTest
  @EnumSource(Trace.class)
  void nothingIsStoppedWhileAnInstanceIsSilent(Trace trace) {
    for (long seed = 1; seed <= SEEDS; seed++) {
      Scaler scaler = new BerthScaler("silent", RULES, 3).silent(250, 650);
      Run run = run(scaler, trace, seed);
      int from = (int) (261 / ScalingWorld.STEP_S);
      int to = (int) (650 / ScalingWorld.STEP_S);
      assertThat(IntStream.range(from, to))
          .as("%s, seed %d", trace, seed)
          .allMatch(i -> run.wanted().get(i) >= run.wanted().get(i - 1));
    }
  }

  @Test
  void aDeploymentWithoutRequestsGoesAndComesBackAtOnce() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      double[] rates = Trace.SPIKES.rates(seed);
      Run run = ours(Trace.SPIKES, seed);
      assertThat(run.wanted()).as("seed %d", seed).contains(0);
      for (int i = 2; i < rates.length; i++) {
        boolean comes = rates[i] > 0 && rates[i - 1] == 0 && run.wanted().get(i - 1) == 0;
        assertThat(!comes || run.wanted().get(i + 1) > 0).as("step %d", i).isTrue();
      }
    }
  }

  /** Printed, not judged: the rules were fixed before; the figures are of load-tests. */
  @Test
  void oursBesideRaysAndKnatives() {
    for (Trace trace : Trace.values()) {
      for (Scaler scaler :
          new Scaler[] {
            new BerthScaler("Berth", RULES, 3), new RayScaler(RULES), new KnativeScaler(RULES)
          }) {
        Run run = run(scaler, trace, 11);
        assertThat(run.wanted()).allMatch(wanted -> wanted >= 0 && wanted <= MAX);
        System.out.printf(
            Locale.ROOT,
            "%-8s %-10s replica-s %7.0f  late %5.1f %%  turns %3d  most %3d%n",
            trace,
            scaler.name(),
            run.replicaSeconds(),
            100 * run.late(),
            run.turns(),
            run.most());
      }
    }
  }
}
