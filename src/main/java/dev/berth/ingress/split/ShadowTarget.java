package dev.berth.ingress.split;

import dev.berth.metrics.ShadowMeters;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.traffic.Shadow;

/** Shadow deployment of a route, with its counters of one loop. */
public record ShadowTarget(Shadow shadow, DeploymentRouter to, ShadowMeters meters) {}
