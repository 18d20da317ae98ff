package dev.berth.oracles;

/**
 * The bulk-service queue M/D[1,b]/1 by its embedded Markov chain; the service time is 1. The chain
 * is the number N of requests left at a departure: the next is max(N − b, 0) + A, where A is the
 * number of Poisson arrivals in a service. An idle server starts with the first arrival alone.
 *
 * <p>The time between two departures is 1, and 1/λ more after N = 0. The requests that wait in it
 * sum up to max(N − b, 0) + λ/2. By Little's law the mean wait is the ratio of these means over λ.
 *
 * <p>Source: N. T. J. Bailey, "On queueing processes with bulk service", Journal of the Royal
 * Statistical Society B 16 (1954); M. F. Neuts, "A general class of bulk queues with Poisson
 * input", Annals of Mathematical Statistics 38 (1967): the rule with minimum 1 and maximum b.
 */
final class BulkServiceChain {
  private static final int STATES = 1_000; // the tail beyond is below 1e-30 at load 0.95
  private static final double PRECISION = 1e-15;

  private final int batch;
  private final double arrivals; // in one service: load x b
  private final double[] left = new double[STATES]; // stationary distribution of N

  BulkServiceChain(int batch, double load) {
    this.batch = batch;
    this.arrivals = batch * load;
    solve();
  }

  /** Iterates the chain until its distribution no longer changes. */
  private void solve() {
    double[] chance = poisson();
    double[] next = new double[STATES];
    left[0] = 1;
    for (double change = 1; change > PRECISION; ) {
      java.util.Arrays.fill(next, 0);
      for (int waiting = 0; waiting < STATES; waiting++) {
        int rest = Math.max(0, waiting - batch);
        int most = Math.min(chance.length, STATES - rest);
        for (int came = 0; came < most; came++) {
          next[rest + came] += left[waiting] * chance[came];
        }
      }
      double sum = 0;
      for (double each : next) {
        sum += each;
      }
      change = 0;
      for (int i = 0; i < STATES; i++) {
        double value = next[i] / sum;
        change = Math.max(change, Math.abs(value - left[i]));
        left[i] = value;
      }
    }
  }

  private double[] poisson() {
    double[] chance = new double[(int) (arrivals + 12 * Math.sqrt(arrivals) + 40)];
    chance[0] = Math.exp(-arrivals);
    for (int i = 1; i < chance.length; i++) {
      chance[i] = chance[i - 1] * arrivals / i;
    }
    return chance;
  }

  /** Returns the mean wait for the start of service, in services. */
  double meanWait() {
    double rest = 0;
    for (int waiting = batch; waiting < STATES; waiting++) {
      rest += left[waiting] * (waiting - batch);
    }
    double cycle = 1 + left[0] / arrivals;
    return (rest + arrivals / 2) / cycle / arrivals;
  }
}
