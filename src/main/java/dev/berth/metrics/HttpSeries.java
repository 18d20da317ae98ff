package dev.berth.metrics;

import java.util.List;

/** What ingress shows: all of its loops add up to one series. */
final class HttpSeries {
  private HttpSeries() {}

  static void collect(List<HttpMeters> loops, Series into, Series ofNode) {
    long ongoing = 0;
    for (HttpMeters loop : loops) {
      ongoing += loop.ongoing();
      for (RouteMeters route : loop.routes()) {
        for (RouteMeters.Cell cell : route.cells()) {
          collect(route.leads(), cell, into);
        }
      }
    }
    ofNode.gauge("serve_num_ongoing_http_requests", ongoing);
  }

  private static void collect(RouteMeters.Route route, RouteMeters.Cell cell, Series into) {
    String status = Integer.toString(cell.status);
    double count = cell.latencies.count();
    Series requests =
        into.with(
            "route", route.prefix(), "method", cell.method, "application", route.application());
    Series answered = requests.with("status_code", status);
    answered.counter("serve_num_http_requests", count);
    answered.histogram("serve_http_request_latency_ms", List.of(cell.latencies));
    if (cell.status >= 400) {
      Series failed = requests.with("error_code", status);
      failed.counter("serve_num_http_error_requests", count);
      if (!route.deployment().isEmpty()) {
        failed
            .with("deployment", route.deployment())
            .counter("serve_num_deployment_http_error_requests", count);
      }
    }
  }
}
