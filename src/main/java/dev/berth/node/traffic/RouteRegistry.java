package dev.berth.node.traffic;

import dev.berth.api.DeploymentId;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTable;
import dev.berth.protocol.port.LoopExecutor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Routes of applications and endpoints on this instance. Changes that arrive together, as at a
 * start, cause one new table. Confined to the control loop.
 */
public final class RouteRegistry {

  private record ApplicationRoute(
      String prefix, DeploymentId ingress, @Nullable Settings traffic, IngressRoute leadsTo) {}

  private final Consumer<RouteTable<IngressRoute>> ingress;
  private final String rootPath;
  private final LoopExecutor control;
  private final BiFunction<DeploymentId, @Nullable Settings, IngressRoute> made;
  private final EndpointRegistry endpoints;
  // applications with HTTP
  private final Map<String, ApplicationRoute> byApplication = new ConcurrentHashMap<>();
  private boolean changed;

  /**
   * @param ingress receives each new table
   * @param control the control loop
   * @param made creates a route from its ingress deployment, as configured now, and the traffic of
   *     other deployments; null traffic means the ingress alone
   */
  public RouteRegistry(
      Consumer<RouteTable<IngressRoute>> ingress,
      String rootPath,
      LoopExecutor control,
      BiFunction<DeploymentId, @Nullable Settings, IngressRoute> made,
      EndpointRegistry endpoints) {
    this.endpoints = endpoints;
    this.ingress = ingress;
    this.rootPath = rootPath;
    this.control = control;
    this.made = made;
    if (!endpoints.prefixes.isEmpty()) {
      change();
    }
  }

  public void route(RouteTo command) {
    assert control.isHere();
    String prefix = command.prefix();
    if (prefix == null) {
      unroute(command.application());
    } else {
      put(command.application(), prefix, command.ingress(), command.traffic());
    }
  }

  private void put(String application, String prefix, DeploymentId to, @Nullable Settings traffic) {
    ApplicationRoute next = new ApplicationRoute(prefix, to, traffic, made.apply(to, traffic));
    if (!next.equals(byApplication.put(application, next))) {
      change();
    }
  }

  /** Updates the routes to a deployment to its current configuration. */
  public void configured(DeploymentId deployment) {
    updateEndpoints(deployment);
    ApplicationRoute route = byApplication.get(deployment.application());
    if (route != null && (route.traffic != null || route.ingress.equals(deployment))) {
      put(deployment.application(), route.prefix, route.ingress, route.traffic);
    }
  }

  /** Updates the endpoints after a change or the removal of a deployment. */
  public void updateEndpoints(DeploymentId deployment) {
    assert control.isHere();
    if (endpoints.name(deployment)) {
      change();
    }
  }

  /** Sets the weights of an endpoint, by {@code application#deployment}. */
  public void split(String endpoint, Map<String, Double> weights) {
    assert control.isHere();
    endpoints.split(endpoint, weights);
    change();
  }

  public void unroute(String application) {
    assert control.isHere();
    if (byApplication.remove(application) != null) {
      change();
    }
  }

  /** Removes the routes of all other applications, whose removal this instance missed. */
  public void keepOnly(Set<String> applications) {
    assert control.isHere();
    if (byApplication.keySet().retainAll(applications)) {
      change();
    }
  }

  private void change() {
    if (!changed) {
      changed = true;
      control.execute(this::flush);
    }
  }

  /** Applies pending changes at once. */
  public void flush() {
    assert control.isHere();
    if (changed) {
      changed = false;
      ingress.accept(RouteTable.of(rootPath, leadsTo()));
    }
  }

  /** Returns the current routes by prefix. */
  public Map<String, IngressRoute> leadsTo() {
    assert control.isHere();
    Map<String, IngressRoute> routes = new HashMap<>();
    byApplication.values().forEach(route -> routes.put(route.prefix, route.leadsTo));
    routes.putAll(endpoints.routes());
    return routes;
  }

  /** Returns the prefixes of applications and endpoints, in path order. Thread-safe. */
  public List<String> prefixes() {
    Stream<String> applications = byApplication.values().stream().map(ApplicationRoute::prefix);
    return Stream.concat(applications, endpoints.prefixes.stream()).sorted().toList();
  }

  /** Returns the prefix of an application; empty without a route. Thread-safe. */
  public String prefixOf(String application) {
    ApplicationRoute route = byApplication.get(application);
    return route == null ? "" : route.prefix;
  }
}
