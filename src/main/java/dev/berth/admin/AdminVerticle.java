package dev.berth.admin;

import dev.berth.config.AdminOptions;
import dev.berth.metrics.Meters;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The admin server of an instance. Deploy it on the control event loop: its health then answers
 * while ingress and replicas are blocked. Whatever takes long to read is read on a worker thread,
 * once for all who ask at the same time, so that asking often costs no more.
 */
public final class AdminVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(AdminVerticle.class);
  private static final String JSON = "application/json";
  private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";
  private static final String OPEN_METRICS =
      "application/openmetrics-text; version=1.0.0; charset=utf-8";

  /** Operators and one or two scrapers: more than this is a mistake, or an attack. */
  private static final int MAX_CONNECTIONS = 256;

  private static final int IDLE_TIMEOUT_S = 60;

  private final AdminOptions options;
  private final Meters meters;
  private final LedgerSource ledgers;
  private final Map<String, Future<String>> reading = new HashMap<>(); // by what is read
  private volatile int connections; // written by its event loop
  private @Nullable HttpServer server;

  public AdminVerticle(AdminOptions options, Meters meters, LedgerSource ledgers) {
    this.options = options;
    this.meters = meters;
    this.ledgers = ledgers;
  }

  @Override
  public Future<?> start() {
    meters.addGauge("berth_admin_connections", "Open admin connections.", () -> connections);
    meters.addGauge(
        "berth_admin_connections_limit", "Most open admin connections.", () -> MAX_CONNECTIONS);
    return vertx
        .executeBlocking(() -> InetAddress.getByName(options.host()).isLoopbackAddress())
        .compose(loopback -> listen(new HostGuard(options.host(), loopback)));
  }

  @Override
  public Future<?> stop() {
    return server == null ? Future.succeededFuture() : server.shutdown(1, TimeUnit.SECONDS);
  }

  /** The port it listens on; the configured one unless that is 0. Valid once it is deployed. */
  public int port() {
    return server == null ? options.port() : server.actualPort();
  }

  private Future<HttpServer> listen(HostGuard guard) {
    Router router = Router.router(vertx);
    router.route().handler(context -> guard(guard, context));
    router.get("/-/healthz").handler(context -> text(context, "success"));
    router.get("/metrics").handler(this::metrics);
    router.get("/api/v1/ledger").handler(this::ledger);
    router.errorHandler(
        404,
        context ->
            error(context, 404, "not_found", "Path '" + context.request().path() + "' not found."));
    router.errorHandler(
        405, context -> error(context, 405, "method_not_allowed", "Method not allowed."));
    router.errorHandler(
        500,
        context -> {
          LOG.warn("an admin request failed", context.failure());
          error(context, 500, "internal_error", "Internal Server Error");
        });
    HttpServer made =
        vertx
            .createHttpServer(
                new HttpServerOptions()
                    .setHost(options.host())
                    .setPort(options.port())
                    .setIdleTimeout(IDLE_TIMEOUT_S)
                    .setIdleTimeoutUnit(TimeUnit.SECONDS))
            .connectionHandler(
                connection -> {
                  connections++;
                  connection.closeHandler(closed -> connections--);
                  if (connections > MAX_CONNECTIONS) {
                    connection.close();
                  }
                })
            .requestHandler(router);
    server = made;
    return made.listen()
        .recover(
            failed ->
                Future.failedFuture(
                    new IOException(
                        "berth.admin: cannot listen on "
                            + options.host()
                            + ":"
                            + options.port()
                            + ": "
                            + failed.getMessage())))
        .onSuccess(
            listening -> LOG.info("admin listens on {}:{}", options.host(), made.actualPort()));
  }

  private static void guard(HostGuard guard, RoutingContext context) {
    String host = context.request().getHeader(HttpHeaders.HOST);
    if (guard.allows(host)) {
      context.next();
    } else {
      error(
          context,
          403,
          "host_not_allowed",
          "Host: not a name of this machine (expected: localhost or a loopback address)");
    }
  }

  private void metrics(RoutingContext context) {
    String accept = context.request().getHeader(HttpHeaders.ACCEPT);
    String type =
        accept != null && accept.contains("application/openmetrics-text")
            ? OPEN_METRICS
            : PROMETHEUS;
    answer(context, type, type, () -> meters.scrape(type));
  }

  private void ledger(RoutingContext context) {
    answer(context, JSON, "ledger", () -> LedgerJson.of(ledgers.ledgers()).encodePrettily() + "\n");
  }

  private void answer(
      RoutingContext context, String contentType, String what, Callable<String> reader) {
    Future<String> read = reading.get(what);
    if (read == null) {
      read = vertx.executeBlocking(reader, false);
      reading.put(what, read);
      read.onComplete(done -> reading.remove(what));
    }
    read.onComplete(
        text -> context.response().putHeader(HttpHeaders.CONTENT_TYPE, contentType).end(text),
        context::fail);
  }

  private static void text(RoutingContext context, String text) {
    context.response().putHeader(HttpHeaders.CONTENT_TYPE, "text/plain; charset=utf-8").end(text);
  }

  private static void error(RoutingContext context, int status, String code, String message) {
    context
        .response()
        .setStatusCode(status)
        .putHeader(HttpHeaders.CONTENT_TYPE, JSON)
        .end(new JsonObject().put("code", code).put("message", message).encode());
  }
}
