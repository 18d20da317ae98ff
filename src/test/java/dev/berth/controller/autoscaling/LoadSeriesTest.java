package dev.berth.controller.autoscaling;

import static dev.berth.controller.autoscaling.Rules.seconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.berth.config.AutoscalingOptions.AggregationFunction;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The load in the look-back window. The figures are those of Ray Serve's tests. */
class LoadSeriesTest {
  private static final long WINDOW = seconds(30);

  private final LoadSeries series = new LoadSeries(0);
  private final double[] sources = new double[4];

  private void say(int source, double at, double load) {
    long now = seconds(at);
    series.change(LoadSeries.micros(sources[source]), LoadSeries.micros(load), now, WINDOW);
    sources[source] = load;
  }

  private double mean(double from, double to) {
    return series.aggregate(AggregationFunction.MEAN, seconds(from), seconds(to));
  }

  @Test
  void stepsOfAllSourcesAreSummedWhereTheyChange() {
    say(0, 1, 5);
    assertThat(mean(1, 2)).isEqualTo(5);
    say(1, 2, 3);
    assertThat(mean(2, 3)).isEqualTo(8);
    say(0, 3, 7);
    assertThat(mean(3, 4)).isEqualTo(10);
    say(1, 4, 1);
    assertThat(mean(4, 5)).isEqualTo(8);
    assertThat(series.latest()).isEqualTo(8);
  }

  @Test
  void aMeanIsWeighedByTime() {
    say(0, 0, 5);
    say(0, 1, 10);
    assertThat(mean(0.5, 1.5)).isEqualTo(7.5);
    say(0, 2, 15);
    assertThat(mean(0, 4)).isEqualTo((5 + 10 + 2 * 15) / 4.0);
  }

  @Test
  void theTimeBeforeTheLastSourceSpokeIsLeftOut() {
    say(1, 0.1, 3);
    say(0, 0.2, 5);
    say(0, 0.8, 7);
    say(1, 0.9, 4);
    say(1, 1.4, 8);
    say(0, 1.5, 6);
    double all = mean(0.1, 2.0);
    series.restart(seconds(0.2));
    double known = (8 * 0.6 + 10 * 0.1 + 11 * 0.5 + 15 * 0.1 + 14 * 0.5) / 1.8;
    assertThat(mean(0.1, 2.0)).isCloseTo(known, within(1e-9)).isGreaterThan(all);
  }

  @Test
  void aWindowThatBeginsAtItsLastChangeHasOnlyThat() {
    say(0, 0.1, 10);
    say(1, 0.2, 20);
    series.restart(seconds(0.2));
    assertThat(mean(0, 1.2)).isEqualTo(30);
    assertThat(mean(0, 0.2)).as("no length").isEqualTo(30);
  }

  @Test
  void mostAndLeastAreOfTheWholeWindowWithItsBegin() {
    say(0, 1, 5);
    say(0, 2, 15);
    say(0, 3, 10);
    assertThat(series.aggregate(AggregationFunction.MAX, seconds(1), seconds(4))).isEqualTo(15);
    assertThat(series.aggregate(AggregationFunction.MIN, seconds(1), seconds(4))).isEqualTo(5);
    assertThat(series.aggregate(AggregationFunction.MIN, seconds(2.5), seconds(4))).isEqualTo(10);
    assertThat(series.aggregate(AggregationFunction.MAX, seconds(2.5), seconds(4)))
        .as("it still held at the begin")
        .isEqualTo(15);
  }

  @Test
  void whatHasLeftTheWindowIsForgottenButForItsLastValue() {
    say(0, 0, 100);
    say(0, 1, 4);
    say(0, 100, 6);
    assertThat(mean(70, 100)).isEqualTo(4);
    assertThat(mean(75, 105)).isCloseTo((25 * 4 + 5 * 6) / 30.0, within(1e-9));
  }

  @Test
  void sumsOfFractionsComeBackToZero() {
    say(0, 1, 0.1);
    say(1, 2, 0.2);
    say(0, 3, 0);
    say(1, 4, 0);
    assertThat(series.latest()).isZero();
  }

  @Test
  void aStormOfReportsCostsNoMoreThanTheWindowsParts() {
    Random random = new Random(7);
    double sum = 0;
    for (int i = 0; i < 30_000; i++) { // each millisecond of a window
      double load = random.nextInt(100);
      sum += load;
      say(0, i / 1e3, load);
    }
    assertThat(mean(0, 30)).as("in the mean").isCloseTo(sum / 30_000, within(8.0));
    int looks = 0;
    for (double at = 0; at < 30; at += 0.001) {
      looks += series.changedSince(seconds(at)) ? 1 : 0;
    }
    assertThat(looks).isPositive();
  }
}
