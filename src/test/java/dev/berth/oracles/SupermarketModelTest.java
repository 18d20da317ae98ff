package dev.berth.oracles;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.fakes.FakeCandidates;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The ranker alone, against the supermarket model: n queues, Poisson arrivals of rate λn, each
 * joining the queue the ranker prefers, exponential service of mean 1. As n grows the mean time in
 * the system is Σ λ^((d^i − d)/(d − 1)), for d = 2: Σ λ^(2^i − 2).
 *
 * <p>Source: Mitzenmacher 1996, Vvedenskaya et al. 1996.
 */
@Tag("simulation")
class SupermarketModelTest {
  private static final int SERVERS = 1_000;

  @ParameterizedTest(name = "load {0}")
  @CsvSource({"0.5, 60, 260", "0.7, 80, 320", "0.9, 250, 1200"})
  void theMeanTimeInSystemIsThatOfTwoChoices(double load, double warmUp, double end) {
    double expected = 0;
    for (int i = 1; i < 12; i++) {
      expected += Math.pow(load, Math.pow(2, i) - 2);
    }
    double measured = meanTimeInSystem(load, warmUp, end, 42);
    System.out.printf(
        "supermarket model, load %.2f: measured %.4f, expected %.4f (%+.2f %%)%n",
        load, measured, expected, 100 * (measured / expected - 1));
    assertThat(measured).isCloseTo(expected, Percentage.withPercentage(3));
  }

  private record Departure(double at, int server) implements Comparable<Departure> {
    @Override
    public int compareTo(Departure other) {
      return Double.compare(at, other.at);
    }
  }

  /** By Little's law: the time-average number in the system over the arrival rate. */
  private static double meanTimeInSystem(double load, double warmUp, double end, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    FakeCandidates queues = new FakeCandidates(SERVERS); // none of them ever full
    ReplicaRanker ranker = new PowerOfTwoRanker();
    ReplicaRanker.Ranking ranking = new ReplicaRanker.Ranking();
    PriorityQueue<Departure> departures = new PriorityQueue<>();
    double now = 0;
    double nextArrival = exponential(random) / (load * SERVERS);
    long inSystem = 0;
    double area = 0;
    while (now < end) {
      Departure departure = departures.peek();
      double next = departure == null ? nextArrival : Math.min(nextArrival, departure.at);
      if (next > warmUp) {
        area += inSystem * (next - Math.max(now, warmUp));
      }
      now = next;
      if (departure != null && departure.at <= nextArrival) {
        departures.poll();
        inSystem--;
        if (--queues.loads[departure.server] > 0) {
          departures.add(new Departure(now + exponential(random), departure.server));
        }
      } else {
        nextArrival = now + exponential(random) / (load * SERVERS);
        ranking.clear();
        ranker.rank(queues, () -> ReplicaRanker.Asker.NO_KEY, random, ranking);
        int server = ranking.get(0);
        inSystem++;
        if (queues.loads[server]++ == 0) {
          departures.add(new Departure(now + exponential(random), server));
        }
      }
    }
    return area / (now - warmUp) / (load * SERVERS);
  }

  private static double exponential(SplittableRandom random) {
    return -Math.log(1 - random.nextDouble());
  }
}
