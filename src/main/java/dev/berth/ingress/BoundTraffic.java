package dev.berth.ingress;

import dev.berth.ingress.split.ShadowTarget;
import dev.berth.routing.traffic.TrafficPolicy;
import java.util.List;

/**
 * A route's {@link RouteTraffic} with everything an event loop needs of it, resolved once.
 *
 * @param sides in the order of the policy's
 */
record BoundTraffic(TrafficPolicy policy, List<BoundRoute> sides, List<ShadowTarget> shadows) {}
