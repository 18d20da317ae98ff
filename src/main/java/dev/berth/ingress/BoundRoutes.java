package dev.berth.ingress;

import static java.util.stream.Collectors.toSet;

import dev.berth.ingress.access.AccessLog;
import dev.berth.ingress.access.AccessRoute;
import dev.berth.ingress.split.ShadowTarget;
import dev.berth.metrics.HttpMeters;
import dev.berth.metrics.RouteMeters;
import dev.berth.metrics.RouteTemplates;
import dev.berth.metrics.ShadowMeters;
import dev.berth.routing.traffic.ShadowRule;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Routes as one loop serves them, with their resolved objects. When one of a thousand routes
 * changes, the others stay bound. Confined to the event loop.
 */
final class BoundRoutes {
  private final @Nullable AccessLog log;
  private final HttpMeters meters;
  private final int maxTemplates;
  private final Map<RouteMeters, RouteTemplates> templates = new HashMap<>(); // by route or side
  private RouteTable<IngressRoute> boundFrom = RouteTable.empty();
  private RouteTable<ResolvedRoute> bound = RouteTable.empty();

  /**
   * @param log access log; null if requests are not logged
   * @param meters of the loop; meters of removed routes are dropped there
   * @param maxTemplates maximum number of route templates of a route
   */
  BoundRoutes(@Nullable AccessLog log, HttpMeters meters, int maxTemplates) {
    this.maxTemplates = maxTemplates;
    this.log = log;
    this.meters = meters;
  }

  /** Returns the route of a path in the current table; null if no route matches. */
  @Nullable ResolvedRoute match(RouteTable<IngressRoute> current, String path) {
    if (current != boundFrom) {
      rebind(current);
    }
    return bound.match(path);
  }

  private void rebind(RouteTable<IngressRoute> current) {
    Set<Object> gone = counts();
    Map<String, ResolvedRoute> before = bound.routes();
    bound =
        current.map(
            (prefix, route) -> {
              ResolvedRoute known = before.get(prefix);
              return known != null && known.to() == route ? known : bind(prefix, route);
            });
    Set<Object> counts = counts();
    gone.removeAll(counts);
    meters.forget(gone);
    templates.keySet().retainAll(counts);
    meters.keepModels(
        current.routes().values().stream()
            .flatMap(route -> Stream.ofNullable(route.dialect()))
            .flatMap(dialect -> dialect.rules().catalog().names())
            .collect(toSet()));
    boundFrom = current;
  }

  private Set<Object> counts() {
    return bound.routes().values().stream().flatMap(ResolvedRoute::counts).collect(toSet());
  }

  private ResolvedRoute bind(String prefix, IngressRoute route) {
    return bind(prefix, route, meters.route(prefix, route.application(), route.deploymentName()));
  }

  private ResolvedRoute bind(String prefix, IngressRoute route, RouteMeters counts) {
    List<ResolvedRoute> sides = new ArrayList<>();
    List<ShadowTarget> shadows = new ArrayList<>();
    DialectRoute dialect = route.dialect();
    if (dialect != null) {
      dialect.sides().forEach(side -> sides.add(bind(prefix, side)));
    }
    RouteTraffic traffic = route.traffic();
    if (traffic != null) {
      for (int i = 0; i < traffic.sides().size(); i++) {
        RouteMeters side = meters.side(prefix, traffic.policy().sides().get(i));
        sides.add(bind(prefix, traffic.sides().get(i), side));
      }
      for (int i = 0; i < traffic.shadows().size(); i++) {
        ShadowRule shadow = traffic.policy().shadows().get(i);
        ShadowMeters copies = meters.shadow(prefix, shadow.to());
        shadows.add(new ShadowTarget(shadow, traffic.shadows().get(i), copies));
      }
    }
    AccessRoute access =
        AccessRoute.of(log, route.accessLog(), prefix, route.application(), route.deploymentName());
    return new ResolvedRoute(
        prefix,
        route,
        counts,
        templates.compute(
            counts,
            (same, known) ->
                known == null || known.isFull()
                    ? new RouteTemplates(meters, counts, maxTemplates)
                    : known),
        access,
        new ResponseSizeEstimator(),
        List.copyOf(sides),
        List.copyOf(shadows));
  }
}
