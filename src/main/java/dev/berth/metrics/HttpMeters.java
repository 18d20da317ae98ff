package dev.berth.metrics;

import java.util.List;
import java.util.Map;
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
  private final Map<RouteMeters.Route, RouteMeters> routes = new ConcurrentHashMap<>();

  HttpMeters() {}

  /**
   * The meters of a route, made at the first call; for when routes change, not for each request. By
   * the owning loop only.
   *
   * @param route the route's prefix, or "" for requests that no route takes
   */
  public RouteMeters route(String route, String application, String deployment) {
    return routes.computeIfAbsent(
        new RouteMeters.Route(route, application, deployment), RouteMeters::new);
  }

  /** A route is gone: it is shown no more. By the owning loop only. */
  public void forget(RouteMeters gone) {
    routes.values().remove(gone);
  }

  /** A request came in. By the owning loop only. */
  public void started() {
    started.setRelease(started.getPlain() + 1);
  }

  /** A request that came in has been answered or given up. By the owning loop only. */
  public void ended() {
    ended.setRelease(ended.getPlain() + 1);
  }

  long ongoing() {
    long endedNow = ended.getAcquire(); // first: the difference may be old, but not below zero
    return Math.max(0, started.getAcquire() - endedNow);
  }

  List<RouteMeters> routes() {
    return List.copyOf(routes.values());
  }
}
