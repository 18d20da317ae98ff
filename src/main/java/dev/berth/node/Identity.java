package dev.berth.node;

import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * What one start of an instance has of its own: its name, its clocks, and its sources of chance.
 *
 * @param node its name
 * @param incarnation 64 random bits of this start
 * @param nanoClock monotonic nanoseconds
 * @param wallClock what people read
 * @param chance unguessable, and the seed of all that need not be
 */
record Identity(
    String node,
    long incarnation,
    LongSupplier nanoClock,
    InstantSource wallClock,
    SecureRandom chance) {

  /** Another one for each start. */
  static Identity create() {
    SecureRandom chance = new SecureRandom();
    long incarnation = chance.nextLong();
    return new Identity(
        "node-" + Long.toHexString(incarnation >>> 32),
        incarnation,
        System::nanoTime,
        InstantSource.system(),
        chance);
  }

  /** A fast generator, seeded; for one thread. */
  RandomGenerator seeded() {
    return new SplittableRandom(chance.nextLong());
  }

  long now() {
    return nanoClock.getAsLong();
  }
}
