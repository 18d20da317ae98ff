package dev.berth.config;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one deployment runs with: every value set and checked. Made by {@link
 * DeploymentConfig#resolve}.
 *
 * @param name of the deployment
 * @param numReplicas replicas; 0 only by the capacity of the instance or a scaler
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
 * @param rollout how its replicas are replaced
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
    int maxBufferedBodyBytes,
    Rollout rollout) {

  /** What a deployment runs with when neither file nor code says anything. */
  public static DeploymentSettings defaults(String name) {
    return DeploymentConfig.of(name).resolve(LimitOptions.defaults());
  }

  /**
   * These settings with a share of the replicas, rounded half up, at least 1 unless the share or
   * their number is 0: Ray Serve's {@code target_capacity}.
   *
   * @param percent from 0 to 100; null for all of them
   */
  public DeploymentSettings atCapacity(@Nullable Double percent) {
    ServeConfig.TARGET_CAPACITY.requireIfSet(percent);
    if (percent == null || percent == 100) {
      return this;
    }
    int share =
        BigDecimal.valueOf(numReplicas)
            .multiply(BigDecimal.valueOf(percent))
            .movePointLeft(2)
            .setScale(0, RoundingMode.HALF_UP)
            .intValue();
    return withReplicas(percent == 0 || numReplicas == 0 ? 0 : Math.max(1, share));
  }

  /**
   * These settings with another number of replicas.
   *
   * @param replicas 0 or more
   */
  public DeploymentSettings withReplicas(int replicas) {
    if (replicas < 0) {
      throw new IllegalArgumentException("replicas: " + replicas + " (expected: 0 or more)");
    }
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
        maxBufferedBodyBytes,
        rollout);
  }
}
