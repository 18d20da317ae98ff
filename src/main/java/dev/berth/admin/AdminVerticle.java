package dev.berth.admin;

import dev.berth.config.AdminOptions;
import dev.berth.config.BearerToken;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.Meters;
import dev.berth.net.http.RefusedRequest;
import dev.berth.net.http.StreamHeads;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A server of the admin API, be it for operators or for other nodes: its bounds, and what it says
 * where no area answers. Deploy it on the control event loop: its health then answers while ingress
 * and replicas are blocked. What it answers is given to it, one {@link AdminRoutes} for each area.
 */
public final class AdminVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(AdminVerticle.class);

  private final String key;
  private final String series;
  private final HttpServerOptions options;
  private final Meters meters;
  private final List<AdminRoutes> routes;
  private final Function<Vertx, Future<Handler<RoutingContext>>> gate;
  private final AdminConnections connections;
  private @Nullable HttpServer server;

  /**
   * @param key of the configuration that says where it listens, for failures
   * @param series what the names of its numbers begin with
   * @param gate makes what each request meets first
   * @param limits of its connections
   */
  private AdminVerticle(
      String key,
      String series,
      HttpServerOptions options,
      Meters meters,
      List<AdminRoutes> routes,
      Function<Vertx, Future<Handler<RoutingContext>>> gate,
      AdminConnections.Limits limits) {
    this.key = key;
    this.series = series;
    this.options =
        options.setIdleTimeout(limits.idleMs()).setIdleTimeoutUnit(TimeUnit.MILLISECONDS);
    this.connections = new AdminConnections(limits);
    this.meters = meters;
    this.routes = List.copyOf(routes);
    this.gate = gate;
  }

  /**
   * That of an instance.
   *
   * @param options also who may ask
   * @param routes what it answers, area by area
   */
  public AdminVerticle(Settings options, Meters meters, List<AdminRoutes> routes) {
    this(options, meters, routes, AdminConnections.Limits.DEFAULT);
  }

  /** The same with other limits of its connections. */
  AdminVerticle(
      Settings options, Meters meters, List<AdminRoutes> routes, AdminConnections.Limits limits) {
    this(
        "berth.admin",
        "berth_admin",
        new HttpServerOptions()
            .setHost(options.get(AdminOptions.HOST))
            .setPort(options.get(AdminOptions.PORT))
            .setHttp2ClearTextEnabled(options.get(AdminOptions.HTTP2)),
        meters,
        routes,
        vertx -> vertx.executeBlocking(() -> gate(options, meters)::check),
        limits);
  }

  /**
   * That of a node, as other nodes ask it on {@code berth.cluster.ports.https}. Who has a
   * certificate of the cluster's authority may ask everything.
   *
   * @param options host, port, and TLS that requires certificates of clients
   * @param routes what this node answers itself, area by area
   */
  public static AdminVerticle ofNode(
      HttpServerOptions options, Meters meters, List<AdminRoutes> routes) {
    return new AdminVerticle(
        "berth.cluster.ports.https",
        "berth_peer",
        options,
        meters,
        routes,
        vertx -> Future.succeededFuture(AdminGate::ofNode),
        AdminConnections.Limits.DEFAULT);
  }

  private static AdminGate gate(Settings options, Meters meters) throws UnknownHostException {
    String host = options.get(AdminOptions.HOST);
    boolean loopback = InetAddress.getByName(host).isLoopbackAddress();
    Map<String, String> secrets = BearerToken.secrets(options.get(AdminOptions.BEARER_TOKENS));
    return new AdminGate(new HostGuard(host, loopback), secrets, meters);
  }

  @Override
  public Future<?> start() {
    connections.start(vertx, meters, series);
    return gate.apply(vertx).compose(this::listen);
  }

  private Future<?> listen(Handler<RoutingContext> first) {
    int maxHeaderBytes = options.getMaxHeaderSize(); // HTTP/2 has the same
    options.getInitialSettings().setMaxHeaderListSize(StreamHeads.READ_LIMITS * maxHeaderBytes);
    HttpServer made =
        vertx
            .createHttpServer(options)
            .connectionHandler(http -> connections.opened(http, maxHeaderBytes))
            .invalidRequestHandler(AdminVerticle::refuseMalformed)
            .requestHandler(router(vertx, first, routes));
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

  /** Takes no more, and waits a second for what is under way. */
  @Override
  public Future<?> stop() {
    return server == null ? Future.succeededFuture() : server.shutdown(1, TimeUnit.SECONDS);
  }

  /** The port it listens on; the configured one unless that is 0. Valid once it is deployed. */
  public int port() {
    return server == null ? options.getPort() : server.actualPort();
  }

  /** New connections are made with these. */
  public Future<?> update(ServerSSLOptions tls) {
    return server == null ? Future.succeededFuture() : server.updateSSLOptions(tls);
  }

  private Router router(Vertx vertx, Handler<RoutingContext> gate, List<AdminRoutes> routes) {
    Router router = Router.router(vertx);
    router.route().handler(connections::began).handler(AdminVerticle::checkPath).handler(gate);
    routes.forEach(area -> area.mount(router));
    AdminIndex.mount(router);
    router.errorHandler(404, AdminVerticle::notFound);
    router.errorHandler(400, answered(new AdminRefusal(400, "bad_request", "Bad Request")));
    router.errorHandler(
        405, answered(new AdminRefusal(405, "method_not_allowed", "Method not allowed.")));
    router.errorHandler(500, AdminVerticle::failed);
    return router;
  }

  /** Refuses a path that a proxy in front may have taken for another one. */
  private static void checkPath(RoutingContext context) {
    if (!isNormal(context)) {
      String why =
          "path: dot segments, empty ones, needless or malformed escapes (expected: its normal form)";
      throw new AdminRefusal(400, "path_not_normal", why);
    }
    context.next();
  }

  private static boolean isNormal(RoutingContext context) {
    try {
      return String.valueOf(context.request().path()).equalsIgnoreCase(context.normalizedPath());
    } catch (IllegalArgumentException malformedEscape) {
      return false;
    }
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
    AdminRefusal.of(refused).send(request.response());
    request.connection().close();
  }
}
