package dev.berth.view;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One deployment, for operators.
 *
 * @param name of the deployment
 * @param status its state
 * @param trigger what brought it there
 * @param message why, for people; may be empty
 * @param version that is wanted, for people
 * @param config the values in effect under Ray Serve's names, JSON values only
 * @param targetReplicas how many are wanted
 * @param replicas that are there, in the order they were started
 * @param autoscaling how that number follows the load; null when it does not, or nothing was
 *     decided yet
 * @param dead replicas that ended without being told to, the newest first, at most 10
 */
public record DeploymentDetails(
    String name,
    DeploymentStatus status,
    StatusTrigger trigger,
    String message,
    String version,
    Map<String, @Nullable Object> config,
    int targetReplicas,
    @Nullable ScalingDetails autoscaling,
    List<ReplicaDetails> replicas,
    List<ReplicaDetails> dead) {
  public DeploymentDetails {
    replicas = List.copyOf(replicas);
    dead = List.copyOf(dead);
  }
}
