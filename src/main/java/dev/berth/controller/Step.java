package dev.berth.controller;

import java.time.Duration;

/** One thing to do with the replicas of a deployment. */
sealed interface Step {

  record Start(DeploymentTarget target, String node) implements Step {}

  record Reconfigure(ReplicaRecord replica, DeploymentTarget target) implements Step {}

  /**
   * @param scaledDown since fewer are wanted
   */
  record Stop(ReplicaRecord replica, Duration grace, String reason, boolean scaledDown)
      implements Step {}
}
