package dev.berth.replica;

import java.time.InstantSource;
import java.util.concurrent.Executor;

/**
 * What the handlers of an instance are given from outside, so that a test can be their world.
 *
 * @param wallClock what the time is, for people; durations are measured by the monotonic clock
 * @param healthThreads runs health checks, at most one of a replica at a time, for as long as each
 *     takes: one that hangs must not keep another from running
 */
public record HandlerPorts(InstantSource wallClock, Executor healthThreads) {}
