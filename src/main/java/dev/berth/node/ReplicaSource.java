package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.DeploymentActivity;
import dev.berth.metrics.HandleMetricSource;
import dev.berth.protocol.ReplicaStats;
import dev.berth.replica.AutoscalingStats;
import dev.berth.replica.Replica;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.routing.DeploymentRouter;
import org.jspecify.annotations.Nullable;

/**
 * Metrics of a replica: the load of its ledger, from the handles of all instances, and the
 * statistics of its handlers.
 *
 * @param router router of the deployment, which knows whether it autoscales
 */
public record ReplicaSource(Replica replica, DeploymentRouter router)
    implements HandleMetricSource {
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

  @Override
  public void addTo(DeploymentActivity activity) {
    long failed = replica.errors().values().stream().mapToLong(Long::longValue).sum();
    SlotLedger slots = replica.slots();
    activity.addReplica(slots.ongoing(), slots.maxOngoing(), failed, replica.processingTimes());
  }

  @Override
  public void sampled() {
    replica.sampleStats();
  }

  @Override
  public @Nullable ReplicaStats stats() {
    AutoscalingStats told = replica.stats();
    return told == null ? null : told.take();
  }
}
