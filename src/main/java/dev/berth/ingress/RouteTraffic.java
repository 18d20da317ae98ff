package dev.berth.ingress;

import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.traffic.TrafficPolicy;
import java.util.List;

/**
 * Several deployments behind one route.
 *
 * @param policy chooses among them
 * @param sides in the order of the policy's
 * @param shadows in the order of the policy's
 */
public record RouteTraffic(
    TrafficPolicy policy, List<IngressRoute> sides, List<DeploymentRouter> shadows) {
  public RouteTraffic {
    sides = List.copyOf(sides);
    shadows = List.copyOf(shadows);
  }
}
