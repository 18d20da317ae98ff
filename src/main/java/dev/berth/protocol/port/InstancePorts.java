package dev.berth.protocol.port;

import java.time.InstantSource;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What an instance's routers and replicas are given from outside, all together.
 *
 * @param node the instance's id
 * @param incarnation 64 random bits of this start
 * @param zone its availability zone, if it has one
 * @param loops what each event loop is given, in order
 * @param bus sends what is of no loop, as offers of freed slots; from any thread
 * @param nanoClock monotonic nanoseconds
 * @param wallClock what the time is, for people; durations are measured by the monotonic clock
 * @param random seeds what draws, and no secret
 * @param secrets 64 unguessable bits a call; from any thread
 */
public record InstancePorts(
    String node,
    long incarnation,
    @Nullable String zone,
    List<LoopPorts> loops,
    BusSender bus,
    LongSupplier nanoClock,
    InstantSource wallClock,
    RandomGenerator random,
    LongSupplier secrets) {

  public InstancePorts {
    loops = List.copyOf(loops);
  }
}
