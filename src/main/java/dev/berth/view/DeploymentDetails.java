package dev.berth.view;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Status of a deployment, for operators.
 *
 * @param name of the deployment
 * @param status state of the deployment
 * @param trigger cause of the status
 * @param message reason of the status, for people; may be empty
 * @param version desired version, for people
 * @param config effective values under Ray Serve's names, JSON values only
 * @param targetReplicas desired number of replicas
 * @param replicas existing replicas, in start order
 * @param autoscaling state of autoscaling; null if not autoscaled, or before the first decision
 * @param dead replicas that ended without a command, newest first, at most 10
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
    List<ReplicaDetails> dead) {}
