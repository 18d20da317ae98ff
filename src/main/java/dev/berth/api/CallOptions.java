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
 */
public record CallOptions(
    Optional<Duration> timeout, Optional<String> requestId, Optional<Duration> reservationTtl) {
  private static final CallOptions DEFAULTS =
      new CallOptions(Optional.empty(), Optional.empty(), Optional.empty());

  public CallOptions {
    timeout.ifPresent(value -> requirePositive("timeout", value));
    reservationTtl.ifPresent(value -> requirePositive("reservationTtl", value));
  }

  public static CallOptions defaults() {
    return DEFAULTS;
  }

  public CallOptions withTimeout(Duration timeout) {
    return new CallOptions(Optional.of(timeout), requestId, reservationTtl);
  }

  public CallOptions withRequestId(String requestId) {
    return new CallOptions(timeout, Optional.of(requestId), reservationTtl);
  }

  public CallOptions withReservationTtl(Duration ttl) {
    return new CallOptions(timeout, requestId, Optional.of(ttl));
  }

  private static void requirePositive(String name, Duration value) {
    if (value.isZero() || value.isNegative()) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: > 0)");
    }
  }
}
