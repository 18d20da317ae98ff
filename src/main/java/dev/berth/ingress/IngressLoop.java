package dev.berth.ingress;

import static dev.berth.ingress.ErrorResponses.JSON;
import static dev.berth.ingress.ErrorResponses.TEXT;
import static java.util.stream.Collectors.toMap;

import dev.berth.api.DeploymentId;
import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import dev.berth.dialect.mcp.McpRouteRules;
import dev.berth.ingress.access.AccessRoute;
import dev.berth.ingress.edge.DecodedRequest;
import dev.berth.ingress.edge.EdgeRules;
import dev.berth.metrics.RouteMeters;
import dev.berth.metrics.RouteTemplates;
import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.TickTimer;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.traffic.ParkedRequests;
import dev.berth.stream.StreamMemoryBudget;
import io.netty.channel.ChannelPipeline;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.impl.HttpServerConnection;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The ingress of one event loop. Finds the route of each request and starts its {@link
 * HttpExchange}. Owns the connections, and closes stalled ones. Confined to the event loop.
 */
final class IngressLoop extends ServingLoop {
  private static final String BUILT_IN = "/-/";
  private static final String HEALTH = "/-/healthz";
  private static final String READY = "/-/readyz";
  private static final String ROUTES = "/-/routes";

  private final int index;
  private final String rootPath;
  private final ResolvedRoute unrouted;
  private final ResolvedRoute api;
  private final Map<String, ResolvedRoute> builtIns; // except the API, by path
  private final Map<HttpConnection, Connection> connections = new IdentityHashMap<>();
  private final BoundRoutes routes;
  private final ParkedRequests<HttpExchange> parked;
  private RouteTable<IngressRoute> routed = RouteTable.empty(); // table of the last request

  IngressLoop(Ingress ingress, RouterLoop router, int index, Context context) {
    super(ingress, router, index, context);
    this.index = index;
    this.parked = new ParkedRequests<>(router.bounds());
    this.rootPath = ingress.settings.get(HttpOptions.ROOT_PATH);
    this.unrouted = builtIn("", ingress.unroutedAccess);
    this.api = builtIn("/-/api/v1", null); // not logged: its paths contain tokens
    this.builtIns = // not logged: probes are frequent, and not clients
        Stream.of(HEALTH, READY, ROUTES).collect(toMap(path -> path, path -> builtIn(path, null)));
    this.routes =
        new BoundRoutes(
            ingress.accessLog, meters, ingress.settings.get(LimitOptions.MAX_ROUTE_TEMPLATES));
  }

  private ResolvedRoute builtIn(String route, @Nullable AccessRoute access) {
    RouteMeters counts = meters.route(route, "", "");
    return new ResolvedRoute(
        route, IngressRoute.nowhere(0), counts, new RouteTemplates(meters, counts, 0), access);
  }

  // --- connections ---

  void onConnectionOpened(HttpConnection http) {
    assert router.isHere();
    ChannelPipeline pipeline = ((HttpServerConnection) http).channelHandlerContext().pipeline();
    SlowHeaderGuard watch = pipeline.get(SlowHeaderGuard.class);
    Connection connection;
    if (http.getWindowSize() < 0) { // in Vert.x, the sign of HTTP/1
      Http1Connection http1 = new Http1Connection(this, http, watch);
      watch.onHttp1Detected(http1);
      ingress.readStrictly(pipeline); // needed with TLS; without, already installed
      connection = http1;
    } else {
      pipeline.remove(watch); // bytes do not distinguish heads from other frames
      connection = new Http2Connection(this, http);
    }
    sweeps.need();
    connections.put(http, connection);
    http.closeHandler(
        closed -> {
          connections.remove(http);
          connection.clientGone();
        });
  }

  @Override
  void drain() {
    parked.takeIf(all -> true).forEach(IngressLoop::leadNowhere);
    connections.values().forEach(Connection::drain);
  }

  /** Resets all connections, including those with unread responses. */
  void dropAll() {
    List.copyOf(connections.values()).forEach(Connection::drop);
  }

  /** Starts the sweeps, which sleep while no connection is open. */
  void start() {
    sweeps.start(this::sweep, this::sweepNow); // after a sleep, the time of the last sweep is old
  }

  /** Ends stalled connections, bodies and streams. Returns 0 if more may follow. */
  private long sweep() {
    assert router.isHere();
    long now = sweepNow();
    // Copies, since closing changes both.
    List.copyOf(connections.values()).forEach(connection -> connection.sweep(now));
    List.copyOf(unopened).forEach(watch -> watch.accept(now));
    parked.takeIf(HttpExchange::isOver);
    parked.overdue(now).forEach(IngressLoop::leadNowhere);
    makeRoom(now);
    answers.look(now, LongConsumer::accept);
    boolean empty = connections.isEmpty() && unopened.isEmpty();
    return empty && parked.size() == 0 && answers.isEmpty() ? TickTimer.NEVER : 0;
  }

  /** Evicts responses of stalled clients, when others wait for their memory. */
  private void makeRoom(long now) {
    StreamMemoryBudget streams = router.streams;
    long needed = Math.max(streams.needed(), ingress.answerRoom.needed());
    if (streams.isTight() || needed > 0) {
      List<EvictableResponse<ClientResponse>> table = new ArrayList<>();
      connections.values().forEach(connection -> connection.waiting(table));
      long elsewhere = ingress.mostStalledElsewhere(index, EvictableResponse.most(table, now), now);
      for (EvictableResponse<ClientResponse> victim :
          EvictableResponse.victims(table, now, needed, elsewhere)) {
        ingress.stoodStill.increment();
        victim.answer().cutStalled();
      }
    }
  }

  // --- requests ---

  @Override
  void handle(HttpServerRequest request) {
    assert router.isHere();
    Connection connection = connections.get(request.connection());
    if (connection == null || !connection.admits(request)) {
      return; // the connection closes, or has handled the request
    }
    if (connection.proxied != null) {
      connection.proxied.normalize(request);
    }
    String path = request.path();
    String builtIn = builtInOf(path);
    if (builtIn != null) {
      answerBuiltIn(request, connection, builtIn);
      return;
    }
    unpark(); // parked requests go first
    boolean begins = turns.beginTurn();
    try {
      lead(request, connection, routes.match(routed, path));
    } finally {
      if (begins) {
        turns.endTurn();
      }
    }
  }

  /** Returns a path below {@code /-} without the root path; null for other paths. */
  private @Nullable String builtInOf(String path) {
    if (path.startsWith(BUILT_IN)) {
      return path;
    }
    return path.startsWith(rootPath) && path.startsWith(BUILT_IN, rootPath.length())
        ? path.substring(rootPath.length())
        : null;
  }

  private void lead(
      HttpServerRequest request, Connection connection, @Nullable ResolvedRoute route) {
    if (route == null) {
      begin(request, connection, unrouted).answer.send(ErrorResponses.notFound(request.path()));
    } else if (leadsNowhere(route)) {
      park(request, connection, route);
    } else {
      start(begin(request, connection, route));
    }
  }

  /** Starts a request, unless the rules for browsers answer or refuse it. */
  private static void start(HttpExchange exchange) {
    EdgeRules edge = exchange.route.to().edge();
    if (edge == null) {
      exchange.startIfRoom();
      return;
    }
    // a dialect removes it from the request, so that upstreams do not compress
    exchange.answer.accepted = exchange.http.headers().getAll(HttpHeaders.ACCEPT_ENCODING);
    if (edge.answers(exchange.http)) {
      exchange.answer.sendPreflight();
    } else if (edge.decodes() && DecodedRequest.isUnknown(exchange.http)) {
      exchange.http.response().headers().set(HttpHeaders.ACCEPT_ENCODING, "gzip, deflate");
      exchange.answer.send(ErrorResponses.unknownCoding());
    } else {
      exchange.startIfRoom();
    }
  }

  private @Nullable SplitRequest split(ResolvedRoute route, HttpServerRequest request) {
    RouteTraffic traffic = route.to().traffic();
    if (traffic == null) {
      return null;
    }
    DeploymentId held = ingress.heldBy(ReservationHeader.of(request.headers()));
    return SplitRequest.of(route, traffic.policy(), request, held, traffics);
  }

  // --- parked requests ---

  private void park(HttpServerRequest request, Connection connection, ResolvedRoute route) {
    HttpExchange exchange = begin(request, connection, route);
    EdgeRules edge = route.to().edge();
    if (edge != null && edge.answers(request)) {
      exchange.answer.sendPreflight();
    } else if (ingress.draining()) {
      exchange.answer.send(ErrorResponses.LEADS_NOWHERE);
    } else if (parked.tryAdd(exchange, exchange.startedNanos + route.to().parkNanos())) {
      request.pause();
    } else {
      exchange.answer.send(ErrorResponses.TOO_MANY_PARKED);
    }
  }

  @Override
  void unpark() {
    assert router.isHere();
    RouteTable<IngressRoute> now = ingress.routes();
    if (routed != now) {
      routed = now;
      parked.takeIf(each -> !leadsNowhere(bound(each))).forEach(this::unparked);
    }
  }

  private @Nullable ResolvedRoute bound(HttpExchange exchange) {
    return routes.match(routed, exchange.http.path());
  }

  private static boolean leadsNowhere(@Nullable ResolvedRoute route) {
    return route != null && route.to().parkNanos() > 0;
  }

  private void unparked(HttpExchange exchange) {
    ResolvedRoute route = bound(exchange);
    if (exchange.isOver()) {
      return;
    } else if (route == null) {
      exchange.answer.send(ErrorResponses.notFound(exchange.http.path()));
    } else if (route.to().dialect() != null || route.to().mcp() != null) { // read from the head on
      exchange.answer.send(ErrorResponses.LEADS_NOWHERE);
    } else {
      exchange.lead(route, split(route, exchange.http));
      start(exchange);
    }
    exchange.http.resume();
  }

  /** Ends a parked request that waited too long, or is parked while the instance drains. */
  private static void leadNowhere(HttpExchange parked) {
    if (!parked.isOver()) {
      parked.answer.send(ErrorResponses.LEADS_NOWHERE);
      parked.http.resume();
    }
  }

  /** Refuses a request whose head is unreadable: too long, or not HTTP. */
  void invalid(HttpServerRequest request) {
    refuse(request, ErrorResponses.badHead(request));
  }

  @Override
  void refuse(HttpServerRequest request, HttpErrorResponse why) {
    Connection connection = connections.get(request.connection());
    if (connection != null) {
      begin(request, connection, unrouted).answer.sendAndClose(why);
    }
  }

  private void answerBuiltIn(HttpServerRequest request, Connection connection, String path) {
    ResolvedRoute route = builtIns.getOrDefault(path, unrouted);
    switch (path) {
      case HEALTH ->
          tell(begin(request, connection, route), ingress.unhealthyReason(), TEXT, "success");
      case READY ->
          tell(begin(request, connection, route), ingress.unreadyReason(), TEXT, "success");
      case ROUTES -> {
        JsonObject all = new JsonObject();
        ingress.routes().routes().forEach((prefix, to) -> all.put(prefix, to.application()));
        tell(begin(request, connection, route), ingress.unhealthyReason(), JSON, all.encode());
      }
      default -> {
        Endpoint endpoint = ingress.endpoint;
        String below = path.substring(BUILT_IN.length() - 1);
        if (endpoint != null && endpoint.answers(below)) {
          register(connection, new EndpointExchange(connection, request, api, endpoint, below))
              .startIfRoom();
        } else {
          begin(request, connection, unrouted).answer.send(ErrorResponses.notFound(path));
        }
      }
    }
  }

  private static void tell(HttpExchange asked, @Nullable String unless, String type, String body) {
    if (unless == null) {
      asked.answer.send(200, type, Buffer.buffer(body));
    } else {
      asked.answer.send(ErrorResponses.unhealthy(unless));
    }
  }

  private HttpExchange begin(
      HttpServerRequest received, Connection connection, ResolvedRoute route) {
    EdgeRules edge = route.to().edge();
    HttpServerRequest request =
        edge != null && edge.decodes() ? DecodedRequest.of(received) : received;
    HttpExchange exchange = exchange(request, connection, route);
    if (request instanceof DecodedRequest decoded) {
      decoded.onBadBody(large -> exchange.refuseBody(ErrorResponses.badCoding(large)));
    }
    return exchange;
  }

  private HttpExchange exchange(
      HttpServerRequest request, Connection connection, ResolvedRoute route) {
    DialectRoute dialect = route.to().dialect();
    if (dialect != null) {
      String path = routed.below(route.prefix(), request.path());
      return register(connection, new DialectExchange(connection, request, route, dialect, path));
    }
    McpRouteRules mcp = route.to().mcp();
    if (mcp != null) {
      String path = routed.below(route.prefix(), request.path());
      return register(connection, new McpExchange(connection, request, route, mcp, path));
    }
    SplitRequest split = split(route, request);
    return register(
        connection,
        new HttpExchange(connection, request, split == null ? route : split.side(), split));
  }

  private HttpExchange register(Connection connection, HttpExchange exchange) {
    meters.recordStart();
    if (connection.proxied != null && exchange.access != null) {
      exchange.access.origin(exchange.origin());
    }
    connection.began(exchange);
    return exchange;
  }

  @Override
  int parked() {
    return parked.size();
  }
}
