package dev.berth.protocol.port;

import java.time.InstantSource;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The external dependencies of an instance's routers and replicas.
 *
 * @param node the instance's id
 * @param incarnation 64 random bits of this start
 * @param zone its availability zone, if any
 * @param loops dependencies of each event loop, by loop index
 * @param bus sends messages that belong to no loop, such as offers of freed slots; thread-safe
 * @param nanoClock monotonic nanoseconds
 * @param wallClock time of day for display; durations are measured by the monotonic clock
 * @param random seeds random choices, never secrets
 * @param secrets returns 64 unguessable bits per call; thread-safe
 */
public record InstanceDependencies(
    String node,
    long incarnation,
    @Nullable String zone,
    List<LoopDependencies> loops,
    BusSender bus,
    LongSupplier nanoClock,
    InstantSource wallClock,
    RandomGenerator random,
    LongSupplier secrets) {

  public InstanceDependencies {
    loops = List.copyOf(loops);
  }
}
