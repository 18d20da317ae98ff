package dev.berth.admin;

import dev.berth.config.AdminOptions;
import dev.berth.config.BearerToken;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.Meters;
import dev.berth.protocol.http.RefusedRequest;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The admin server of an instance. Deploy it on the control event loop: its health then answers
 * while ingress and replicas are blocked. What it answers is given to it, one {@link AdminRoutes}
 * for each area.
 */
public final class AdminVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(AdminVerticle.class);

  /** Operators and one or two scrapers: more than this is a mistake, or an attack. */
  private static final int MAX_CONNECTIONS = 256;

  private static final int IDLE_TIMEOUT_S = 60;

  private final Settings options;
  private final Meters meters;
  private final List<AdminRoutes> routes;
  private volatile int connections; // written by its event loop
  private @Nullable HttpServer server;

  /**
   * @param options also who may ask
   * @param routes what it answers, area by area
   */
  public AdminVerticle(Settings options, Meters meters, List<AdminRoutes> routes) {
    this.options = options;
    this.meters = meters;
    this.routes = List.copyOf(routes);
  }

  @Override
  public Future<?> start() {
    meters.addGauge("berth_admin_connections", () -> connections);
    meters.addGauge("berth_admin_connections_limit", () -> MAX_CONNECTIONS);
    return vertx
        .executeBlocking(
            () -> InetAddress.getByName(options.get(AdminOptions.HOST)).isLoopbackAddress())
        .compose(loopback -> listen(gate(loopback)));
  }

  @Override
  public Future<?> stop() {
    return server == null ? Future.succeededFuture() : server.shutdown(1, TimeUnit.SECONDS);
  }

  /** The port it listens on; the configured one unless that is 0. Valid once it is deployed. */
  public int port() {
    return server == null ? options.get(AdminOptions.PORT) : server.actualPort();
  }

  private AdminGate gate(boolean loopback) {
    Map<String, String> secrets = BearerToken.secrets(options.get(AdminOptions.BEARER_TOKENS));
    return new AdminGate(new HostGuard(options.get(AdminOptions.HOST), loopback), secrets, meters);
  }

  private Future<HttpServer> listen(AdminGate gate) {
    String host = options.get(AdminOptions.HOST);
    int port = options.get(AdminOptions.PORT);
    Router router = Router.router(vertx);
    router.route().handler(gate::check);
    routes.forEach(area -> area.mount(router));
    AdminIndex.mount(router);
    router.errorHandler(404, AdminVerticle::notFound);
    router.errorHandler(400, answered(new AdminRefusal(400, "bad_request", "Bad Request")));
    router.errorHandler(
        405, answered(new AdminRefusal(405, "method_not_allowed", "Method not allowed.")));
    router.errorHandler(500, AdminVerticle::failed);
    HttpServer made =
        vertx
            .createHttpServer(
                new HttpServerOptions()
                    .setHost(host)
                    .setPort(port)
                    .setHttp2ClearTextEnabled(options.get(AdminOptions.HTTP2))
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
            .invalidRequestHandler(AdminVerticle::refuseMalformed)
            .requestHandler(router);
    server = made;
    return made.listen()
        .recover(
            failed ->
                Future.failedFuture(
                    new IOException(
                        "berth.admin: cannot listen on %s:%s: %s"
                            .formatted(host, port, failed.getMessage()))))
        .onSuccess(listening -> LOG.debug("admin listens on {}:{}", host, made.actualPort()));
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
