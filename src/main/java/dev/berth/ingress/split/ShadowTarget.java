package dev.berth.ingress.split;

import dev.berth.metrics.ShadowMeters;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.traffic.Shadow;

/** Where copies of a route's requests go, and where one loop counts them. */
public record ShadowTarget(Shadow shadow, DeploymentRouter to, ShadowMeters meters) {}
