package dev.berth.ingress;

import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.traffic.TrafficPolicy;
import java.util.List;

/**
 * Split and shadows of one route.
 *
 * @param policy chooses among the deployments
 * @param sides targets of the split, in the order of the policy
 * @param shadows targets of copies, in the order of the policy
 */
public record RouteTraffic(
    TrafficPolicy policy, List<IngressRoute> sides, List<DeploymentRouter> shadows) {}
