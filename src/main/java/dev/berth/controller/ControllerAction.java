package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.RoutingSnapshot;

/** What the controller wants done. Doing one twice, by epoch and replica id, does it once. */
public sealed interface ControllerAction {

  /** Start a replica, and tell what came of it. */
  record StartReplica(Epoch epoch, DeploymentId deployment, String replicaId)
      implements ControllerAction {}

  /** Drain a replica, then stop it. */
  record StopReplica(Epoch epoch, String replicaId) implements ControllerAction {}

  /** Give the routers a newer view of a deployment. */
  record Publish(RoutingSnapshot snapshot) implements ControllerAction {}

  /**
   * An application is in a new state.
   *
   * @param reason why it failed, one line; empty when it has not
   */
  record Announce(String application, ApplicationStatus status, String reason)
      implements ControllerAction {}
}
