package dev.berth.ingress;

import dev.berth.ingress.access.AccessLog;
import dev.berth.ingress.access.AccessRoute;
import dev.berth.ingress.split.ShadowTarget;
import dev.berth.metrics.HttpMeters;
import dev.berth.metrics.RouteMeters;
import dev.berth.routing.traffic.Shadow;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Makes of routes what one loop needs of them.
 *
 * @param log where requests are logged; null when none are
 */
record RouteBinder(@Nullable AccessLog log, HttpMeters meters) {

  BoundRoute bind(String prefix, IngressRoute route) {
    String deployment = route.router() == null ? "" : route.router().deployment().name();
    return bind(prefix, route, meters.route(prefix, route.application(), deployment));
  }

  private BoundRoute bind(String prefix, IngressRoute route, RouteMeters counts) {
    String deployment = route.router() == null ? "" : route.router().deployment().name();
    RouteTraffic traffic = route.traffic();
    return new BoundRoute(
        counts,
        route.router(),
        route.backpressure(),
        AccessRoute.of(log, route.accessLog(), prefix, route.application(), deployment),
        new AnswerSizes(),
        traffic == null ? null : bind(prefix, traffic),
        route.parkNanos());
  }

  private BoundTraffic bind(String prefix, RouteTraffic traffic) {
    List<ShadowTarget> shadows = new ArrayList<>();
    for (int i = 0; i < traffic.shadows().size(); i++) {
      Shadow shadow = traffic.policy().shadows().get(i);
      shadows.add(
          new ShadowTarget(shadow, traffic.shadows().get(i), meters.shadow(prefix, shadow.to())));
    }
    List<BoundRoute> sides = new ArrayList<>();
    for (int i = 0; i < traffic.sides().size(); i++) {
      RouteMeters counts = meters.side(prefix, traffic.policy().sides().get(i));
      sides.add(bind(prefix, traffic.sides().get(i), counts));
    }
    return new BoundTraffic(traffic.policy(), List.copyOf(sides), List.copyOf(shadows));
  }
}
