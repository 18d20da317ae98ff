package dev.berth.node.traffic;

import dev.berth.api.DeploymentId;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTable;
import dev.berth.protocol.port.Loop;
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
 * Which application answers where on this instance. Changes that come together, as at a start, make
 * one new table. Belongs to the control loop.
 */
public final class Routes {

  private record Routed(
      String prefix, DeploymentId ingress, @Nullable Settings traffic, IngressRoute leadsTo) {}

  private final Consumer<RouteTable<IngressRoute>> ingress;
  private final String rootPath;
  private final Loop control;
  private final BiFunction<DeploymentId, @Nullable Settings, IngressRoute> made;
  private final Endpoints endpoints;
  private final Map<String, Routed> byApplication = new ConcurrentHashMap<>(); // those with HTTP
  private boolean changed;

  /**
   * @param ingress takes each new table
   * @param control the control loop
   * @param made what a route leads to, as its ingress is configured now, and the traffic of others
   *     that answer too; that is null where the ingress alone does
   */
  public Routes(
      Consumer<RouteTable<IngressRoute>> ingress,
      String rootPath,
      Loop control,
      BiFunction<DeploymentId, @Nullable Settings, IngressRoute> made,
      Endpoints endpoints) {
    this.endpoints = endpoints;
    this.ingress = ingress;
    this.rootPath = rootPath;
    this.control = control;
    this.made = made;
    if (!endpoints.prefixes().isEmpty()) {
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
    Routed next = new Routed(prefix, to, traffic, made.apply(to, traffic));
    if (!next.equals(byApplication.put(application, next))) {
      change();
    }
  }

  /** Routes to it are as it is configured now. */
  public void configured(DeploymentId deployment) {
    assert control.isHere();
    if (endpoints.name(deployment)) {
      change();
    }
    Routed route = byApplication.get(deployment.application());
    if (route != null && (route.traffic != null || route.ingress.equals(deployment))) {
      put(deployment.application(), route.prefix, route.ingress, route.traffic);
    }
  }

  /** A deployment is gone: endpoints lead to what is left. */
  public void forgotten(DeploymentId deployment) {
    assert control.isHere();
    if (endpoints.name(deployment)) {
      change();
    }
  }

  /** An endpoint has other weights, by {@code application#deployment}. */
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

  /** Of applications; others are gone, and that was not heard here. */
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

  /** Makes what was changed take effect at once. */
  public void flush() {
    assert control.isHere();
    if (changed) {
      changed = false;
      ingress.accept(RouteTable.of(rootPath, leadsTo()));
    }
  }

  /** What each route leads to, by its prefix. */
  public Map<String, IngressRoute> leadsTo() {
    assert control.isHere();
    Map<String, IngressRoute> routes = new HashMap<>();
    byApplication.values().forEach(route -> routes.put(route.prefix, route.leadsTo));
    routes.putAll(endpoints.routes());
    return routes;
  }

  /** Where applications and endpoints answer, in the order of their paths. Any thread. */
  public List<String> prefixes() {
    Stream<String> applications = byApplication.values().stream().map(Routed::prefix);
    return Stream.concat(applications, endpoints.prefixes().stream()).sorted().toList();
  }

  /** Where an application answers; empty when it does not. Any thread. */
  public String prefixOf(String application) {
    Routed route = byApplication.get(application);
    return route == null ? "" : route.prefix;
  }
}
