package dev.berth.view;

import io.vertx.core.Future;

/**
 * What operators may ask of a cluster, on its control node. Those that change nothing for a reason
 * fail with {@link CommandRefused}. Call on the control event loop; it completes there.
 */
public interface ClusterCommands {

  /** Who belongs to it, and how it is. */
  Future<ClusterDetails> details();

  /** Nothing more is placed on a node, and what is there moves; completes when it has begun. */
  Future<Void> drain(String node);

  /** Takes that back. */
  Future<Void> uncordon(String node);
}
