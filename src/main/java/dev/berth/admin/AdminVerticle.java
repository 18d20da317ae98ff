package dev.berth.admin;

import dev.berth.config.AdminOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.tls.HttpServerTls;
import dev.berth.metrics.Meters;
import dev.berth.net.http.RefusedRequest;
import dev.berth.net.http.StreamHeads;
import dev.berth.net.tls.TlsFiles;
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
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A server of the admin API for operators or for other nodes: its limits, and its responses outside
 * of all areas. Deploy it on the control event loop, so that its health check responds while
 * ingress and replicas are blocked. Its content is passed in, as one {@link AdminRoutes} per area.
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
  private final @Nullable HttpServerTls tls; // null for clear text, or if the owner renews it
  private @Nullable HttpServer server;

  /**
   * @param key configuration key of the listening address, for error messages
   * @param series prefix of the metric names
   * @param gate creates the first handler of each request
   * @param limits limits of the connections
   */
  private AdminVerticle(
      String key,
      String series,
      HttpServerOptions options,
      Meters meters,
      List<AdminRoutes> routes,
      Function<Vertx, Future<Handler<RoutingContext>>> gate,
      AdminConnections.AdminConnectionLimits limits,
      @Nullable HttpServerTls tls) {
    this.key = key;
    this.series = series;
    this.options =
        options.setIdleTimeout(limits.idleMs()).setIdleTimeoutUnit(TimeUnit.MILLISECONDS);
    this.connections = new AdminConnections(limits);
    this.meters = meters;
    this.routes = List.copyOf(routes);
    this.gate = gate;
    this.tls = tls;
  }

  /**
   * Creates the server of an instance for operators.
   *
   * @param options settings, also of the access control
   * @param routes routes by area
   */
  public AdminVerticle(Settings options, Meters meters, List<AdminRoutes> routes) {
    this(options, meters, routes, AdminConnections.AdminConnectionLimits.DEFAULT);
  }

  /** Creates the same server with other connection limits. */
  AdminVerticle(
      Settings options,
      Meters meters,
      List<AdminRoutes> routes,
      AdminConnections.AdminConnectionLimits limits) {
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
        limits,
        tls(options));
  }

  /**
   * Creates the server of a node for other nodes, on {@code berth.cluster.ports.https}. A client
   * with a certificate of the cluster's authority may send any request.
   *
   * @param options host, port, and TLS that requires client certificates
   * @param routes routes of this node by area
   */
  public static AdminVerticle ofNode(
      HttpServerOptions options, Meters meters, List<AdminRoutes> routes) {
    return new AdminVerticle(
        "berth.cluster.ports.https",
        "berth_peer",
        options,
        meters,
        routes,
        vertx -> Future.succeededFuture(AdminAuthFilter::ofNode),
        AdminConnections.AdminConnectionLimits.DEFAULT,
        null);
  }

  private static @Nullable HttpServerTls tls(Settings options) {
    TlsFiles files = AdminOptions.tls(options);
    return files == null ? null : new HttpServerTls(options, files, "berth.admin.tls");
  }

  private static AdminAuthFilter gate(Settings options, Meters meters) throws UnknownHostException {
    String host = options.get(AdminOptions.HOST);
    boolean loopback = InetAddress.getByName(host).isLoopbackAddress();
    return new AdminAuthFilter(
        new HostHeaderFilter(host, loopback),
        options.get(AdminOptions.BEARER_TOKENS),
        options.get(AdminOptions.DASHBOARD),
        meters);
  }

  @Override
  public Future<?> start() {
    connections.start(meters, series);
    HttpServerTls secured = tls;
    return secured == null
        ? gate.apply(vertx).compose(this::listen)
        : secured
            .applyTo(options, vertx)
            .onSuccess(applied -> applied.setUseAlpn(applied.isHttp2ClearTextEnabled()))
            .compose(applied -> gate.apply(vertx))
            .compose(this::listen)
            .onSuccess(listening -> renew(secured, listening));
  }

  private void renew(HttpServerTls secured, HttpServer listening) {
    meters.add(
        into ->
            into.with("of", "admin")
                .gauge("berth_certificate_expiry_seconds", secured.expirySeconds()));
    vertx.setPeriodic(
        HttpServerTls.LOOK_INTERVAL.toMillis(), look -> secured.reload(vertx, listening));
  }

  private Future<HttpServer> listen(Handler<RoutingContext> first) {
    int maxHeaderBytes = options.getMaxHeaderSize(); // the same limit for HTTP/2
    options.getInitialSettings().setMaxHeaderListSize(StreamHeads.READ_LIMITS * maxHeaderBytes);
    HttpServer made =
        vertx
            .createHttpServer(options)
            .connectionHandler(http -> connections.onOpened(http, maxHeaderBytes))
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

  /** Stops accepting requests, and waits one second for those in flight. */
  @Override
  public Future<?> stop() {
    return server == null ? Future.succeededFuture() : server.shutdown(1, TimeUnit.SECONDS);
  }

  /**
   * Returns the listening port: the configured one unless that is 0. Valid after the deployment.
   */
  public int port() {
    return server == null ? options.getPort() : server.actualPort();
  }

  /** Sets the TLS options of new connections. */
  public Future<?> update(ServerSSLOptions tls) {
    return server == null ? Future.succeededFuture() : server.updateSSLOptions(tls);
  }

  private Router router(Vertx vertx, Handler<RoutingContext> gate, List<AdminRoutes> routes) {
    Router router = Router.router(vertx);
    router
        .route()
        .handler(connections::onRequestHead)
        .handler(AdminVerticle::checkPath)
        .handler(gate);
    routes.forEach(area -> area.mount(router));
    AdminIndex.mount(router);
    router.errorHandler(404, AdminVerticle::notFound);
    router.errorHandler(400, refusalHandler(new AdminRefusal(400, "bad_request", "Bad Request")));
    router.errorHandler(
        405, refusalHandler(new AdminRefusal(405, "method_not_allowed", "Method not allowed.")));
    router.errorHandler(500, AdminVerticle::onFailure);
    return router;
  }

  /** Refuses a path that a proxy in front may have interpreted as another path. */
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

  private static Handler<RoutingContext> refusalHandler(AdminRefusal refusal) {
    return context -> refusal.send(context.response());
  }

  /** Sends the refusal for an exception of a handler or a failed command. */
  private static void onFailure(RoutingContext context) {
    Throwable failure = context.failure();
    AdminRefusal refusal = AdminRefusal.of(failure);
    if (refusal == null) {
      LOG.warn("admin request failed", failure);
      refusal = new AdminRefusal(500, "internal_error", "Internal Server Error");
    }
    refusal.send(context.response());
  }

  /** Refuses a request whose head is malformed, and closes its connection. */
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
