package dev.berth.cli;

import io.vertx.core.Future;

/** What {@code berth run} needs of a started node. */
@FunctionalInterface
public interface RunningNode {

  /** Drains and stops the node. Completes when nothing of it is left. */
  Future<Void> close();
}
