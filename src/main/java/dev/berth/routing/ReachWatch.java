package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import org.jspecify.annotations.Nullable;

/**
 * Measures the time without a reachable replica of one deployment while its node had no controller
 * to replace them. Written under the router's lock, read by any thread.
 */
final class ReachWatch {
  private final DeploymentId deployment;
  private boolean available = true; // in the last snapshot
  private boolean hasNone; // the last snapshot has no replica
  private @Nullable Long sinceNanos;
  private volatile boolean over; // the limit is exceeded

  ReachWatch(DeploymentId deployment) {
    this.deployment = deployment;
  }

  /** Records the last snapshot. */
  void saw(boolean isAvailable, boolean isEmpty) {
    available = isAvailable;
    hasNone = isEmpty;
  }

  /** Returns whether the last snapshot has no replica: a deployment that is scaled to zero. */
  boolean hasNone() {
    return hasNone;
  }

  /** Returns whether requests are accepted. */
  boolean serves() {
    return available && !over;
  }

  /**
   * Records whether a replica is reachable, or will be created.
   *
   * @return whether {@link #serves} may have changed
   */
  boolean record(boolean isReached, long nowNanos, long limitNanos) {
    Long since = isReached ? null : sinceNanos == null ? (Long) nowNanos : sinceNanos;
    sinceNanos = since;
    boolean before = over;
    over = since != null && nowNanos - since >= limitNanos;
    return over != before;
  }

  /**
   * Returns the failure of a request that no replica will run.
   *
   * @param otherwise the reason if the limit of this watch is not exceeded
   */
  BerthException unavailable(String otherwise) {
    String why = over ? ": its replicas are unreachable, and there is no controller" : otherwise;
    return new BerthException.DeploymentUnavailable(
        "Deployment " + deployment + " is unavailable" + why + ".");
  }
}
