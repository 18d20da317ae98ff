package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTable;
import dev.berth.protocol.port.Loop;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Which application answers where on this instance. Changes that come together, as at a start, make
 * one new table. Belongs to the control loop.
 */
final class Routes {

  private record Routed(String prefix, DeploymentId ingress, IngressRoute leadsTo) {}

  private final Consumer<RouteTable<IngressRoute>> ingress;
  private final String rootPath;
  private final Loop control;
  private final Function<DeploymentId, IngressRoute> made;
  private final Map<String, Routed> byApplication = new ConcurrentHashMap<>(); // those with HTTP
  private boolean changed;

  /**
   * @param ingress takes each new table
   * @param control the control loop
   * @param made what a route to a deployment leads to, as that is configured now
   */
  Routes(
      Consumer<RouteTable<IngressRoute>> ingress,
      String rootPath,
      Loop control,
      Function<DeploymentId, IngressRoute> made) {
    this.ingress = ingress;
    this.rootPath = rootPath;
    this.control = control;
    this.made = made;
  }

  void route(RouteTo command) {
    assert control.isHere();
    String prefix = command.prefix();
    if (prefix == null) {
      unroute(command.application());
    } else {
      put(command.application(), prefix, command.ingress());
    }
  }

  private void put(String application, String prefix, DeploymentId to) {
    Routed next = new Routed(prefix, to, made.apply(to));
    if (!next.equals(byApplication.put(application, next))) {
      change();
    }
  }

  /** Routes to it are as it is configured now. */
  void configured(DeploymentId deployment) {
    assert control.isHere();
    Routed route = byApplication.get(deployment.application());
    if (route != null && route.ingress.equals(deployment)) {
      put(deployment.application(), route.prefix, deployment);
    }
  }

  void unroute(String application) {
    assert control.isHere();
    if (byApplication.remove(application) != null) {
      change();
    }
  }

  private void change() {
    if (!changed) {
      changed = true;
      control.execute(this::flush);
    }
  }

  /** Makes what was changed take effect at once. */
  void flush() {
    assert control.isHere();
    if (changed) {
      changed = false;
      Map<String, IngressRoute> routes = new HashMap<>();
      byApplication.values().forEach(route -> routes.put(route.prefix, route.leadsTo));
      ingress.accept(RouteTable.of(rootPath, routes));
    }
  }

  /** Where applications answer, in the order of their paths. Any thread. */
  List<String> prefixes() {
    return byApplication.values().stream().map(Routed::prefix).sorted().toList();
  }

  /** Where an application answers; empty when it does not. Any thread. */
  String prefixOf(String application) {
    Routed route = byApplication.get(application);
    return route == null ? "" : route.prefix;
  }
}
