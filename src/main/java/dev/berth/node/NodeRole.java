package dev.berth.node;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.live.LiveState;
import dev.berth.api.DeploymentId;
import dev.berth.code.BuildCache;
import dev.berth.code.LoadedApplication;
import dev.berth.controller.ControllerEvent;
import dev.berth.node.InstanceRuntime.InstanceContext;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import io.vertx.core.Future;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Role of an instance toward its controller. The controller is on the instance and commands it
 * alone, or commands a cluster from it, or is on another node. Each role creates the host that it
 * commands. Confined to the control loop, unless a method states otherwise.
 */
interface NodeRole extends BuildCache.BuildInputsLookup {

  /** Creates the role of an instance from its parts. */
  @FunctionalInterface
  interface NodeRoleFactory {
    /**
     * @param host creates the host that the role commands
     * @param side cluster part of a node; null for an instance without a cluster
     */
    NodeRole make(
        InstanceContext on,
        Function<NodeRole, InstanceRuntime> host,
        @Nullable ClusterMembershipClient side);
  }

  /** Returns the code, replicas, routers and routes that the controller commands here. */
  InstanceRuntime host();

  /** Sends an event to the controller, in the order of the calls. Thread-safe. */
  void tell(ControllerEvent event);

  /** Sends a message to the controller, which may be lost; its sender repeats it. */
  void send(BusMessage message);

  /**
   * Sends a message to the controller, which replies within 1.5 s or not at all.
   *
   * @return the term of the controller that received the message
   */
  Future<Long> ask(BusMessage message);

  /** Handles code that nothing on this instance uses any more. */
  void onCodeUnused(LoadedApplication code);

  /**
   * Returns the routes for operators and other nodes.
   *
   * @param here makes the routes of a controller on this instance, by its commands
   */
  List<AdminRoutes> operators(Function<ControllerCommands, AdminRoutes> here);

  /** Returns the routes that forward to another node; mounted last. */
  default List<AdminRoutes> forwarded() {
    return List.of();
  }

  /** Returns the state of the controller for the live feed. Each call fails without one here. */
  default LiveState.ControllerState controllerState() {
    throw CommandRejectedException.unavailable("%s", missingController());
  }

  /** Returns the reason why no controller is here; null if there is one. */
  @Nullable String missingController();

  /** Returns whether a controller on another node serves operators. */
  default boolean isCommandedElsewhere() {
    return false;
  }

  /** Sets the receiver of the batches that the controller accepts. */
  default void onReports(Consumer<HandleMetricBatch> receiver) {}

  /** Passes the desired number of replicas of each deployment, if a controller is here. */
  default void forEachTarget(ObjIntConsumer<DeploymentId> action) {}

  /** Starts the controller, or the link to the controller. */
  Future<Void> start();

  /** Returns a future that completes when requests may arrive: all standing commands are here. */
  Future<Void> complete();

  /**
   * Begins the drain of the instance: commands of operators are refused from now on.
   *
   * @return completes when the state directory is released, if that is done before the stop
   */
  Future<Void> drains();

  /**
   * Drains the replicas, after the last request in flight.
   *
   * @return completes when no replica is left
   */
  Future<Void> withdraw();

  /** Ends the controller, or the link to the controller, and releases the state directory. */
  Future<Void> stop();
}
