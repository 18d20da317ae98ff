package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.RouteMeters.Route;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What one ingress event loop counts. The loop alone writes; scrapes read. Requests under way are
 * the difference of two counters, so the gauge returns to zero exactly when every request that
 * started has ended.
 */
public final class HttpMeters {
  private final AtomicLong started = new AtomicLong();
  private final AtomicLong ended = new AtomicLong();
  final Map<Route, RouteMeters> routes = new ConcurrentHashMap<>();
  final Map<Route, ShadowMeters> shadows = new ConcurrentHashMap<>();

  HttpMeters() {}

  /**
   * The meters of a route, made at the first call; for when routes change, not for each request. By
   * the owning loop only.
   *
   * @param route the route's prefix, or "" for requests that no route takes
   */
  public RouteMeters route(String route, String application, String deployment) {
    return routes.computeIfAbsent(
        new Route(route, application, deployment, false), RouteMeters::new);
  }

  /** As {@link #route}, of one of a route's deployments, which is shown for itself too. */
  public RouteMeters side(String route, DeploymentId side) {
    return routes.computeIfAbsent(Route.of(route, side), RouteMeters::new);
  }

  /** Of the copies of a route's requests to a deployment; made at the first call. */
  public ShadowMeters shadow(String route, DeploymentId to) {
    return shadows.computeIfAbsent(Route.of(route, to), made -> new ShadowMeters());
  }

  /** Routes are gone, or sides or shadows of them: they are shown no more. */
  public void forget(Set<?> gone) {
    routes.values().removeAll(gone);
    shadows.values().removeAll(gone);
  }

  /** A request came in. By the owning loop only. */
  public void started() {
    started.setRelease(started.getPlain() + 1);
  }

  /** A request that came in has been answered or given up. By the owning loop only. */
  public void ended() {
    ended.setRelease(ended.getPlain() + 1);
  }

  private long ongoing() {
    long endedNow = ended.getAcquire(); // first: the difference may be old, but not below zero
    return Math.max(0, started.getAcquire() - endedNow);
  }

  /** All loops of the instance add up to one series. */
  void collect(Series into, Series ofNode) {
    routes.values().forEach(route -> route.collect(into));
    shadows.forEach((route, copies) -> copies.collect(route.in(into)));
    ofNode.gauge("serve_num_ongoing_http_requests", ongoing());
  }
}
