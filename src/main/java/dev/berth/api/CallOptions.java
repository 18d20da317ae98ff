package dev.berth.api;

import java.time.Duration;
import java.util.Optional;

/**
 * Options of calls through a handle. Immutable. Built from {@link #defaults()}, or by the methods
 * of the same names of {@link DeploymentHandle}.
 *
 * <p>Source: Ray Serve's {@code handle.options(…)}.
 */
public final class CallOptions {
  private static final CallOptions DEFAULTS =
      new CallOptions(
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          1);

  /** Maximum of {@link #cost()}: no replica has more slots. */
  private static final int MAX_COST = 65_535;

  private static final Duration MAX_DURATION = Duration.ofNanos(Long.MAX_VALUE);

  private final Optional<Duration> timeout;
  private final Optional<String> requestId;
  private final Optional<Duration> reservationTtl;
  private final Optional<String> methodName;
  private final Optional<String> sessionId;
  private final int cost;

  private CallOptions(
      Optional<Duration> timeout,
      Optional<String> requestId,
      Optional<Duration> reservationTtl,
      Optional<String> methodName,
      Optional<String> sessionId,
      int cost) {
    this.timeout = timeout;
    this.requestId = requestId;
    this.reservationTtl = reservationTtl;
    this.methodName = methodName;
    this.sessionId = sessionId;
    this.cost = cost;
  }

  /** Returns options without values: each accessor is empty. */
  public static CallOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Returns the timeout from the call to the end of its response, 0 or more; empty means the
   * deployment's {@code request_timeout_s}.
   */
  public Optional<Duration> timeout() {
    return timeout;
  }

  /**
   * Returns the request id that the call carries; empty means the parent request's id, or a
   * generated id.
   */
  public Optional<String> requestId() {
    return requestId;
  }

  /**
   * Returns the lifetime of a selection's lease; empty means the deployment's {@code
   * reservation_ttl_s} (10 s).
   */
  public Optional<Duration> reservationTtl() {
    return reservationTtl;
  }

  /**
   * Returns the name of the called method of the handler's {@link ReplicaHandler#methods()}; empty
   * means {@code handle}.
   */
  public Optional<String> methodName() {
    return methodName;
  }

  /**
   * Returns the session id that the call carries; empty means the parent request's session, or
   * none.
   */
  public Optional<String> sessionId() {
    return sessionId;
  }

  /** Returns the number of slots of one replica that each call and selection takes; default 1. */
  public int cost() {
    return cost;
  }

  /**
   * Returns a copy with another timeout. A timeout of zero or less is accepted, as the rest of a
   * budget may be spent: the calls then fail at once with {@link BerthException.Timeout}.
   *
   * @throws IllegalArgumentException unless it is below 292 years
   */
  public CallOptions withTimeout(Duration timeout) {
    boolean spent = timeout.isZero() || timeout.isNegative();
    Optional<Duration> limit = Optional.of(spent ? Duration.ZERO : positive("timeout", timeout));
    return new CallOptions(limit, requestId, reservationTtl, methodName, sessionId, cost);
  }

  /** Returns a copy with another request id. */
  public CallOptions withRequestId(String requestId) {
    return new CallOptions(
        timeout, Optional.of(requestId), reservationTtl, methodName, sessionId, cost);
  }

  /**
   * Returns a copy with another lease lifetime, which is capped at the configured maximum.
   *
   * @throws IllegalArgumentException unless it is positive and below 292 years
   */
  public CallOptions withReservationTtl(Duration ttl) {
    Optional<Duration> lifetime = Optional.of(positive("reservationTtl", ttl));
    return new CallOptions(timeout, requestId, lifetime, methodName, sessionId, cost);
  }

  /** Returns a copy that calls another method of the handler instead of {@code handle}. */
  public CallOptions withMethodName(String methodName) {
    return new CallOptions(
        timeout, requestId, reservationTtl, Optional.of(methodName), sessionId, cost);
  }

  /** Returns a copy with another session id. */
  public CallOptions withSessionId(String sessionId) {
    return new CallOptions(
        timeout, requestId, reservationTtl, methodName, Optional.of(sessionId), cost);
  }

  /**
   * Returns a copy whose calls and selections take several slots of one replica, together or not at
   * all. The call of a selection has the cost of that selection.
   *
   * @throws IllegalArgumentException unless it is 1 to 65 535
   */
  public CallOptions withCost(int slots) {
    if (slots < 1 || slots > MAX_COST) {
      throw new IllegalArgumentException("cost: " + slots + " (expected: 1 to " + MAX_COST + ")");
    }
    return new CallOptions(timeout, requestId, reservationTtl, methodName, sessionId, slots);
  }

  private static Duration positive(String name, Duration value) {
    if (value.isZero() || value.isNegative() || value.compareTo(MAX_DURATION) > 0) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: > 0, below 292 years)");
    }
    return value;
  }
}
