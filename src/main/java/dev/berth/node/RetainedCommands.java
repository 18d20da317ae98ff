package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.SplitEndpoint;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.view.ApplicationStatus;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Commands that hold for every instance until they are replaced: configurations of deployments, and
 * routes of applications. A new node receives all of them, and listens once they are complete. The
 * controller's own instance also waits for its registration. Confined to the control loop.
 */
final class RetainedCommands {
  private final Map<DeploymentId, Configure> deployments = new LinkedHashMap<>();
  private final Map<DeploymentId, Remember> rolledOut = new LinkedHashMap<>();
  private final Map<String, RouteTo> routes = new LinkedHashMap<>(); // by application
  private final Map<String, SplitEndpoint> splits = new LinkedHashMap<>(); // by route
  private final List<Map<?, ? extends Command>> kinds = // deployments before their routes
      List.of(deployments, rolledOut, routes, splits);
  private final Set<String> unrouted = new HashSet<>(); // applications whose route may still come
  private boolean recovered; // the controller decides
  private boolean registered; // the controller's own node is registered
  private Promise<Void> complete = Promise.promise();

  /**
   * Stores a command that addresses every instance, or removes the one that it ends. Returns
   * whether the command addresses every instance.
   */
  boolean keep(Command command) {
    if (command instanceof Configure configure) {
      deployments.put(configure.target().id(), configure);
    } else if (command instanceof Remember remember) {
      rolledOut.put(remember.deployment(), remember);
    } else if (command instanceof RouteTo route) {
      routes.put(route.application(), route);
      unrouted.remove(route.application());
      look();
    } else if (command instanceof SplitEndpoint split) {
      splits.put(split.route(), split);
    } else if (command instanceof Forget forget) {
      deployments.remove(forget.deployment());
      rolledOut.remove(forget.deployment());
    } else if (command instanceof Unroute unroute) {
      routes.remove(unroute.application());
    } else {
      return false;
    }
    return true;
  }

  /**
   * Clears all commands, which a new controller repeats.
   *
   * @param applications applications that are declared
   */
  void begin(Collection<String> applications) {
    kinds.forEach(Map::clear);
    unrouted.addAll(applications);
    recovered = false;
    if (complete.future().isComplete()) {
      complete = Promise.promise();
    }
  }

  void onRecovered() {
    recovered = true;
    look();
  }

  /**
   * Marks the controller's own node as registered. Before, other nodes accept nothing from this
   * node, and its tokens would not name it.
   */
  void registered() {
    registered = true;
    look();
  }

  /**
   * Handles a new state. An application that is deploying may have served before: its route may
   * still come.
   */
  void announced(Announce state) {
    if (state.status() != ApplicationStatus.DEPLOYING) {
      unrouted.remove(state.application());
      look();
    }
  }

  /**
   * Ends the wait for missing routes, which follow late, and for the registration, which a
   * controller that stands by never gets.
   */
  void giveUp() {
    unrouted.clear();
    registered();
  }

  private void look() {
    if (recovered && registered && unrouted.isEmpty()) {
      complete.tryComplete();
    }
  }

  /** Returns a future that completes when each application with a route prefix is routed. */
  Future<Void> complete() {
    return complete.future();
  }

  /** Returns the current commands, each after the commands that it depends on. */
  List<Command> all() {
    return kinds.stream().<Command>flatMap(each -> each.values().stream()).toList();
  }
}
