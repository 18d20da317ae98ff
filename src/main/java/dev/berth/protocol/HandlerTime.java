package dev.berth.protocol;

/**
 * What a replica says of a request that is explained: what it measured, as spans, since a moment of
 * its clock means nothing to its router; and why it failed.
 *
 * @param gatheredNanos from its acceptance to the handler's call; 0 or more
 * @param handledNanos from there until the handler settled; 0 when it was never called
 * @param failure what the handler failed with
 */
public record HandlerTime(long gatheredNanos, long handledNanos, RequestFailure failure) {}
