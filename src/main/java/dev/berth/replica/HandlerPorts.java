package dev.berth.replica;

import java.time.InstantSource;

/**
 * What the handlers of an instance are given from outside, so that a test can be their world.
 *
 * @param wallClock what the time is, for people; durations are measured by the monotonic clock
 * @param hooks runs what may block: making and stopping handlers, and every other hook of theirs
 */
public record HandlerPorts(InstantSource wallClock, HookThreads hooks) {}
