package dev.berth.routing.reserve;

/**
 * The limits of a {@link ReservationTable}.
 *
 * @param maxHeld maximum reservations held or awaited, of all callers; default 10 000
 * @param maxHeldPerCaller the same for one caller; default 100
 * @param maxEnded maximum ended reservations retained, so that a token still reports its end;
 *     default 20 000
 * @param maxKeys maximum idempotency keys stored, of all callers; default 10 000
 * @param maxKeysPerCaller the same for one caller; default 1 000
 * @param keyNanos retention time of a key; default 10 min
 */
public record ReservationLimits(
    int maxHeld,
    int maxHeldPerCaller,
    int maxEnded,
    int maxKeys,
    int maxKeysPerCaller,
    long keyNanos) {}
