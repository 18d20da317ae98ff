package dev.berth.node;

import dev.berth.admin.AdminRoutes;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerEvent;
import dev.berth.protocol.BusMessage;
import io.vertx.core.Future;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The instances that a controller commands. Control loop. */
interface Nodes {

  /** The controller commands; others may come. */
  default Future<Void> start() {
    return Future.succeededFuture();
  }

  /**
   * What operators may ask of them.
   *
   * @param replicas of all deployments, by the instance that they are on
   */
  default List<AdminRoutes> operators(Supplier<Map<String, Integer>> replicas) {
    return List.of();
  }

  /** To the instance that it is for, or to all, behind the commands before it. */
  void command(Command command);

  /** To the routers of an instance; may be lost. */
  void send(String node, BusMessage message);

  /** Those that a controller which begins waits for. */
  Collection<String> known();

  /** A controller begins, and knows what is declared: it is told what runs where. */
  void tell(Consumer<ControllerEvent> controller);

  /** The controller decides: it knows what runs. */
  default void recovered() {}

  /** What the controller says of an application. */
  default void announced(Announce state) {}

  /** Completes when instances know all that holds. */
  default Future<Void> complete() {
    return Future.succeededFuture();
  }

  /** This instance begins to end. */
  default void drains() {}

  /** It has ended, and commands nobody. */
  default Future<Void> stop() {
    return Future.succeededFuture();
  }

  /**
   * This instance ends, and no request is under way here: its replicas go.
   *
   * @param applications that are declared
   * @return completes when none of its replicas is left
   */
  Future<Void> withdraw(Collection<String> applications, Consumer<ControllerEvent> controller);
}
