package dev.berth.ingress.split;

import dev.berth.metrics.ShadowMeters;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.traffic.ShadowRule;

/** Shadow deployment of a route, with its counters of one loop. */
public record ShadowTarget(ShadowRule shadow, DeploymentRouter to, ShadowMeters meters) {}
