package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.SplitEndpoint;
import dev.berth.controller.ControllerAction.Unroute;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What holds for every instance until something else is commanded: how deployments are configured,
 * where applications answer. One that joins is given all of it. Control loop.
 */
final class StandingCommands {
  private final Map<DeploymentId, Configure> deployments = new LinkedHashMap<>();
  private final Map<DeploymentId, Remember> complete = new LinkedHashMap<>();
  private final Map<String, RouteTo> routes = new LinkedHashMap<>(); // by application
  private final Map<String, SplitEndpoint> splits = new LinkedHashMap<>(); // by route

  /** Whether it is for every instance; if so it is kept, or takes one away that was. */
  boolean keep(Command command) {
    if (command instanceof Configure configure) {
      deployments.put(configure.target().id(), configure);
    } else if (command instanceof Remember remember) {
      complete.put(remember.deployment(), remember);
    } else if (command instanceof RouteTo route) {
      routes.put(route.application(), route);
    } else if (command instanceof SplitEndpoint split) {
      splits.put(split.route(), split);
    } else if (command instanceof Forget forget) {
      deployments.remove(forget.deployment());
      complete.remove(forget.deployment());
    } else if (command instanceof Unroute unroute) {
      routes.remove(unroute.application());
    } else {
      return false;
    }
    return true;
  }

  /** Another controller begins, which commands all of it anew. */
  void clear() {
    deployments.clear();
    complete.clear();
    routes.clear();
    splits.clear();
  }

  /** Deployments before what leads to them. */
  List<Command> all() {
    List<Command> all = new ArrayList<>(deployments.values());
    all.addAll(complete.values());
    all.addAll(routes.values());
    all.addAll(splits.values());
    return all;
  }
}
