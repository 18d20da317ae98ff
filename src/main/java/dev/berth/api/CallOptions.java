package dev.berth.api;

import java.time.Duration;
import java.util.Optional;

/**
 * How a call through a handle behaves.
 *
 * @param timeout from the call to the end of its response; empty means none beyond the instance's
 *     bounds. Positive.
 * @param requestId carried to the replica; empty means the handle makes one
 * @param reservationTtl lifetime of a selection's lease; empty means the deployment's {@code
 *     reservation_ttl_s} (10 s). Positive; cut to the configured maximum.
 * @param methodName which of the handler's {@link ReplicaHandler#methods()} to call; empty means
 *     its own {@code handle}
 * @param sessionId who the call is for, carried to the replica; empty means no session
 */
public record CallOptions(
    Optional<Duration> timeout,
    Optional<String> requestId,
    Optional<Duration> reservationTtl,
    Optional<String> methodName,
    Optional<String> sessionId) {
  private static final CallOptions DEFAULTS =
      new CallOptions(
          Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());

  public CallOptions {
    timeout.ifPresent(value -> requirePositive("timeout", value));
    reservationTtl.ifPresent(value -> requirePositive("reservationTtl", value));
  }

  public static CallOptions defaults() {
    return DEFAULTS;
  }

  public CallOptions withTimeout(Duration timeout) {
    return new CallOptions(Optional.of(timeout), requestId, reservationTtl, methodName, sessionId);
  }

  public CallOptions withRequestId(String requestId) {
    return new CallOptions(timeout, Optional.of(requestId), reservationTtl, methodName, sessionId);
  }

  public CallOptions withReservationTtl(Duration ttl) {
    return new CallOptions(timeout, requestId, Optional.of(ttl), methodName, sessionId);
  }

  /** The same, for a method of the handler beside its own {@code handle}. */
  public CallOptions withMethodName(String methodName) {
    return new CallOptions(timeout, requestId, reservationTtl, Optional.of(methodName), sessionId);
  }

  public CallOptions withSessionId(String sessionId) {
    return new CallOptions(timeout, requestId, reservationTtl, methodName, Optional.of(sessionId));
  }

  private static void requirePositive(String name, Duration value) {
    if (value.isZero() || value.isNegative()) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: > 0)");
    }
  }
}
