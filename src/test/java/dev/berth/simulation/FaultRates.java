package dev.berth.simulation;

import java.util.random.RandomGenerator;

/**
 * How often each message between instances meets a fault, drawn per seed: most runs are rough, some
 * nearly calm, so that both the faults and the long undisturbed stretches between them are seen.
 */
record FaultRates(
    double drop, double duplicate, double reorder, double delay, double unsent, double unfit) {
  static final FaultRates NONE = new FaultRates(0, 0, 0, 0, 0);

  FaultRates(double drop, double duplicate, double reorder, double delay, double unsent) {
    this(drop, duplicate, reorder, delay, unsent, 0);
  }

  /** As links are: nothing is lost, doubled or overtaken, but much is not taken at once. */
  static FaultRates drawOfLinks(RandomGenerator random) {
    return new FaultRates(0, 0, 0, 0, rate(random, 0.3), rate(random, 0.02));
  }

  static FaultRates draw(RandomGenerator random) {
    return new FaultRates(
        rate(random, 0.06),
        rate(random, 0.08),
        rate(random, 0.15),
        rate(random, 0.06),
        rate(random, 0.02));
  }

  /** As these, and some messages have no wire form. */
  FaultRates andUnfit(RandomGenerator random) {
    return new FaultRates(drop, duplicate, reorder, delay, unsent, rate(random, 0.01));
  }

  /** From 0.002 to {@code most}: never off, so that every seed has every fault. */
  private static double rate(RandomGenerator random, double most) {
    double drawn = random.nextDouble();
    return 0.002 + drawn * drawn * (most - 0.002);
  }
}
