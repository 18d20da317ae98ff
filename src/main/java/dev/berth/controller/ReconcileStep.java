package dev.berth.controller;

import java.time.Duration;

/** A step of the controller for one replica of a deployment. */
sealed interface ReconcileStep {

  /**
   * @param upstream key of the upstream to start; empty for another replica
   */
  record StartStep(DeploymentTarget target, String node, String upstream)
      implements ReconcileStep {}

  record ReconfigureStep(ReplicaRecord replica, DeploymentTarget target) implements ReconcileStep {}

  /**
   * @param scaledDown whether fewer replicas are wanted
   */
  record StopStep(ReplicaRecord replica, Duration grace, String reason, boolean scaledDown)
      implements ReconcileStep {}
}
