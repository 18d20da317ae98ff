package dev.berth.node;

import dev.berth.admin.AdminRoutes;
import dev.berth.code.Builds;
import dev.berth.code.LoadedApplication;
import dev.berth.controller.ControllerEvent;
import dev.berth.node.InstanceHost.Instance;
import dev.berth.protocol.BusMessage;
import dev.berth.view.ControllerCommands;
import io.vertx.core.Future;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The place of an instance beside its controller: the controller is on it and commands it alone, or
 * commands a cluster from it, or is on another node. Each role makes the host that it commands.
 * Confined to the control loop, unless a method says otherwise.
 */
interface NodeRole extends Builds.Sources {

  /** Makes the role of an instance from its parts. */
  @FunctionalInterface
  interface Factory {
    /**
     * @param host makes what the role commands
     * @param side of a node of a cluster; null for an instance by itself
     */
    NodeRole make(Instance on, Function<NodeRole, InstanceHost> host, @Nullable ClusterSide side);
  }

  /** The code, replicas, routers and routes that the controller commands here. */
  InstanceHost host();

  /** Sends an event to the controller, in the order of the calls. Thread-safe. */
  void tell(ControllerEvent event);

  /** Sends a message to the controller that may be lost, and is repeated by its sender. */
  void send(BusMessage message);

  /**
   * Sends a message to the controller that is answered within 1.5 s or not at all.
   *
   * @return with the term of the controller that took it
   */
  Future<Long> ask(BusMessage message);

  /** Notes that nothing here uses that code any more. */
  void gone(LoadedApplication code);

  /**
   * Returns the routes for operators and other nodes.
   *
   * @param here makes the routes of a controller on this instance, by its commands
   */
  List<AdminRoutes> operators(Function<ControllerCommands, AdminRoutes> here);

  /** Returns the routes that another node answers; mounted last. */
  default List<AdminRoutes> forwarded() {
    return List.of();
  }

  /** Starts the controller, or the link to it; completes when it commands. */
  Future<Void> start();

  /** Completes when requests may come: this instance received all that holds for it. */
  Future<Void> complete();

  /**
   * Begins the drain of the instance: operators give it no more commands.
   *
   * @return completes when the state directory is released, if that is done before the stop
   */
  Future<Void> drains();

  /**
   * Drains the replicas, as no request is in flight any more.
   *
   * @return completes when none is left
   */
  Future<Void> withdraw();

  /** Ends the controller, or the link to it, and releases the state directory. */
  Future<Void> stop();
}
