package dev.berth.admin;

import dev.berth.metrics.Meters;
import dev.berth.protocol.http.RefusedRequest;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A server of the admin API, be it for operators or for other nodes: its bounds, and what it says
 * where no area answers. Belongs to the event loop that starts it.
 */
public final class AdminListener {
  private static final Logger LOG = LoggerFactory.getLogger(AdminListener.class);

  /** Operators, scrapers, or other nodes: more than this is a mistake, or an attack. */
  private static final int MAX_CONNECTIONS = 256;

  private static final int IDLE_TIMEOUT_S = 60;

  private final String key;
  private final HttpServerOptions options;
  private volatile int connections; // written by its event loop
  private @Nullable HttpServer server;

  /**
   * @param key of the configuration that says where it listens, for failures
   * @param options host, port and TLS
   */
  public AdminListener(String key, HttpServerOptions options) {
    this.key = key;
    this.options = options;
  }

  /**
   * Shows its numbers.
   *
   * @param series what their names begin with
   */
  public void show(Meters meters, String series) {
    meters.addGauge(series + "_connections", () -> connections);
    meters.addGauge(series + "_connections_limit", () -> MAX_CONNECTIONS);
  }

  /** The port it listens on; the configured one unless that is 0. Valid once it listens. */
  public int port() {
    return server == null ? options.getPort() : server.actualPort();
  }

  /**
   * Listens.
   *
   * @param gate each request meets it first
   * @param routes what it answers, area by area
   */
  public Future<?> listen(Vertx vertx, Handler<RoutingContext> gate, List<AdminRoutes> routes) {
    HttpServer made =
        vertx
            .createHttpServer(
                options.setIdleTimeout(IDLE_TIMEOUT_S).setIdleTimeoutUnit(TimeUnit.SECONDS))
            .connectionHandler(
                connection -> {
                  connections++;
                  connection.closeHandler(closed -> connections--);
                  if (connections > MAX_CONNECTIONS) {
                    connection.close();
                  }
                })
            .invalidRequestHandler(AdminListener::refuseMalformed)
            .requestHandler(router(vertx, gate, routes));
    server = made;
    String host = options.getHost();
    return made.listen()
        .recover(
            failed ->
                Future.failedFuture(
                    new IOException(
                        "%s: cannot listen on %s:%s: %s"
                            .formatted(key, host, options.getPort(), failed.getMessage()))))
        .onSuccess(listening -> LOG.debug("{} listens on {}:{}", key, host, made.actualPort()));
  }

  /** New connections are made with these. */
  public Future<?> update(ServerSSLOptions tls) {
    return server == null ? Future.succeededFuture() : server.updateSSLOptions(tls);
  }

  /** Takes no more, and waits a second for what is under way. */
  public Future<?> stop() {
    return server == null ? Future.succeededFuture() : server.shutdown(1, TimeUnit.SECONDS);
  }

  private static Router router(
      Vertx vertx, Handler<RoutingContext> gate, List<AdminRoutes> routes) {
    Router router = Router.router(vertx);
    router.route().handler(gate);
    routes.forEach(area -> area.mount(router));
    AdminIndex.mount(router);
    router.errorHandler(404, AdminListener::notFound);
    router.errorHandler(400, answered(new AdminRefusal(400, "bad_request", "Bad Request")));
    router.errorHandler(
        405, answered(new AdminRefusal(405, "method_not_allowed", "Method not allowed.")));
    router.errorHandler(500, AdminListener::failed);
    return router;
  }

  private static void notFound(RoutingContext context) {
    String what = "Path '" + context.request().path() + "' not found.";
    String elsewhere =
        "GET / lists the paths of this port; applications answer on http_options.port.";
    new AdminRefusal(404, "not_found", what, elsewhere).send(context.response());
  }

  private static Handler<RoutingContext> answered(AdminRefusal refusal) {
    return context -> refusal.send(context.response());
  }

  /** What a handler threw, or a command failed with. */
  private static void failed(RoutingContext context) {
    Throwable failure = context.failure();
    AdminRefusal refusal = AdminRefusal.of(failure);
    if (refusal == null) {
      LOG.warn("an admin request failed", failure);
      refusal = new AdminRefusal(500, "internal_error", "Internal Server Error");
    }
    refusal.send(context.response());
  }

  /** Answers a request whose head could not be read; it is the last of its connection. */
  private static void refuseMalformed(HttpServerRequest request) {
    RefusedRequest refused = RefusedRequest.of(request);
    if (refused == null) {
      HttpServerRequest.DEFAULT_INVALID_REQUEST_HANDLER.handle(request);
      return;
    }
    refused.tell(request);
    request.response().putHeader(HttpHeaders.CONNECTION, HttpHeaders.CLOSE);
    new AdminRefusal(refused.status(), refused.code(), String.valueOf(refused.getMessage()))
        .send(request.response());
    request.connection().close();
  }
}
