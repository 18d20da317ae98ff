package dev.berth.routing;

/**
 * What a deployment's router does that can be changed live.
 *
 * @param maxQueued requests that may wait, per instance; -1 is unlimited under the instance's
 *     bounds. Default -1, as Ray Serve
 * @param queueTimeoutNanos longest wait for a slot; default 60 s
 * @param reservationTtlNanos time to live of a selection's lease; default 10 s
 * @param maxReservationTtlNanos what callers may ask for at most; default 300 s
 * @param refusalStatus the HTTP status of a request refused for want of room, 503 or 429; default
 *     503
 * @param retryAfterSeconds what a refused request is told; -1 computes it from queue and rate,
 *     which is the default
 * @param requestTimeoutNanos what a request may take whose sender says nothing; {@link
 *     Long#MAX_VALUE} for no bound of the deployment's, which is the default
 * @param autoscales whether the controller is to know the load; default false
 */
public record RouterSettings(
    int maxQueued,
    long queueTimeoutNanos,
    long reservationTtlNanos,
    long maxReservationTtlNanos,
    int refusalStatus,
    int retryAfterSeconds,
    long requestTimeoutNanos,
    boolean autoscales) {}
