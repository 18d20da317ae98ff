package dev.berth.protocol.port;

import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * What the routers and replicas of an event loop are given from outside, so that a test or a
 * simulation can be their world.
 *
 * @param loop the event loop itself
 * @param timer delays tasks; for {@link dev.berth.api.RequestContext#after}
 * @param bus sends messages
 * @param nanoClock monotonic nanoseconds
 * @param random the loop's own, for ranking and back-off
 */
public record LoopPorts(
    Loop loop, LoopTimer timer, BusSender bus, LongSupplier nanoClock, RandomGenerator random) {}
