package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.ReplicaStats;
import org.jspecify.annotations.Nullable;

/**
 * What the pusher and the meters read of one deployment's router, or of a replica. Every method may
 * be called from the control event loop and from scrapes at any time, so each is a read of a
 * counter: no lock, no wait. Gauges may be momentarily below zero when their counters are read
 * apart; readers clamp.
 */
public interface HandleMetricSource {

  /** The deployment called. */
  DeploymentId deployment();

  /**
   * Whether it is sampled and reported, as now configured: its deployment autoscales. Of others the
   * pusher reads {@link #queued} alone.
   */
  boolean autoscales();

  /** Requests waiting for a slot now; a replica has no queue. */
  default int queued() {
    return 0;
  }

  /** Requests sent to replicas and unanswered now. */
  int running();

  /** Slots held by selections now. */
  int reserved();

  /** It is sampled: what takes longer to read may be asked for, elsewhere. */
  default void sampled() {}

  /** What a replica told of itself since this was last asked; null for nothing. */
  default @Nullable ReplicaStats stats() {
    return null;
  }

  /**
   * Requests begun, raised before a gauge is for one of them: while all gauges are 0 and this
   * stands still, nothing changes. -1 when that does not hold, so that each is to be read each
   * time. It is read much oftener than the others where many deployments are idle.
   */
  default long begun() {
    return -1;
  }
}
