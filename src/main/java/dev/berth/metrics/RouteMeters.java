package dev.berth.metrics;

import io.vertx.core.http.HttpMethod;
import java.util.Arrays;

/**
 * What one event loop counts of one route: a histogram of latencies for each method and status that
 * occurred. Resolved once per route, so that a request looks nothing up by its tags. The owning
 * loop records, any thread reads.
 */
public final class RouteMeters {
  private static final HttpMethod[] METHODS = {
    HttpMethod.GET,
    HttpMethod.POST,
    HttpMethod.PUT,
    HttpMethod.DELETE,
    HttpMethod.HEAD,
    HttpMethod.PATCH,
    HttpMethod.OPTIONS
  };

  /** Clients may invent methods; their number of series must stay bounded. */
  private static final String OTHER_METHOD = "OTHER";

  private static final int MIN_STATUS = 100;
  private static final int MAX_STATUS = 599;

  /** Whose requests are counted; the deployment is empty when none is known to answer. */
  record Route(String prefix, String application, String deployment) {}

  private final Route leads;
  // Owning loop only: by method, then by status; rows and cells are made when first needed.
  private final Cell[][] table = new Cell[METHODS.length + 1][];
  // For readers: the same cells.
  private volatile Cell[] cells = {};

  RouteMeters(Route leads) {
    this.leads = leads;
  }

  /** One request answered, or given up by its client (status 499). By the owning loop only. */
  public void answered(HttpMethod method, int status, long latencyNanos) {
    int row = row(method);
    int column = Math.min(Math.max(status, MIN_STATUS), MAX_STATUS) - MIN_STATUS;
    Cell[] byStatus = table[row];
    Cell cell = byStatus == null ? null : byStatus[column];
    if (cell == null) {
      cell = newCell(row, column);
    }
    cell.latencies.add(latencyNanos);
  }

  Route leads() {
    return leads;
  }

  Cell[] cells() {
    return cells;
  }

  private Cell newCell(int row, int column) {
    if (table[row] == null) {
      table[row] = new Cell[MAX_STATUS - MIN_STATUS + 1];
    }
    String method = row < METHODS.length ? METHODS[row].name() : OTHER_METHOD;
    Cell cell = new Cell(method, column + MIN_STATUS);
    table[row][column] = cell;
    Cell[] more = Arrays.copyOf(cells, cells.length + 1);
    more[cells.length] = cell;
    cells = more;
    return cell;
  }

  private static int row(HttpMethod method) {
    for (int i = 0; i < METHODS.length; i++) {
      if (METHODS[i] == method) {
        return i;
      }
    }
    return METHODS.length;
  }

  /** One method and status of the route. */
  static final class Cell {
    final String method;
    final int status;
    final LatencyBuckets latencies = new LatencyBuckets();

    Cell(String method, int status) {
      this.method = method;
      this.status = status;
    }
  }
}
