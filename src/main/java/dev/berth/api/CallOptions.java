package dev.berth.api;

import java.time.Duration;
import java.util.Optional;

/**
 * How calls through a handle behave. Immutable; made of {@link #defaults()}, or by {@link
 * DeploymentHandle}'s own methods of the same names.
 *
 * <p>Source: Ray Serve's {@code handle.options(…)}.
 */
public final class CallOptions {
  private static final CallOptions DEFAULTS =
      new CallOptions(
          Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());

  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

  private final Optional<Duration> timeout;
  private final Optional<String> requestId;
  private final Optional<Duration> reservationTtl;
  private final Optional<String> methodName;
  private final Optional<String> sessionId;

  private CallOptions(
      Optional<Duration> timeout,
      Optional<String> requestId,
      Optional<Duration> reservationTtl,
      Optional<String> methodName,
      Optional<String> sessionId) {
    this.timeout = timeout;
    this.requestId = requestId;
    this.reservationTtl = reservationTtl;
    this.methodName = methodName;
    this.sessionId = sessionId;
  }

  /** Nothing is said: each accessor is empty. */
  public static CallOptions defaults() {
    return DEFAULTS;
  }

  /**
   * From the call to the end of its response, 0 or more; empty means the deployment's {@code
   * request_timeout_s}.
   */
  public Optional<Duration> timeout() {
    return timeout;
  }

  /** Carried to the replica; empty means the parent request's, or one that is made. */
  public Optional<String> requestId() {
    return requestId;
  }

  /**
   * Lifetime of a selection's lease; empty means the deployment's {@code reservation_ttl_s} (10 s).
   */
  public Optional<Duration> reservationTtl() {
    return reservationTtl;
  }

  /**
   * Which of the handler's {@link ReplicaHandler#methods()} to call; empty means its own {@code
   * handle}.
   */
  public Optional<String> methodName() {
    return methodName;
  }

  /** Who the call is for, carried to the replica; empty means the parent request's, or no one. */
  public Optional<String> sessionId() {
    return sessionId;
  }

  /**
   * The same with another time limit. What is left of a budget may be zero or less: calls are then
   * out of time at once, and fail with {@link BerthException.Timeout}.
   *
   * @throws IllegalArgumentException unless it is below 292 years
   */
  public CallOptions withTimeout(Duration timeout) {
    boolean spent = timeout.isZero() || timeout.isNegative();
    Optional<Duration> limit = Optional.of(spent ? Duration.ZERO : positive("timeout", timeout));
    return new CallOptions(limit, requestId, reservationTtl, methodName, sessionId);
  }

  /** The same with another request id. */
  public CallOptions withRequestId(String requestId) {
    return new CallOptions(timeout, Optional.of(requestId), reservationTtl, methodName, sessionId);
  }

  /**
   * The same with another lifetime of leases, which is cut to the configured maximum.
   *
   * @throws IllegalArgumentException unless it is positive and below 292 years
   */
  public CallOptions withReservationTtl(Duration ttl) {
    Optional<Duration> lifetime = Optional.of(positive("reservationTtl", ttl));
    return new CallOptions(timeout, requestId, lifetime, methodName, sessionId);
  }

  /** The same, for a method of the handler beside its own {@code handle}. */
  public CallOptions withMethodName(String methodName) {
    return new CallOptions(timeout, requestId, reservationTtl, Optional.of(methodName), sessionId);
  }

  /** The same for another session. */
  public CallOptions withSessionId(String sessionId) {
    return new CallOptions(timeout, requestId, reservationTtl, methodName, Optional.of(sessionId));
  }

  private static Duration positive(String name, Duration value) {
    if (value.isZero() || value.isNegative() || value.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: > 0, below 292 years)");
    }
    return value;
  }
}
