import java.util.SplittableRandom;

/** When requests are to be sent, as nanoseconds after the start. One thread. */
interface Pace {
  /** The time of the next request; never less than the one before. */
  long next();

  /** One request each {@code 1 / perSecond} seconds. */
  static Pace constant(double perSecond) {
    double gapNanos = 1e9 / perSecond;
    long[] sent = new long[1];
    return () -> (long) (gapNanos * sent[0]++);
  }

  /** Gaps drawn from the exponential distribution: arrivals that know nothing of one another. */
  static Pace poisson(double perSecond, long seed) {
    double meanGapNanos = 1e9 / perSecond;
    SplittableRandom random = new SplittableRandom(seed);
    double[] at = new double[1];
    return () -> {
      at[0] -= meanGapNanos * Math.log(1 - random.nextDouble());
      return (long) at[0];
    };
  }
}
