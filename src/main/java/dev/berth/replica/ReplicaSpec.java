package dev.berth.replica;

import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What to start.
 *
 * @param replicaId unique among all replicas ever started
 * @param deployment whose replica it is
 * @param epoch its incarnation: another number each time a replica is started
 * @param maxOngoing slots, 1 to 65 535
 * @param userConfig passed to the factory
 * @param factory makes the handler, once per seat
 * @param limits its own bounds, or null for those of its instance
 * @param healthChecks how its health is watched
 * @param virtualThreads whether its blocking handlers ask for virtual threads
 * @param startTimeoutNanos how long its start may take once it has begun ({@code
 *     replica_start_timeout_s}); null for as long as it likes
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
    boolean virtualThreads,
    @Nullable Long startTimeoutNanos) {
  public ReplicaSpec {
    userConfig = Collections.unmodifiableMap(new LinkedHashMap<>(userConfig)); // nulls are values
  }
}
