package dev.berth.replica;

/**
 * How a replica's health is watched.
 *
 * @param periodNanos between the starts of two checks, give or take a tenth ({@code
 *     health_check_period_s})
 * @param timeoutNanos how long a check may take before it has failed ({@code
 *     health_check_timeout_s})
 */
public record HealthCheckSettings(long periodNanos, long timeoutNanos) {
  /**
   * In a row that make the replica unhealthy. Source: Ray Serve's {@code
   * REPLICA_HEALTH_CHECK_UNHEALTHY_THRESHOLD}.
   */
  static final int FAILURES = 3;
}
