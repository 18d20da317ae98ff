package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.metrics.ShadowMeters.ShadowEvent;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Routes of several deployments whose traffic changes, and shadows that cost their users nothing.
 */
@Tag("simulation")
class TrafficSimulationTest extends SeededRuns<TrafficSimulation.Result> {
  /** More with {@code -Dsimulation.traffic.seeds=N}. */
  private static final int SEEDS = Integer.getInteger("simulation.traffic.seeds", 60);

  /** Of so few draws chance says little; they count where all stretches are taken together. */
  private static final double LEAST_VARIANCE = 9;

  /** What the tasks of copies may delay others by on a loop that they share. */
  private static final double LOOP_NANOS = 50_000;

  TrafficSimulationTest() {
    super("simulation.traffic.seed", TrafficSimulationTest::both, 1);
  }

  private static TrafficSimulation.Result both(long seed) {
    TrafficSimulation.calm(seed, true, 1);
    return TrafficSimulation.run(seed);
  }

  @Test
  void whateverChangesEveryoneHasOneAnswerAndEachSideItsShare() {
    assumeAllSeeds();
    Map<TrafficSimulation.Met, Integer> met = new EnumMap<>(TrafficSimulation.Met.class);
    Map<String, Integer> answers = new HashMap<>();
    Map<ShadowEvent, Long> copies = new EnumMap<>(ShadowEvent.class);
    Shares shares = new Shares();
    long events = 0;
    LongStream seeds = LongStream.range(Seeds.BASE, Seeds.BASE + SEEDS);
    for (TrafficSimulation.Result result : SeedFailures.runAll(seeds, TrafficSimulation::run)) {
      events += result.events();
      result.met().forEach((what, times) -> met.merge(what, times, Integer::sum));
      result.answers().forEach((what, times) -> answers.merge(what, times, Integer::sum));
      result.copies().forEach((what, times) -> copies.merge(what, times, Long::sum));
      result.drawn().forEach(shares::add);
    }
    System.out.printf(
        "simulation of traffic: %,d seeds from %d, %,d events, %s, answers %s, copies %s, %s%n",
        SEEDS, Seeds.BASE, events, met, answers, copies, shares);
    shares.check();
    if (Seeds.areOfEveryBuild()) {
      assertThat(met).as("what no seed reached").containsOnlyKeys(TrafficSimulation.Met.values());
    }
  }

  /** How far sides were from their shares, in each stretch in which the weights held. */
  private static final class Shares {
    private final double[] off = new double[4]; // by side
    private final double[] variance = new double[4];
    private int stretches;
    private int beyond; // three sigma

    void add(TrafficUsers.Stretch stretch, int[] drawn) {
      int n = Arrays.stream(drawn).sum();
      for (int side = 0; side < drawn.length; side++) {
        double share = stretch.share(side);
        double square = n * share * (1 - share);
        double distance = drawn[side] - n * share;
        int at = stretch.sides().get(side).name().charAt(1) - '0';
        off[at] += distance;
        variance[at] += square;
        if (share == 0) {
          assertThat(drawn[side]).as("%s without weight", stretch).isZero();
        }
        if (square >= LEAST_VARIANCE) {
          stretches++;
          beyond += Math.abs(distance) > 3 * Math.sqrt(square) ? 1 : 0;
          assertThat(Math.abs(distance)).as("%s", stretch).isLessThan(5 * Math.sqrt(square));
        }
      }
    }

    double sigmas(int side) {
      return off[side] / Math.sqrt(variance[side]);
    }

    void check() {
      assertThat(beyond).as("%s", this).isLessThanOrEqualTo(1 + stretches / 100);
      for (int side = 0; side < off.length; side++) {
        assertThat(Math.abs(sigmas(side))).as("%s", this).isLessThan(3);
      }
    }

    @Override
    public String toString() {
      return "sides off by %.1f, %.1f, %.1f, %.1f sigma; %d of %d stretches beyond 3"
          .formatted(sigmas(0), sigmas(1), sigmas(2), sigmas(3), beyond, stretches);
    }
  }

  @Test
  void shadowsAtThreeTimesTheirLoadCostUsersNothing() {
    assumeAllSeeds();
    Map<String, double[]> differences = new LinkedHashMap<>();
    Map<ShadowEvent, Long> copies = new EnumMap<>(ShadowEvent.class);
    long events = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
      TrafficSimulation.Result one = TrafficSimulation.calm(Seeds.BASE + seed, false, 1);
      TrafficSimulation.Result other = TrafficSimulation.calm(Seeds.BASE + seed, false, 2);
      TrafficSimulation.Result with = TrafficSimulation.calm(Seeds.BASE + seed, true, 1);
      with.copies().forEach((what, times) -> copies.merge(what, times, Long::sum));
      events += one.events() + other.events() + with.events();
      for (int percent : new int[] {50, 99}) {
        long base = percentile(one.waits(), percent);
        differences.computeIfAbsent("A/A p" + percent, made -> new double[SEEDS])[seed] =
            percentile(other.waits(), percent) - base;
        differences.computeIfAbsent("A/B p" + percent, made -> new double[SEEDS])[seed] =
            percentile(with.waits(), percent) - base;
      }
    }
    StringBuilder told = new StringBuilder();
    differences.forEach(
        (what, each) ->
            told.append(
                ", %s %.0f ± %.0f µs".formatted(what, mean(each) / 1e3, error(each) / 1e3)));
    System.out.printf(
        "simulation of shadows: %,d seeds from %d, %,d events%s, copies %s%n",
        SEEDS, Seeds.BASE, events, told, copies);
    for (int percent : new int[] {50, 99}) {
      assertThat(mean(differences.get("A/B p" + percent)))
          .as("users wait longer beside shadows%s", told)
          .isLessThan(3 * error(differences.get("A/A p" + percent)) + LOOP_NANOS);
    }
    assertThat(copies.get(ShadowEvent.SKIPPED_BUSY))
        .as("%s", copies)
        .isGreaterThan(copies.get(ShadowEvent.COPIED));
    assertThat(copies.get(ShadowEvent.COPIED)).isPositive();
  }

  private static double mean(double[] each) {
    return Arrays.stream(each).sum() / each.length;
  }

  /** Of the mean, around zero. */
  private static double error(double[] each) {
    double squares = Arrays.stream(each).map(one -> one * one).sum();
    return Math.sqrt(squares) / each.length;
  }

  /** Of sorted figures. */
  private static long percentile(long[] sorted, int percent) {
    return sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
  }
}
