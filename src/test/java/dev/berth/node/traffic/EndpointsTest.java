package dev.berth.node.traffic;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.ConfigReader;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.Epoch;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.ingress.IngressRoute;
import dev.berth.routing.traffic.TrafficPolicy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What routes lead to while deployments come and go. */
class EndpointsTest {
  private static final DeploymentId OLD = new DeploymentId("a", "old");
  private static final DeploymentId NEW = new DeploymentId("b", "new");
  private static final DeploymentId COPY = new DeploymentId("c", "copy");
  private static final DeploymentId STRANGER = new DeploymentId("z", "d");

  private static final String ALL =
      "{route_prefix: /all, queue_timeout_s: 7, traffic: [{application: a, deployment: old,"
          + " weight: 3}, {application: b, deployment: new, weight: 0}],"
          + " match: [{header: x, application: b, deployment: new}],"
          + " shadow: [{application: c, deployment: copy}]}";

  private final Set<DeploymentId> there = new HashSet<>();
  private final List<Map<String, IngressRoute>> tables = new ArrayList<>();
  private final Map<IngressRoute, Object> madeFrom = new HashMap<>(); // of what is made here

  private RouteRegistry routes(Map<String, Map<String, Double>> splits) {
    String text = "{applications: [], berth: {endpoints: [" + ALL + "]}}";
    ServeConfig file = ConfigReader.read("f", Path.of("."), text);
    EndpointRegistry endpoints =
        new EndpointRegistry(
            file.get(ServeConfig.BERTH).get(InstanceOptions.ENDPOINTS),
            there::contains,
            endpoint -> made(TrafficPolicy.of(endpoint, "", null)));
    splits.forEach(endpoints::split);
    return new RouteRegistry(
        table -> tables.add(table.routes()),
        "",
        PlaneBuilder.loopOf(Runnable::run, () -> true),
        (ingress, traffic) -> made(traffic == null ? ingress : traffic),
        endpoints);
  }

  private IngressRoute made(Object from) {
    IngressRoute route = IngressRoute.nowhere(-1 - madeFrom.size()); // another each time
    madeFrom.put(route, from);
    return route;
  }

  private @Nullable Object last(String prefix) {
    return madeFrom.get(tables.get(tables.size() - 1).get(prefix));
  }

  /** Where the endpoint leads now. */
  private List<DeploymentId> sides() {
    return last("/all") instanceof TrafficPolicy policy ? policy.sides() : List.of();
  }

  @Test
  void anEndpointLeadsToThoseThatAreThereAndParksWhileNoneWeighs() {
    RouteRegistry routes = routes(Map.of("/gone", Map.of("a#old", 1.0)));
    assertThat(tables.get(0)).containsOnlyKeys("/all");
    assertThat(routes.prefixes()).containsExactly("/all");
    assertThat(tables.get(0).get("/all").parkNanos()).isEqualTo(7_000_000_000L);
    there.addAll(Set.of(NEW, COPY)); // a share of 0, and one that answers nobody
    routes.configured(NEW);
    routes.configured(COPY);
    assertThat(sides()).isEmpty();
    there.add(OLD);
    routes.configured(OLD);
    assertThat(sides()).containsExactly(OLD, NEW);
    there.remove(COPY);
    routes.updateEndpoints(COPY);
    assertThat(((TrafficPolicy) last("/all")).shadows()).isEmpty();
    there.remove(OLD);
    routes.updateEndpoints(OLD);
    assertThat(sides()).isEmpty();
    routes.split("/all", Map.of("b#new", 1.0));
    assertThat(sides()).containsExactly(NEW);
    int before = tables.size();
    routes.configured(STRANGER);
    routes.updateEndpoints(STRANGER);
    assertThat(tables).hasSize(before);
  }

  @Test
  void anApplicationsRouteIsMadeAnewWhenAnyOfItsSidesIsConfigured() {
    there.addAll(Set.of(OLD, NEW));
    RouteRegistry routes = routes(Map.of("/all", Map.of("b#new", 2.0, "a#old", 1.0)));
    assertThat(sides()).as("by their names").containsExactly(OLD, NEW);
    Settings traffic = ServeConfig.DEFAULTS.get(ServeConfig.BERTH); // any
    DeploymentId front = new DeploymentId("app", "front");
    routes.route(new RouteTo(new Epoch(0, 1, "n"), "app", "/app", front, traffic));
    assertThat(last("/app")).isSameAs(traffic);
    routes.configured(new DeploymentId("app", "side"));
    assertThat(tables).hasSize(3);
    routes.route(new RouteTo(new Epoch(0, 1, "n"), "app", "/app", front, null));
    assertThat(last("/app")).isEqualTo(front);
    routes.configured(new DeploymentId("app", "side"));
    assertThat(tables).as("others do not answer").hasSize(4);
    routes.unroute("app");
    assertThat(tables.get(4)).containsOnlyKeys("/all");
  }
}
