package dev.berth.cluster.membership;

import org.jspecify.annotations.Nullable;

/**
 * Fences a node against controllers of another cluster or with an old state: the node remembers the
 * newest authority that commanded it for its whole life. Confined to one thread. The controller
 * compares the nodes' authorities by {@link StateGuard}.
 */
public final class Fence {
  private @Nullable ClusterEpoch seen;

  /** Returns the newest authority seen; null before any. */
  public @Nullable ClusterEpoch seen() {
    return seen;
  }

  /** Records an authority. Never called for an authority that {@link #refuses} rejects. */
  public void record(ClusterEpoch authority) {
    seen = seen == null ? authority : seen.newest(authority);
  }

  /**
   * Returns the reason why a controller with this authority is rejected; null when it is accepted.
   */
  public @Nullable String refuses(ClusterEpoch authority) {
    return seen == null ? null : authority.behind(seen);
  }
}
