package dev.berth.protocol.port;

import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * The external dependencies of one event loop's routers and replicas, which tests and the
 * simulation replace.
 *
 * @param loop the event loop itself
 * @param timer delays tasks; for {@link dev.berth.api.RequestContext#after}
 * @param ticks timer of the loop's periodic work
 * @param bus sends messages
 * @param nanoClock monotonic nanoseconds
 * @param random the loop's own generator, for ranking and back-off
 */
public record LoopDependencies(
    LoopExecutor loop,
    LoopTimer timer,
    TickTimer ticks,
    BusSender bus,
    LongSupplier nanoClock,
    RandomGenerator random) {}
