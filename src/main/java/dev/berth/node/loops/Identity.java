package dev.berth.node.loops;

import dev.berth.config.ClusterConfig;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Properties of one start of an instance: its name, its clocks, and its random generators.
 *
 * @param node bus name, unique for each start
 * @param incarnation 64 random bits of this start
 * @param nanoClock monotonic nanoseconds
 * @param wallClock time of day
 * @param chance unguessable generator, and the seed of all other generators
 */
public record Identity(
    String node,
    long incarnation,
    LongSupplier nanoClock,
    InstantSource wallClock,
    SecureRandom chance) {

  /**
   * Creates a different identity for each start.
   *
   * @param cluster cluster of the node; null for none
   */
  public static Identity create(@Nullable ClusterConfig cluster) {
    SecureRandom chance = new SecureRandom();
    long incarnation = chance.nextLong();
    String process = Long.toHexString(incarnation >>> 32);
    return new Identity(
        cluster == null ? "node-" + process : cluster.node() + "~" + process,
        incarnation,
        System::nanoTime,
        InstantSource.system(),
        chance);
  }

  /** Returns a fast, seeded generator for one thread. */
  public RandomGenerator seeded() {
    return new SplittableRandom(chance.nextLong());
  }

  public long now() {
    return nanoClock.getAsLong();
  }
}
