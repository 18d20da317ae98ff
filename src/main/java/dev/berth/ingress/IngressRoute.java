package dev.berth.ingress;

import dev.berth.config.LogEncoding;
import dev.berth.config.keys.Settings;
import dev.berth.routing.DeploymentRouter;
import org.jspecify.annotations.Nullable;

/**
 * Where a route leads.
 *
 * @param application whose route it is
 * @param router of the deployment that answers it
 * @param backpressure what a client refused by that deployment is told
 * @param accessLog how its requests are logged; null when they are not
 */
public record IngressRoute(
    String application,
    DeploymentRouter router,
    Settings backpressure,
    @Nullable LogEncoding accessLog) {}
