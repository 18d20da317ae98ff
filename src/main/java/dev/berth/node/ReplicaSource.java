package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.HandleMetricSource;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;

/**
 * What a replica's ledger holds, whichever instance's handles sent it.
 *
 * @param router of its deployment here, which knows whether it autoscales
 */
record ReplicaSource(Replica replica, DeploymentRouter router) implements HandleMetricSource {
  @Override
  public DeploymentId deployment() {
    return replica.deployment();
  }

  @Override
  public boolean autoscales() {
    return router.autoscales();
  }

  @Override
  public int running() {
    return replica.slots().running();
  }

  @Override
  public int reserved() {
    return replica.slots().reserved();
  }
}
