package dev.berth.protocol.port;

import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * What the routers and replicas of an event loop are given from outside, so that a test or a
 * simulation can be their world.
 *
 * @param executor runs tasks on the loop, in order, never on the caller's stack
 * @param inLoop whether the caller is on the loop
 * @param timer delays tasks; for {@link dev.berth.api.RequestContext#after}
 * @param bus sends messages
 * @param nanoClock monotonic nanoseconds
 * @param random the loop's own, for ranking and back-off
 */
public record LoopPorts(
    Executor executor,
    BooleanSupplier inLoop,
    LoopTimer timer,
    BusSender bus,
    LongSupplier nanoClock,
    RandomGenerator random) {}
