package dev.berth.protocol;

/**
 * A replica's measurements of an explained request, and the failure of its handler. Times are
 * durations, because a clock reading of the replica means nothing to its router.
 *
 * @param gatheredNanos from the request's acceptance to the handler's call; 0 or more
 * @param handledNanos from the handler's call until it settled; 0 when it was never called
 * @param failure the handler's failure
 */
public record HandlerTime(long gatheredNanos, long handledNanos, RequestFailure failure) {}
