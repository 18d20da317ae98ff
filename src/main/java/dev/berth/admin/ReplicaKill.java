package dev.berth.admin;

import dev.berth.api.DeploymentId;
import io.vertx.core.Future;

/** Ends a replica at once, as if it had died: the controller is to put another in its place. */
@FunctionalInterface
public interface ReplicaKill {

  /**
   * On the control loop.
   *
   * @return false when this instance hosts no such replica; true as soon as it is to end
   */
  Future<Boolean> kill(DeploymentId deployment, String replicaId);
}
