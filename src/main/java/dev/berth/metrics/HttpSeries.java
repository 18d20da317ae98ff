package dev.berth.metrics;

import io.prometheus.metrics.model.snapshots.Labels;
import java.util.List;

/** What ingress shows: all of its loops add up to one series. */
final class HttpSeries {
  private HttpSeries() {}

  static void collect(List<HttpMeters> loops, Labels nodeLabels, Families into) {
    long ongoing = 0;
    for (HttpMeters loop : loops) {
      ongoing += loop.ongoing();
      for (RouteMeters route : loop.routes()) {
        for (RouteMeters.Cell cell : route.cells()) {
          collect(route, cell, into);
        }
      }
    }
    into.gauge("serve_num_ongoing_http_requests", "HTTP requests under way.", nodeLabels, ongoing);
  }

  private static void collect(RouteMeters route, RouteMeters.Cell cell, Families into) {
    String status = Integer.toString(cell.status);
    Labels labels =
        Labels.of(
            "route",
            route.route(),
            "method",
            cell.method,
            "application",
            route.application(),
            "status_code",
            status);
    double count = cell.latencies.count();
    into.counter("serve_num_http_requests", "HTTP requests answered.", labels, count);
    into.histogram(
        "serve_http_request_latency_ms",
        "Time from a request's arrival to the end of its answer.",
        labels,
        cell.latencies);
    if (cell.status < 400) {
      return;
    }
    into.counter(
        "serve_num_http_error_requests",
        "HTTP requests answered with 400 or above, or left by their client (499).",
        Labels.of(
            "route",
            route.route(),
            "method",
            cell.method,
            "application",
            route.application(),
            "error_code",
            status),
        count);
    if (!route.deployment().isEmpty()) {
      into.counter(
          "serve_num_deployment_http_error_requests",
          "The errors of serve_num_http_error_requests, by the deployment that answers the route.",
          Labels.of(
              "deployment", route.deployment(),
              "route", route.route(),
              "method", cell.method,
              "application", route.application(),
              "error_code", status),
          count);
    }
  }
}
