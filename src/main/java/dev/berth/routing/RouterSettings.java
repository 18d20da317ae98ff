package dev.berth.routing;

/**
 * Settings of a deployment's router that change live.
 *
 * @param maxQueued maximum waiting requests per instance; -1 for no limit beside the instance's
 *     own. Default -1, as Ray Serve
 * @param queueTimeoutNanos maximum wait for a slot; default 60 s
 * @param reservationTtlNanos time to live of a selection's lease; default 10 s
 * @param maxReservationTtlNanos maximum time to live that callers may request; default 300 s
 * @param refusalStatus HTTP status of a request refused at a limit, 503 or 429; default 503
 * @param retryAfterSeconds {@code Retry-After} of a refused request; -1, the default, computes it
 *     from queue and rate
 * @param requestTimeoutNanos timeout of a request whose sender sets none; {@link Long#MAX_VALUE},
 *     the default, for no timeout of the deployment
 * @param maxOvertakeNanos time for which younger requests may overtake one that needs more slots;
 *     default 1 s
 * @param autoscales whether the controller needs load reports; default false
 */
public record RouterSettings(
    int maxQueued,
    long queueTimeoutNanos,
    long reservationTtlNanos,
    long maxReservationTtlNanos,
    int refusalStatus,
    int retryAfterSeconds,
    long requestTimeoutNanos,
    long maxOvertakeNanos,
    boolean autoscales) {}
