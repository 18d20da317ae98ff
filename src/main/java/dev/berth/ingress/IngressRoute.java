package dev.berth.ingress;

import dev.berth.config.Backpressure;
import dev.berth.routing.DeploymentRouter;

/**
 * Where a route leads.
 *
 * @param application whose route it is
 * @param router of the deployment that answers it
 * @param backpressure what a client refused by that deployment is told
 */
public record IngressRoute(
    String application, DeploymentRouter router, Backpressure backpressure) {}
