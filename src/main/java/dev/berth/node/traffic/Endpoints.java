package dev.berth.node.traffic;

import dev.berth.api.DeploymentId;
import dev.berth.config.TrafficOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.IngressRoute;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The routes over several applications, of {@code berth.endpoints}. Each leads to those of its
 * deployments that there are; while there are none of its traffic, it parks its requests. Belongs
 * to the control loop.
 */
public final class Endpoints {
  private final Map<String, Settings> declared = new LinkedHashMap<>(); // by prefix
  private final Set<String> prefixes;
  private final Predicate<DeploymentId> known;
  private final Function<Settings, IngressRoute> leadsTo;

  /**
   * @param known whether a deployment is there now
   * @param leadsTo makes the route of an endpoint all of whose deployments are there
   */
  public Endpoints(
      List<Settings> endpoints,
      Predicate<DeploymentId> known,
      Function<Settings, IngressRoute> leadsTo) {
    endpoints.forEach(each -> declared.put(each.get(TrafficOptions.ROUTE_PREFIX), each));
    prefixes = Set.copyOf(declared.keySet());
    this.known = known;
    this.leadsTo = leadsTo;
  }

  /** Where they answer: the same for as long as the instance runs. Any thread. */
  public Set<String> prefixes() {
    return prefixes;
  }

  /** Whether one of them names a deployment. */
  public boolean name(DeploymentId deployment) {
    return declared.values().stream()
        .anyMatch(each -> TrafficOptions.named(each, "").containsValue(deployment));
  }

  /** One of them has other weights; nothing when there is none there. */
  public void split(String route, Map<String, Double> weights) {
    declared.computeIfPresent(route, (prefix, said) -> TrafficOptions.split(said, weights));
  }

  /** What each leads to now, by prefix. */
  public Map<String, IngressRoute> routes() {
    Map<String, IngressRoute> routes = new LinkedHashMap<>();
    declared.forEach((prefix, endpoint) -> routes.put(prefix, route(endpoint)));
    return routes;
  }

  private IngressRoute route(Settings endpoint) {
    Settings there = TrafficOptions.only(endpoint, known);
    return TrafficOptions.answers(there)
        ? leadsTo.apply(there)
        : IngressRoute.nowhere(endpoint.get(TrafficOptions.QUEUE_TIMEOUT_S).toNanos());
  }
}
