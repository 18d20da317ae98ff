package dev.berth.node.traffic;

import dev.berth.api.DeploymentId;
import dev.berth.config.TrafficOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.edge.EdgeRules;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Routes over several applications, from {@code berth.endpoints}. Each leads to those of its
 * deployments that exist; while none exists, the route parks its requests. Confined to the control
 * loop.
 */
public final class EndpointRegistry {
  private final Map<String, Settings> declared = new LinkedHashMap<>(); // by prefix

  /** The prefixes of the endpoints, which are constant for the instance. Thread-safe. */
  final Set<String> prefixes;

  private final Predicate<DeploymentId> known;
  private final Function<Settings, IngressRoute> leadsTo;

  /**
   * @param known returns whether a deployment exists now
   * @param leadsTo creates the route of an endpoint whose deployments all exist
   */
  public EndpointRegistry(
      List<Settings> endpoints,
      Predicate<DeploymentId> known,
      Function<Settings, IngressRoute> leadsTo) {
    endpoints.forEach(each -> declared.put(each.get(TrafficOptions.ROUTE_PREFIX), each));
    prefixes = Set.copyOf(declared.keySet());
    this.known = known;
    this.leadsTo = leadsTo;
  }

  /** Returns whether an endpoint names a deployment. */
  public boolean name(DeploymentId deployment) {
    return declared.values().stream()
        .anyMatch(each -> TrafficOptions.named(each, "").containsValue(deployment));
  }

  /** Sets the weights of an endpoint; does nothing for an unknown prefix. */
  public void split(String route, Map<String, Double> weights) {
    declared.computeIfPresent(route, (prefix, said) -> TrafficOptions.split(said, weights));
  }

  /** Returns the current routes by prefix. */
  public Map<String, IngressRoute> routes() {
    Map<String, IngressRoute> routes = new LinkedHashMap<>();
    declared.forEach((prefix, endpoint) -> routes.put(prefix, route(endpoint)));
    return routes;
  }

  private IngressRoute route(Settings endpoint) {
    Settings there = TrafficOptions.only(endpoint, known);
    return TrafficOptions.answers(there)
        ? leadsTo.apply(there)
        : IngressRoute.nowhere(endpoint.get(TrafficOptions.QUEUE_TIMEOUT_S).toNanos())
            .withEdge(EdgeRules.of(endpoint));
  }
}
