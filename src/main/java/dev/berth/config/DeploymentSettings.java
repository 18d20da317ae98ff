package dev.berth.config;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one deployment runs with: every value set and checked. Made by {@link
 * DeploymentConfig#resolve}.
 *
 * @param name of the deployment
 * @param numReplicas replicas, at least 1
 * @param maxOngoingRequests requests one replica works on at a time, 1 to 65535
 * @param maxQueuedRequests requests that may wait, per instance; -1 is no bound of its own
 * @param backpressure what a refused client is told
 * @param userConfig handed to the handler's reconfigure hook; empty when there is none
 * @param gracefulShutdownTimeout how long a stopping replica may finish what it accepted
 * @param healthCheckPeriod between two health checks of a replica
 * @param healthCheckTimeout how long one check may take before it has failed
 * @param logging what is logged of it, and how
 * @param spread where a replica's handlers run
 * @param queueTimeout how long a request may wait for a slot
 * @param reservationTtl how long a chosen replica keeps its slot for an undispatched request
 * @param cancelGrace how long a cancelled handler may take to settle before it is a zombie
 * @param maxZombieRequests zombies that make a replica unhealthy, 1 to maxOngoingRequests
 * @param maxBufferedBodyBytes largest request body of a handler that takes it whole; then 413
 */
public record DeploymentSettings(
    String name,
    int numReplicas,
    int maxOngoingRequests,
    int maxQueuedRequests,
    Backpressure backpressure,
    Map<String, @Nullable Object> userConfig,
    Duration gracefulShutdownTimeout,
    Duration healthCheckPeriod,
    Duration healthCheckTimeout,
    LoggingOptions logging,
    Spread spread,
    Duration queueTimeout,
    Duration reservationTtl,
    Duration cancelGrace,
    int maxZombieRequests,
    int maxBufferedBodyBytes) {

  /** What a deployment runs with when neither file nor code says anything. */
  public static DeploymentSettings defaults(String name) {
    return DeploymentConfig.of(name).resolve(LimitOptions.defaults());
  }

  /**
   * These settings with a share of the replicas, rounded half up, at least 1: Ray Serve's {@code
   * target_capacity}.
   *
   * @param percent above 0, at most 100
   */
  public DeploymentSettings atCapacity(double percent) {
    ServeConfig.TARGET_CAPACITY.require(percent);
    int replicas = (int) Math.max(1, Math.round(numReplicas * percent / 100));
    return new DeploymentSettings(
        name,
        replicas,
        maxOngoingRequests,
        maxQueuedRequests,
        backpressure,
        userConfig,
        gracefulShutdownTimeout,
        healthCheckPeriod,
        healthCheckTimeout,
        logging,
        spread,
        queueTimeout,
        reservationTtl,
        cancelGrace,
        maxZombieRequests,
        maxBufferedBodyBytes);
  }
}
