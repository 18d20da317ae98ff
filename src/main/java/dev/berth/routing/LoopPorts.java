package dev.berth.routing;

import dev.berth.protocol.port.BusSender;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * What a router loop is given from outside, so that a test or a simulation can be its world.
 *
 * @param executor runs tasks on the loop, in order, never on the caller's stack
 * @param inLoop whether the caller is on the loop
 * @param bus sends messages
 * @param nanoClock monotonic nanoseconds
 * @param random the loop's own, for ranking and back-off
 */
public record LoopPorts(
    Executor executor,
    BooleanSupplier inLoop,
    BusSender bus,
    LongSupplier nanoClock,
    RandomGenerator random) {}
