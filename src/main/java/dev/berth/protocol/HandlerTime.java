package dev.berth.protocol;

/**
 * What a replica measured of a request that is explained, as spans: a moment of its clock means
 * nothing to its router.
 *
 * @param gatheredNanos from its acceptance to the handler's call; 0 or more
 * @param handledNanos from there until the handler settled; 0 when it was never called
 */
public record HandlerTime(long gatheredNanos, long handledNanos) {}
