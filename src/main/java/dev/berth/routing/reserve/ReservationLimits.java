package dev.berth.routing.reserve;

/**
 * The bounds of a {@link ReservationTable}.
 *
 * @param maxHeld reservations held or waited for, of all callers; default 10 000
 * @param maxHeldPerCaller the same for one caller; default 100
 * @param maxEnded ended ones remembered, so that their tokens are told how they ended; default 20
 *     000
 * @param maxKeys idempotency keys remembered, of all callers; default 10 000
 * @param maxKeysPerCaller the same for one caller; default 1 000
 * @param keyNanos how long a key is remembered; default 10 min
 */
public record ReservationLimits(
    int maxHeld,
    int maxHeldPerCaller,
    int maxEnded,
    int maxKeys,
    int maxKeysPerCaller,
    long keyNanos) {}
