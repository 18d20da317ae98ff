package dev.berth.cluster.membership;

import org.jspecify.annotations.Nullable;

/**
 * Keeps a controller with an old state, or of another cluster, from commanding: on a node, which
 * remembers what it was commanded by for as long as it lives; at the controller, which is told what
 * nodes remember. One thread.
 */
public final class Fence {
  private @Nullable Authority seen;

  /** The newest that was seen; null before any. */
  public @Nullable Authority seen() {
    return seen;
  }

  /** Remembers what was seen. What {@link #refuses} has an answer for is not remembered. */
  public void saw(Authority authority) {
    seen = seen == null ? authority : seen.newest(authority);
  }

  /** Why who has this may not command; null when he may. */
  public @Nullable String refuses(Authority authority) {
    return seen == null ? null : authority.behind(seen);
  }
}
