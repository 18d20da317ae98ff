package dev.berth.ingress;

import dev.berth.config.Backpressure;
import dev.berth.config.LogEncoding;
import dev.berth.config.keys.Settings;
import dev.berth.routing.DeploymentRouter;
import org.jspecify.annotations.Nullable;

/**
 * Where a route leads.
 *
 * @param application whose route it is
 * @param router of the deployment that answers it, or the first that does; null while the route
 *     leads nowhere, and its requests are parked
 * @param backpressure what a client refused by that deployment is told
 * @param accessLog how its requests are logged; null when they are not
 * @param traffic where several deployments answer, or get copies; null where that one does alone
 * @param parkNanos how long a request waits while it leads nowhere
 */
public record IngressRoute(
    String application,
    @Nullable DeploymentRouter router,
    Settings backpressure,
    @Nullable LogEncoding accessLog,
    @Nullable RouteTraffic traffic,
    long parkNanos) {

  /** One to that deployment alone. */
  public IngressRoute(
      String application,
      DeploymentRouter router,
      Settings backpressure,
      @Nullable LogEncoding accessLog) {
    this(application, router, backpressure, accessLog, null, 0);
  }

  /** Of an endpoint that leads nowhere yet. */
  public static IngressRoute nowhere(long parkNanos) {
    return new IngressRoute("", null, Backpressure.DEFAULTS, null, null, parkNanos);
  }

  /** Of the deployment that answers it; empty while none does. */
  String deploymentName() {
    return router == null ? "" : router.deployment().name();
  }

  /** One to several deployments. */
  public static IngressRoute to(String application, RouteTraffic traffic) {
    IngressRoute first = traffic.sides().get(0);
    return new IngressRoute(
        application, first.router, first.backpressure, first.accessLog, traffic, 0);
  }
}
