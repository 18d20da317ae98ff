package dev.berth.replica;

/**
 * Settings of a replica's health checks.
 *
 * @param periodNanos time between the starts of two checks, plus or minus a tenth ({@code
 *     health_check_period_s})
 * @param timeoutNanos time after which a check has failed ({@code health_check_timeout_s})
 */
public record HealthCheckSettings(long periodNanos, long timeoutNanos) {
  /**
   * Consecutive failures that make the replica unhealthy. Source: Ray Serve's {@code
   * REPLICA_HEALTH_CHECK_UNHEALTHY_THRESHOLD}.
   */
  static final int FAILURES = 3;
}
