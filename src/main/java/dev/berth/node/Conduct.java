package dev.berth.node;

import dev.berth.code.Builds;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.node.InstanceHost.Instance;
import io.vertx.core.Future;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What an instance starts with, and who will command it; by default it starts with nothing, and has
 * nothing to give back. Control loop, unless a method says so.
 */
interface Conduct {

  /** Where code comes from that a controller wants. */
  Builds.Sources sources();

  /** The weights that endpoints were given, by route. */
  default Map<String, Map<String, Double>> endpointSplits() {
    return Map.of();
  }

  /**
   * @param host does what it commands
   * @param side of a node of a cluster; null for an instance by itself
   * @param announced told of the states of applications, where they are known
   */
  Commander commander(
      Instance on, InstanceHost host, @Nullable ClusterSide side, Consumer<Announce> announced);

  /** Completes when the code that it starts with is read, or failed to be; it does not fail. */
  default Future<Void> read() {
    return Future.succeededFuture();
  }

  /** Why the instance cannot start, once that is read; null when it can. */
  default @Nullable Throwable problem() {
    return null;
  }

  /** Names of applications that the start waits for. */
  default Collection<String> awaited() {
    return List.of();
  }

  /** Hands what was read to whoever builds. */
  default void handTo(Builds builds) {}

  /** The instance drains: it takes no commands any more. */
  default Future<Void> drain() {
    return Future.succeededFuture();
  }

  /** Nothing is under way any more; completes when what is declared is given back. */
  default Future<Void> close() {
    return Future.succeededFuture();
  }

  /** Gives back what was read and not handed on. */
  default void discard() {}
}
