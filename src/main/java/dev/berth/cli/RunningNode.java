package dev.berth.cli;

import io.vertx.core.Future;
import io.vertx.core.Promise;

/** What {@code berth run} needs of a started node. */
@FunctionalInterface
public interface RunningNode {

  /** Drains and stops the node. Completes when nothing of it is left. */
  Future<Void> close();

  /** Completes when it is told to stop from inside, with who told it; by default it never is. */
  default Future<String> stopAsked() {
    return Promise.<String>promise().future();
  }
}
