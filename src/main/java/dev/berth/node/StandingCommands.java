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
 * What holds for every instance until something else is commanded: how deployments are configured,
 * where applications answer. One that joins is given all of it, and listens when that is complete;
 * so does the controller's own, and when it is registered. Control loop.
 */
final class StandingCommands {
  private final Map<DeploymentId, Configure> deployments = new LinkedHashMap<>();
  private final Map<DeploymentId, Remember> rolledOut = new LinkedHashMap<>();
  private final Map<String, RouteTo> routes = new LinkedHashMap<>(); // by application
  private final Map<String, SplitEndpoint> splits = new LinkedHashMap<>(); // by route
  private final List<Map<?, ? extends Command>> kinds = // deployments before what leads to them
      List.of(deployments, rolledOut, routes, splits);
  private final Set<String> unrouted = new HashSet<>(); // applications that may get a route yet
  private boolean recovered; // the controller decides
  private boolean registered; // its own node is
  private Promise<Void> complete = Promise.promise();

  /** Whether it is for every instance; if so it is kept, or takes one away that was. */
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
   * Another controller begins, which commands all of it anew.
   *
   * @param applications that are declared
   */
  void begin(Collection<String> applications) {
    kinds.forEach(Map::clear);
    unrouted.addAll(applications);
    recovered = false;
    if (complete.future().isComplete()) {
      complete = Promise.promise();
    }
  }

  void recovered() {
    recovered = true;
    look();
  }

  /** Before, other nodes take nothing from this one, and its tokens would not say who made them. */
  void registered() {
    registered = true;
    look();
  }

  /** What is being deployed may have served before: its route is still to come. */
  void announced(Announce state) {
    if (state.status() != ApplicationStatus.DEPLOYING) {
      unrouted.remove(state.application());
      look();
    }
  }

  /** What has no route yet gets one late; a controller that stands by is never registered. */
  void giveUp() {
    unrouted.clear();
    registered();
  }

  private void look() {
    if (recovered && registered && unrouted.isEmpty()) {
      complete.tryComplete();
    }
  }

  /** Completes when each application that answers somewhere is routed. */
  Future<Void> complete() {
    return complete.future();
  }

  /** Returns the commands that hold now, in an order in which an instance can do them. */
  List<Command> all() {
    return kinds.stream().<Command>flatMap(each -> each.values().stream()).toList();
  }
}
