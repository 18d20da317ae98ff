package dev.berth.controller;

import java.time.Duration;

/** A step of the controller for one replica of a deployment. */
sealed interface Step {

  record Start(DeploymentTarget target, String node) implements Step {}

  record Reconfigure(ReplicaRecord replica, DeploymentTarget target) implements Step {}

  /**
   * @param scaledDown whether fewer replicas are wanted
   */
  record Stop(ReplicaRecord replica, Duration grace, String reason, boolean scaledDown)
      implements Step {}
}
