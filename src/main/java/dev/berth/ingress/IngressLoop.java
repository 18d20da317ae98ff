package dev.berth.ingress;

import dev.berth.config.Backpressure;
import dev.berth.metrics.HttpMeters;
import dev.berth.metrics.RouteMeters;
import dev.berth.protocol.WireCodec;
import dev.berth.routing.RouterLoop;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The ingress of one event loop: finds the route of a request and starts its {@link Exchange};
 * keeps the connections, and closes those that stand still. Confined to its loop.
 */
final class IngressLoop {
  private static final String BUILT_IN = "/-/";
  private static final String HEALTH = "/-/healthz";
  private static final String ROUTES = "/-/routes";
  private static final String NO_ROUTE = "";

  private final Ingress ingress;
  private final RouterLoop router;
  private final LongSupplier nanoClock;
  private final HttpMeters meters;
  private final RequestIds requestIds;
  private final Limits limits;
  private final BoundRoute unrouted;
  private final BoundRoute health;
  private final BoundRoute routeList;
  private final Map<HttpConnection, Connection> connections = new IdentityHashMap<>();
  private RouteTable<IngressRoute> boundFrom = RouteTable.empty();
  private RouteTable<BoundRoute> bound = RouteTable.empty();
  private long coarseNanos;

  /** What an exchange is held to, in the units it counts in. */
  record Limits(
      long requestTimeoutNanos,
      long maxBodyBytes,
      long bodyIdleNanos,
      long streamIdleNanos,
      long keepAliveNanos,
      long headerReadNanos) {}

  IngressLoop(Ingress ingress, RouterLoop router, int index) {
    this.ingress = ingress;
    this.router = router;
    this.nanoClock = ingress.nanoClock();
    this.meters = ingress.meters().addIngressLoop();
    this.requestIds = new RequestIds(ingress.incarnation() + index);
    this.limits =
        new Limits(
            ingress.requestTimeoutNanos(),
            // A body travels inside one message until it is streamed.
            Math.min(ingress.limits().maxBodyBytes(), WireCodec.MAX_BODY_BYTES),
            ingress.limits().idleTimeout().toNanos(),
            ingress.limits().streamIdleTimeout().toNanos(),
            ingress.http().keepAliveTimeout().toNanos(),
            ingress.limits().headerReadTimeout().toNanos());
    this.unrouted = builtIn(NO_ROUTE);
    this.health = builtIn(HEALTH);
    this.routeList = builtIn(ROUTES);
    this.coarseNanos = nanoClock.getAsLong();
  }

  private BoundRoute builtIn(String route) {
    return new BoundRoute(meters.route(route, "", ""), null, Backpressure.defaults());
  }

  // --- connections ---

  void opened(HttpConnection http) {
    if (!ingress.tryOpen()) {
      http.close();
      return;
    }
    Connection connection = new Connection(this, http, now());
    connections.put(http, connection);
    http.closeHandler(connection);
  }

  void closed(Connection connection) {
    if (connections.remove(connection.http()) != null) {
      ingress.closed();
    }
  }

  /** Ends what stands still: connections without a request, bodies, streams. */
  void sweep() {
    long now = now();
    coarseNanos = now;
    if (!connections.isEmpty()) {
      // A copy, since closing changes the map.
      new ArrayList<>(connections.values()).forEach(connection -> connection.sweep(now));
    }
  }

  /** A new connection's first request head is awaited for less long than the next ones. */
  long idleLimitNanos(boolean served) {
    return served
        ? limits.keepAliveNanos()
        : Math.min(limits.keepAliveNanos(), limits.headerReadNanos());
  }

  // --- requests ---

  void handle(HttpServerRequest request) {
    Connection connection = connections.get(request.connection());
    if (connection == null) {
      return; // refused: it is being closed
    }
    String path = request.path();
    if (path.startsWith(BUILT_IN)) {
      builtIn(request, connection, path);
      return;
    }
    BoundRoute route = routeOf(path);
    if (route == null) {
      begin(request, connection, unrouted).answer(ErrorResponses.notFound(path));
    } else {
      begin(request, connection, route).start();
    }
  }

  /** A request whose head could not be read: too long, or not HTTP. */
  void invalid(HttpServerRequest request) {
    Connection connection = connections.get(request.connection());
    if (connection == null) {
      return;
    }
    Throwable cause = request.decoderResult().cause();
    int status = 400;
    if (cause instanceof TooLongHttpLineException) {
      status = 414;
    } else if (cause instanceof TooLongHttpHeaderException) {
      status = 431;
    }
    begin(request, connection, unrouted).answerAndClose(ErrorResponses.badHead(status));
  }

  private void builtIn(HttpServerRequest request, Connection connection, String path) {
    if (path.equals(HEALTH)) {
      Exchange exchange = begin(request, connection, health);
      String reason = ingress.unhealthyReason();
      if (reason == null) {
        exchange.answer(200, ErrorAnswer.TEXT, Buffer.buffer("success"));
      } else {
        exchange.answer(ErrorResponses.unhealthy(reason));
      }
    } else if (path.equals(ROUTES)) {
      Exchange exchange = begin(request, connection, routeList);
      String reason = ingress.unhealthyReason();
      if (reason == null) {
        JsonObject routes = new JsonObject();
        ingress
            .routes()
            .routes()
            .forEach((prefix, route) -> routes.put(prefix, route.application()));
        exchange.answer(200, ErrorAnswer.JSON, routes.toBuffer());
      } else {
        exchange.answer(ErrorResponses.unhealthy(reason));
      }
    } else {
      begin(request, connection, unrouted).answer(ErrorResponses.notFound(path));
    }
  }

  private Exchange begin(HttpServerRequest request, Connection connection, BoundRoute route) {
    meters.started();
    Exchange exchange = new Exchange(this, connection, request, route, now());
    connection.began(exchange);
    return exchange;
  }

  private @Nullable BoundRoute routeOf(String path) {
    RouteTable<IngressRoute> current = ingress.routes();
    if (current != boundFrom) {
      bound = current.map(this::bind);
      boundFrom = current;
    }
    return bound.match(path);
  }

  private BoundRoute bind(String prefix, IngressRoute route) {
    RouteMeters routeMeters =
        meters.route(prefix, route.application(), route.router().deployment().name());
    return new BoundRoute(routeMeters, route.router(), route.backpressure());
  }

  // --- what an exchange needs ---

  long now() {
    return nanoClock.getAsLong();
  }

  /** The time of the last sweep: near enough for what is swept. */
  long coarseNow() {
    return coarseNanos;
  }

  RouterLoop router() {
    return router;
  }

  HttpMeters meters() {
    return meters;
  }

  RequestIds requestIds() {
    return requestIds;
  }

  Limits limits() {
    return limits;
  }

  boolean draining() {
    return ingress.draining();
  }
}
