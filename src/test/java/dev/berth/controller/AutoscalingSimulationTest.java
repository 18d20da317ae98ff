package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.AutoscaledFleet.Faults;
import dev.berth.controller.AutoscaledFleet.Moment;
import dev.berth.controller.autoscaling.Trace;
import dev.berth.metrics.MetricsPusher.ReportIntervals;
import dev.berth.simulation.Footprint;
import java.util.Arrays;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What must hold of a number of replicas that follows a load, whatever goes wrong meanwhile. */
@Tag("simulation")
class AutoscalingSimulationTest {
  private static final long BASE = Long.getLong("simulation.base", 1);
  private static final int SEEDS = Integer.getInteger("simulation.autoscaling.seeds", 3);
  private static final double STEP_S = 0.2;
  private static final double START_S = 8;
  private static final double UP_S = 10;
  private static final double LOOK_BACK_S = 20;
  private static final double TARGET = 2;
  private static final int MOST = 60;
  private static final String KEYS =
      "upscale_delay_s: 10, downscale_delay_s: 30, look_back_period_s: 20";

  /** Totals, sequences, terms and times, which grow with each life. */
  private static final Set<String> GROWS =
      Set.of(
          "controller.autoscaling.HandleReports$ReportingInstance.incarnation",
          "controller.autoscaling.HandleReports$ReportingInstance.sequence",
          "controller.autoscaling.LoadSeries.begin",
          "metrics.MetricsPusher.batches",
          "metrics.MetricsPusher.sequence",
          "metrics.MetricsPusher.signalled",
          "metrics.MetricsPusher.skipped",
          "metrics.MetricsPusher.term");

  private static long moments;

  @AfterAll
  static void told() {
    System.out.printf(
        "simulation of autoscaling: seeds from %d on, %d of each kind, %,d moments%n",
        BASE, SEEDS, moments);
  }

  private static AutoscaledFleet run(long seed, int least, double[] rates, Faults faults) {
    return run(seed, least, START_S, KEYS, rates, faults);
  }

  private static AutoscaledFleet run(
      long seed, int least, double startS, String keys, double[] rates, Faults faults) {
    AutoscaledFleet fleet =
        new AutoscaledFleet(
            seed, 3, AutoscaledFleet.rhythm(STEP_S, 1), startS, least, MOST, keys, faults);
    fleet.run(rates);
    moments += fleet.moments.size();
    assertThat(fleet.broken).as("seed %d", seed).isEmpty();
    return fleet;
  }

  private static double[] rates(Trace trace, long seed) {
    double[] tenths = trace.rates(seed);
    double[] rates = new double[tenths.length / 2];
    Arrays.setAll(rates, i -> tenths[2 * i]);
    return rates;
  }

  private static double needed(double rate) {
    return rate * AutoscaledFleet.SERVICE_S / TARGET;
  }

  private static LongStream seeds() {
    return LongStream.range(BASE, BASE + SEEDS);
  }

  /** A kind of its own for each seed, and one without. */
  private static Faults faults(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    double silent = 200 + random.nextInt(300);
    double fail = 100 + random.nextInt(300);
    return new Faults(
        random.nextDouble() / 3,
        silent,
        silent + random.nextInt(200),
        fail,
        fail + random.nextInt(90),
        random.nextInt(800));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void underAnyLoadAndFaultTheBoundsHoldAndNothingIsStoppedOnWhatIsNotKnown(long seed) {
    for (Trace trace : Trace.values()) {
      run(seed, (int) (seed & 1), rates(trace, seed), faults(seed)); // its own promises
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aSteadyLoadIsMetInBoundedTimeAndThenNothingMoves(long seed) {
    double[] rates = rates(Trace.STEADY, seed);
    AutoscaledFleet fleet = run(seed, 1, rates, Faults.NONE);
    double needed = needed(rates[0]);
    assertThat(fleet.met(0, needed)).isLessThanOrEqualTo(LOOK_BACK_S + 2 * (UP_S + START_S));
    // The last third: what gathered is worked off.
    assertThat(fleet.between(600, 900).stream().map(Moment::wanted).distinct().toList())
        .as("seed %d, needed %s", seed, needed)
        .hasSize(1)
        .allMatch(wanted -> wanted >= needed && wanted <= needed + 1.6);
    assertThat(fleet.turns).isLessThanOrEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aStepIsMetAndALossOfPushesMovesNothing(long seed) {
    double[] rates = new double[3000];
    double low = 10 + new SplittableRandom(seed).nextInt(30);
    Arrays.fill(rates, 0, 1500, low);
    Arrays.fill(rates, 1500, 3000, 2 * low);
    Faults lost = new Faults(0.3, 0, 0, 0, 0, -1);
    AutoscaledFleet fleet = run(seed, 1, rates, lost);
    assertThat(fleet.met(300, needed(2 * low)))
        .isLessThanOrEqualTo(LOOK_BACK_S + 2 * (UP_S + START_S));
    assertThat(fleet.between(200, 300).stream().map(Moment::wanted).distinct()).hasSize(1);
    assertThat(fleet.between(500, 600).stream().map(Moment::wanted).distinct()).hasSize(1);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aSpikeBringsTheFirstReplicaAtOnceAndZeroAfterTheDelays(long seed) {
    double[] rates = rates(Trace.SPIKES, seed);
    AutoscaledFleet fleet = run(seed, 0, rates, Faults.NONE);
    assertThat(fleet.moments).extracting(Moment::wanted).contains(0);
    for (int i = 1; i < rates.length; i++) {
      double at = i * STEP_S;
      if (rates[i] > 0 && rates[i - 1] == 0 && at < 880) {
        assertThat(fleet.met(at, 1)).as("seed %d, %.1f s", seed, at).isLessThan(START_S + 2);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aControllerThatStartsAnewChangesNothingUnderASteadyLoad(long seed) {
    double[] rates = rates(Trace.STEADY, seed);
    Faults restart = new Faults(0, 0, 0, 0, 0, 650 + seed % 50);
    AutoscaledFleet fleet = run(seed, 1, rates, restart);
    assertThat(fleet.between(600, 900).stream().map(Moment::wanted).distinct()).hasSize(1);
    assertThat(fleet.between(600, 900)).allMatch(at -> at.running() == at.wanted());
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aControllerThatStartsAnewStopsNothingBeforeAllHaveToldIt(long seed) {
    String hasty = KEYS.replace("downscale_delay_s: 30", "downscale_delay_s: 0");
    double at = 650 + seed % 50;
    Faults silent = new Faults(0, at - 1, at + 15, 0, 0, at);
    AutoscaledFleet fleet = run(seed, 1, START_S, hasty, rates(Trace.STEADY, seed), silent);
    assertThat(fleet.between(at - 1, at + 15).stream().map(Moment::wanted).distinct()).hasSize(1);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void replicasThatAreSlowToStartAreAwaited(long seed) {
    run(seed, 1, 90, KEYS, rates(Trace.RAMP, seed), Faults.NONE); // its own promises
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void replicasThatDoNotStartAreTriedSeldomAndWhatIsWantedIsThereAfterwards(long seed) {
    double[] rates = rates(Trace.STEADY, seed);
    Faults fail = new Faults(0, 0, 0, 5, 200, -1);
    AutoscaledFleet fleet = run(seed, 1, rates, fail);
    assertThat(fleet.between(300, 900)).anyMatch(at -> at.running() >= needed(rates[0]));
    // Their wait doubles: eight times in 195 s, and then once.
    assertThat(fleet.starts).isLessThan(9 * MOST);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void anotherLifeLeavesNothingBehind(long seed) {
    double[] rates = new double[1_500];
    Arrays.fill(rates, 10 + new SplittableRandom(seed).nextInt(30));
    AutoscaledFleet fleet = run(seed, 0, new double[10], Faults.NONE);
    fleet.liveAgain(rates, 0);
    Footprint before = fleet.footprint();
    fleet.liveAgain(rates, 1);
    assertThat(fleet.footprint().grownSince(before, GROWS)).as("seed %d", seed).isEmpty();
    assertThat(fleet.broken).as("seed %d", seed).isEmpty();
    moments += fleet.moments.size();
  }

  @Test
  void anInstanceThatCallsItNoMoreIsNoLoad() {
    double[] rates = new double[1_500];
    Arrays.fill(rates, 40);
    AutoscaledFleet fleet = run(BASE, 1, rates, Faults.NONE);
    int before = fleet.moments.get(fleet.moments.size() - 1).wanted();
    fleet.leave();
    assertThat(fleet.run(rates).between(450, 600)).allMatch(at -> at.wanted() == before);
  }

  /** A day at the pace of a day: half of the peak at all hours, and a wave on it. */
  @Test
  void aDayIsFollowedWithFewTurns() {
    double[] rates = new double[43_200];
    Arrays.setAll(rates, i -> 60 * Trace.azure(i / 43_200.0));
    ReportIntervals rhythm = AutoscaledFleet.rhythm(2, 10);
    AutoscaledFleet fleet =
        new AutoscaledFleet(BASE, 2, rhythm, 60, 1, MOST, "upscale_delay_s: 30", Faults.NONE);
    fleet.run(rates);
    moments += fleet.moments.size();
    assertThat(fleet.broken).isEmpty();
    assertThat(fleet.turns).isLessThanOrEqualTo(8);
    assertThat(fleet.between(1_800, 86_400))
        .allMatch(at -> at.running() >= needed(at.rate()) - 1.5, "enough run");
  }
}
