package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.ReplicaStats;
import org.jspecify.annotations.Nullable;

/**
 * Counters of one deployment's router or of a replica, read by the pusher and the meters. The
 * control loop and scrapes may call all methods at any time. Each method only reads counters, and
 * neither locks nor waits. A gauge may be below zero for a moment, since its counters are read
 * separately; readers clamp it.
 */
public interface HandleMetricSource {

  /** Returns the called deployment. */
  DeploymentId deployment();

  /**
   * Returns whether the deployment currently autoscales, and is therefore sampled and reported.
   * Otherwise the pusher reads only {@link #queued}.
   */
  boolean autoscales();

  /** Returns the requests that wait for a slot now. A replica has no queue. */
  default int queued() {
    return 0;
  }

  /** Returns the requests now sent to replicas without a response. */
  int running();

  /** Returns the slots held by selections now. */
  int reserved();

  /** Adds the slots and the ended requests of a replica. A router has neither. */
  default void addTo(DeploymentActivity activity) {}

  /** Called at each sample. Slower readings may be started here, on another thread. */
  default void sampled() {}

  /** Returns the statistics that a replica reported since the last call; null for none. */
  default @Nullable ReplicaStats stats() {
    return null;
  }

  /**
   * Returns the number of begun requests. A request raises it before any gauge, so gauges that are
   * all 0 stay so while it is unchanged. -1 means that each reading must read all gauges. With many
   * idle deployments, this method is called much more often than the others.
   */
  default long begunCount() {
    return -1;
  }
}
