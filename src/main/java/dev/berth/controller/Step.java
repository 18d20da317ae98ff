package dev.berth.controller;

import java.time.Duration;

/** One thing to do with the replicas of a deployment. */
sealed interface Step {

  record Start(DeploymentTarget target) implements Step {}

  record Reconfigure(String replicaId, DeploymentTarget target) implements Step {}

  /**
   * @param scaledDown since fewer are wanted
   */
  record Stop(String replicaId, Duration grace, String reason, boolean scaledDown)
      implements Step {}
}
