package dev.berth.replica;

import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.metrics.LatencyBuckets;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Specification of a replica to start.
 *
 * @param replicaId unique among all replicas ever started
 * @param deployment deployment of the replica
 * @param epoch incarnation: a new number for each start of a replica
 * @param maxOngoing slots, 0 to 65 535
 * @param userConfig argument of the factory
 * @param factory creates the handler, once per seat
 * @param limits limits of the replica; null for those of its instance
 * @param healthChecks settings of the health checks
 * @param healthCheckTimes durations of the health checks of all replicas of the deployment here,
 *     and of earlier ones
 * @param virtualThreads whether blocking handlers should run on virtual threads
 * @param startTimeoutNanos timeout of the start once it has begun ({@code
 *     replica_start_timeout_s}); null for none
 * @param upstream key of the remote server that the replica represents; empty for none
 */
public record ReplicaSpec(
    String replicaId,
    DeploymentId deployment,
    long epoch,
    int maxOngoing,
    Map<String, Object> userConfig,
    HandlerFactory factory,
    @Nullable ReplicaLimits limits,
    HealthCheckSettings healthChecks,
    LatencyBuckets healthCheckTimes,
    boolean virtualThreads,
    @Nullable Long startTimeoutNanos,
    String upstream) {
  public ReplicaSpec {
    userConfig = Collections.unmodifiableMap(new LinkedHashMap<>(userConfig)); // nulls are values
  }
}
