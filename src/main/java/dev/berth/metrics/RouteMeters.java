package dev.berth.metrics;

import static io.vertx.core.http.HttpMethod.DELETE;
import static io.vertx.core.http.HttpMethod.GET;
import static io.vertx.core.http.HttpMethod.HEAD;
import static io.vertx.core.http.HttpMethod.OPTIONS;
import static io.vertx.core.http.HttpMethod.PATCH;
import static io.vertx.core.http.HttpMethod.POST;
import static io.vertx.core.http.HttpMethod.PUT;

import dev.berth.api.DeploymentId;
import io.vertx.core.http.HttpMethod;
import java.util.Arrays;
import java.util.List;

/**
 * Counters of one route on one event loop: a latency histogram per method and status that occurred.
 * Resolved once per route, so that requests look up no tags. The loop writes, and any thread reads.
 */
public final class RouteMeters {
  private static final List<HttpMethod> METHODS =
      List.of(GET, POST, PUT, DELETE, HEAD, PATCH, OPTIONS);

  /**
   * Label of unknown methods. Clients may invent methods, and the number of series must stay
   * bounded.
   */
  private static final String OTHER_METHOD = "OTHER";

  private static final int MIN_STATUS = 100;
  private static final int MAX_STATUS = 599;

  /**
   * Labels of a route. The deployment is empty if unknown; {@code side} means that other
   * deployments serve the route too. The template is empty for the whole route.
   */
  record RouteLabels(
      String prefix, String template, String application, String deployment, boolean side) {
    /** Returns the labels of one of a route's several deployments, or of a shadow. */
    static RouteLabels of(String prefix, DeploymentId side) {
      return new RouteLabels(prefix, "", side.application(), side.name(), true);
    }

    RouteLabels with(String other) {
      return new RouteLabels(prefix, other, application, deployment, side);
    }

    /** Returns the label of the route: the prefix, followed by the template. */
    String route() {
      return template.isEmpty() ? prefix : prefix.equals("/") ? template : prefix + template;
    }

    MetricSeries in(MetricSeries all) {
      return all.with("route", prefix, "application", application, "deployment", deployment);
    }
  }

  final RouteLabels leads;
  // Confined to the event loop. By method, then status; rows and cells are created on demand.
  private final MethodStatusMeter[][] table = new MethodStatusMeter[METHODS.size() + 1][];
  // The same cells for readers.
  volatile MethodStatusMeter[] cells = {};

  RouteMeters(RouteLabels leads) {
    this.leads = leads;
  }

  /** Returns the label of the route. */
  public String route() {
    return leads.route();
  }

  /**
   * Records a response, or a request whose client left (status 499). Confined to the event loop.
   */
  public void recordResponse(HttpMethod method, int status, long latencyNanos) {
    int row = row(method);
    int column = Math.min(Math.max(status, MIN_STATUS), MAX_STATUS) - MIN_STATUS;
    MethodStatusMeter[] byStatus = table[row];
    MethodStatusMeter cell = byStatus == null ? null : byStatus[column];
    if (cell == null) {
      cell = newCell(row, column);
    }
    cell.latencies.add(latencyNanos);
  }

  void collect(MetricSeries into) {
    for (MethodStatusMeter cell : cells) {
      collect(cell, into);
      if (leads.side) {
        MetricSeries side = leads.in(into).with("status_code", Integer.toString(cell.status));
        side.counter("berth_traffic_requests", cell.latencies.count());
        side.histogram("berth_traffic_latency_ms", List.of(cell.latencies));
      }
    }
  }

  private void collect(MethodStatusMeter cell, MetricSeries into) {
    String status = Integer.toString(cell.status);
    double count = cell.latencies.count();
    MetricSeries requests =
        into.with("route", leads.route(), "method", cell.method, "application", leads.application);
    MetricSeries answered = requests.with("status_code", status);
    answered.counter("serve_num_http_requests", count);
    answered.histogram("serve_http_request_latency_ms", List.of(cell.latencies));
    if (cell.status >= 400) {
      MetricSeries failed = requests.with("error_code", status);
      failed.counter("serve_num_http_error_requests", count);
      if (!leads.deployment.isEmpty()) {
        failed
            .with("deployment", leads.deployment)
            .counter("serve_num_deployment_http_error_requests", count);
      }
    }
  }

  private MethodStatusMeter newCell(int row, int column) {
    if (table[row] == null) {
      table[row] = new MethodStatusMeter[MAX_STATUS - MIN_STATUS + 1];
    }
    String method = row < METHODS.size() ? METHODS.get(row).name() : OTHER_METHOD;
    MethodStatusMeter cell =
        new MethodStatusMeter(method, column + MIN_STATUS, new LatencyBuckets());
    table[row][column] = cell;
    MethodStatusMeter[] more = Arrays.copyOf(cells, cells.length + 1);
    more[cells.length] = cell;
    cells = more;
    return cell;
  }

  private static int row(HttpMethod method) {
    int row = method == GET ? 0 : METHODS.indexOf(method); // a search compares by equals
    return row < 0 ? METHODS.size() : row;
  }

  /** Histogram of one method and status. */
  record MethodStatusMeter(String method, int status, LatencyBuckets latencies) {}
}
