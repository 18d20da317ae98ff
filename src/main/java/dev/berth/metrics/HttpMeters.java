package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.GenAiMeters.GenAiLabels;
import dev.berth.metrics.RouteMeters.RouteLabels;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counters of one ingress event loop. The loop writes them, and scrapes read them. The number of
 * in-flight requests is the difference of two counters, so it returns to zero exactly when all
 * started requests have ended.
 */
public final class HttpMeters {
  private final AtomicLong started = new AtomicLong();
  private final AtomicLong ended = new AtomicLong();
  private final AtomicLong templateOverflows = new AtomicLong();
  final Map<RouteLabels, RouteMeters> routes = new ConcurrentHashMap<>();
  final Map<RouteLabels, ShadowMeters> shadows = new ConcurrentHashMap<>();

  private final Map<GenAiLabels, GenAiMeters> models = new ConcurrentHashMap<>();

  HttpMeters() {}

  /**
   * Returns the meters of a route, created at the first call. Called when routes change, not per
   * request. Confined to the event loop.
   *
   * @param route prefix of the route, or "" for requests without a route
   */
  public RouteMeters route(String route, String application, String deployment) {
    return routes.computeIfAbsent(
        new RouteLabels(route, "", application, deployment, false), RouteMeters::new);
  }

  /**
   * Returns meters like {@link #route} for one of a route's deployments, which also has series of
   * its own.
   */
  public RouteMeters side(String route, DeploymentId side) {
    return routes.computeIfAbsent(RouteLabels.of(route, side), RouteMeters::new);
  }

  /** Returns the meters of a template of a route, created at the first call. */
  RouteMeters template(RouteMeters of, String template) {
    return routes.computeIfAbsent(of.leads.with(template), RouteMeters::new);
  }

  /** Records a response with a template beyond the maximum. Confined to the event loop. */
  void recordTemplateOverflow() {
    templateOverflows.setRelease(templateOverflows.getPlain() + 1);
  }

  /**
   * Returns the meters for copies of a route's requests to a deployment, created at the first call.
   */
  public ShadowMeters shadow(String route, DeploymentId to) {
    return shadows.computeIfAbsent(RouteLabels.of(route, to), made -> new ShadowMeters());
  }

  /**
   * Returns the meters of a model, created at the first call.
   *
   * @param operation such as {@code chat}
   * @param apiKey id of the client's key; empty without keys
   */
  public GenAiMeters model(String model, String operation, String apiKey) {
    return models.computeIfAbsent(
        new GenAiLabels(model, operation, apiKey), made -> new GenAiMeters());
  }

  /** Removes the meters of other models. */
  public void keepModels(Set<String> names) {
    models.keySet().removeIf(each -> !names.contains(each.model()));
  }

  /** Removes the meters of removed routes, sides and shadows. */
  public void forget(Set<?> gone) {
    routes.values().removeAll(gone);
    shadows.values().removeAll(gone);
  }

  /** Records a received request. Confined to the event loop. */
  public void recordStart() {
    started.setRelease(started.getPlain() + 1);
  }

  /** Records the end of a request, with or without a response. Confined to the event loop. */
  public void recordEnd() {
    ended.setRelease(ended.getPlain() + 1);
  }

  private long ongoing() {
    long endedNow = ended.getAcquire(); // first: the difference may be old, but not negative
    return Math.max(0, started.getAcquire() - endedNow);
  }

  /** Adds the counters to a scrape, which sums all loops of the instance. */
  void collect(MetricSeries into, MetricSeries ofNode) {
    routes.values().forEach(route -> route.collect(into));
    models.forEach((labels, meters) -> meters.collect(labels.in(into)));
    shadows.forEach((route, copies) -> copies.collect(route.in(into)));
    into.counter("berth_route_template_overflows", templateOverflows.getAcquire());
    ofNode.gauge("serve_num_ongoing_http_requests", ongoing());
  }
}
