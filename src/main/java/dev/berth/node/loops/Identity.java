package dev.berth.node.loops;

import dev.berth.config.ClusterConfig;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What one start of an instance has of its own: its name, its clocks, and its sources of chance.
 *
 * @param node its name, which tells this start from others
 * @param incarnation 64 random bits of this start
 * @param nanoClock monotonic nanoseconds
 * @param wallClock what people read
 * @param chance unguessable, and the seed of all that need not be
 */
public record Identity(
    String node,
    long incarnation,
    LongSupplier nanoClock,
    InstantSource wallClock,
    SecureRandom chance) {

  /**
   * Another one for each start.
   *
   * @param cluster that it is a node of; null for none
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

  /** A fast generator, seeded; for one thread. */
  public RandomGenerator seeded() {
    return new SplittableRandom(chance.nextLong());
  }

  public long now() {
    return nanoClock.getAsLong();
  }
}
