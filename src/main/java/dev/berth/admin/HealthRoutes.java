package dev.berth.admin;

import dev.berth.metrics.Meters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;

/** Routes for monitors: the liveness check and the metrics. */
public final class HealthRoutes implements AdminRoutes {
  private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";
  private static final String OPEN_METRICS =
      "application/openmetrics-text; version=1.0.0; charset=utf-8";

  private final Meters meters;
  private final SingleFlightReads<String> scrapes = new SingleFlightReads<>();

  public HealthRoutes(Meters meters) {
    this.meters = meters;
  }

  @Override
  public void mount(Router router) {
    router
        .get("/-/healthz")
        .handler(
            context ->
                AdminResponses.send(context.response(), 200, AdminResponses.TEXT, "success"));
    router.get("/metrics").handler(this::metrics);
  }

  private void metrics(RoutingContext context) {
    String accept = context.request().getHeader(HttpHeaders.ACCEPT);
    boolean open = accept != null && accept.contains("application/openmetrics-text");
    String type = open ? OPEN_METRICS : PROMETHEUS;
    AdminResponses.text(
        context, type, scrapes.read(context.vertx(), type, () -> meters.scrape(type)));
  }
}
