package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import org.jspecify.annotations.Nullable;

/**
 * The time for which no replica of one deployment could be reached while its node had no
 * controller, which would replace them. Written under the router's lock, read by any thread.
 */
final class ReachWatch {
  private final DeploymentId deployment;
  private boolean available = true; // in the last snapshot
  private boolean hasNone; // likewise
  private @Nullable Long sinceNanos;
  private volatile boolean over; // the limit

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

  /** Returns whether requests are taken. */
  boolean serves() {
    return available && !over;
  }

  /**
   * Records whether a replica is reached, or will come.
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
   * Returns the failure of a request that no replica will take.
   *
   * @param otherwise the reason where requests are not refused for this one
   */
  BerthException unavailable(String otherwise) {
    String why = over ? ": its replicas cannot be reached, and there is no controller" : otherwise;
    return new BerthException.DeploymentUnavailable(
        "Deployment " + deployment + " is unavailable" + why + ".");
  }
}
