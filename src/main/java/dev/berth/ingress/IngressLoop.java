package dev.berth.ingress;

import dev.berth.api.DeploymentId;
import dev.berth.config.ExplainOptions;
import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.access.AccessRoute;
import dev.berth.metrics.HttpMeters;
import dev.berth.protocol.StreamLedger;
import dev.berth.protocol.http.RefusedRequest;
import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.HttpFailure;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.traffic.ParkedRequests;
import io.netty.channel.ChannelPipeline;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.impl.HttpServerConnection;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.HostAndPort;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The ingress of one event loop: finds the route of a request and starts its {@link Exchange};
 * keeps the connections, and closes those that stand still. Confined to its loop.
 */
final class IngressLoop {
  /** Timeouts of connections, bodies and streams are late by at most this. */
  static final long SWEEP_MILLIS = 100;

  private static final String BUILT_IN = "/-/";
  private static final String HEALTH = "/-/healthz";
  private static final String READY = "/-/readyz";
  private static final String ROUTES = "/-/routes";
  private static final String API = "/-/api/v1";
  private static final String NO_ROUTE = "";

  private final Context context;
  final int index;
  final Ingress ingress;
  final RouterLoop router;
  private final LongSupplier nanoClock;
  final HttpMeters meters;
  final RequestIds requestIds;
  private final RequestRoom.Share room;
  private final AnswerRoom.Queue<Exchange> answers; // that wait for room
  final ReceivedHeaders.Count headers = new ReceivedHeaders.Count();
  final ExplainRule explains;
  final RandomGenerator traffics; // draws of splits and shadows
  final Limits limits;
  private final int maxUriBytes;
  private final String rootPath;
  private final BoundRoute unrouted;
  private final BoundRoute health;
  private final BoundRoute ready;
  private final BoundRoute routeList;
  private final BoundRoute api;
  private final Map<HttpConnection, Connection> connections = new IdentityHashMap<>();
  private final Set<HeadWatch> unopened = new HashSet<>();
  private final BoundRoutes routes;
  final ParkedRequests<Exchange> parked;
  private RouteTable<IngressRoute> routed = RouteTable.empty(); // what requests went by last
  private long coarseNanos;

  /** What an exchange is held to, in the units it counts in. */
  record Limits(
      long requestTimeoutNanos,
      long maxBodyBytes,
      long bodyIdleNanos,
      int minBodyBytesPerSecond,
      long bodyRateGraceNanos,
      long streamIdleNanos,
      long keepAliveNanos,
      long headerReadNanos) {}

  IngressLoop(Ingress ingress, RouterLoop router, int index, Context context) {
    this.context = context;
    this.index = index;
    this.ingress = ingress;
    this.router = router;
    this.nanoClock = ingress.nanoClock;
    this.meters = ingress.meters.addIngressLoop();
    this.requestIds = new RequestIds(ingress.incarnation + index);
    this.room = ingress.requestRoom.newShare();
    this.answers = ingress.answerRoom.new Queue<>();
    this.parked = new ParkedRequests<>(router.bounds());
    this.traffics = new SplittableRandom(ingress.incarnation * 31 + index);
    Settings settings = ingress.settings;
    this.explains =
        new ExplainRule(
            settings.get(ExplainOptions.HEADER),
            settings.get(ExplainOptions.SAMPLE_RATE),
            new SplittableRandom(~ingress.incarnation + index));
    Duration timeout = settings.find(HttpOptions.REQUEST_TIMEOUT_S);
    this.limits =
        new Limits(
            timeout == null ? RequestTimeout.NONE : timeout.toNanos(),
            // A body travels inside one message until it is streamed.
            settings.get(LimitOptions.MAX_BODY_BYTES),
            settings.get(LimitOptions.IDLE_TIMEOUT_S).toNanos(),
            settings.get(LimitOptions.MIN_BODY_BYTES_PER_S),
            settings.get(LimitOptions.BODY_RATE_GRACE_S).toNanos(),
            settings.get(LimitOptions.STREAM_IDLE_TIMEOUT_S).toNanos(),
            settings.get(HttpOptions.KEEP_ALIVE_TIMEOUT_S).toNanos(),
            settings.get(LimitOptions.HEADER_READ_TIMEOUT_S).toNanos());
    this.unrouted = builtIn(NO_ROUTE, ingress.unroutedAccess);
    this.health = builtIn(HEALTH, null); // who asks for health asks often, and is no client
    this.ready = builtIn(READY, null);
    this.maxUriBytes = settings.get(LimitOptions.MAX_URI_BYTES);
    this.rootPath = settings.get(HttpOptions.ROOT_PATH);
    this.routeList = builtIn(ROUTES, null);
    this.api = builtIn(API, null); // its paths hold tokens
    this.routes = new BoundRoutes(ingress.accessLog, meters);
    this.coarseNanos = nanoClock.getAsLong();
  }

  private BoundRoute builtIn(String route, @Nullable AccessRoute access) {
    return new BoundRoute(IngressRoute.nowhere(0), meters.route(route, "", ""), access);
  }

  // --- connections ---

  /** A connection is there; what it speaks is not known yet. */
  void accepted(HeadWatch watch) {
    assert router.isHere();
    unopened.add(watch);
  }

  /** It is no longer unknown what the connection speaks, or it is closed. */
  void opened(HeadWatch watch) {
    unopened.remove(watch);
  }

  void opened(HttpConnection http) {
    assert router.isHere();
    ChannelPipeline pipeline = ((HttpServerConnection) http).channelHandlerContext().pipeline();
    HeadWatch watch = pipeline.get(HeadWatch.class);
    Connection connection;
    if (http.getWindowSize() < 0) { // as Vert.x tells that this is HTTP/1
      Http1Connection http1 = new Http1Connection(this, http, watch, now());
      watch.opened(http1);
      ingress.readStrictly(pipeline); // by TLS: else it does already
      connection = http1;
    } else {
      watch.openedAsHttp2();
      connection = new Http2Connection(this, http, now());
    }
    connections.put(http, connection);
    http.closeHandler(connection);
  }

  void closed(Connection connection) {
    assert router.isHere();
    connections.remove(connection.http);
  }

  /** Tells the clients that no request may follow, where that needs no answer. */
  void drain() {
    parked.takeIf(all -> true).forEach(IngressLoop::leadNowhere);
    connections.values().forEach(Connection::drain);
  }

  /** Ends every connection, whatever its client has yet to read. */
  void dropAll() {
    List.copyOf(connections.values()).forEach(Connection::drop);
  }

  /** Ends what stands still: connections without a request, bodies, streams. */
  void sweep() {
    assert router.isHere();
    long now = now();
    coarseNanos = now;
    // Copies, since closing changes both.
    List.copyOf(connections.values()).forEach(connection -> connection.sweep(now));
    List.copyOf(unopened).forEach(watch -> watch.sweep(now));
    parked.takeIf(Exchange::isOver);
    parked.overdue(now).forEach(IngressLoop::leadNowhere);
    makeRoom(now);
    answers.look(now, Exchange::roomFound);
  }

  /** Cuts answers whose clients stand still, when those of others wait for what they hold. */
  private void makeRoom(long now) {
    StreamLedger streams = router.streams();
    long needed = Math.max(streams.needed(), ingress.answerRoom.needed());
    if (streams.isTight() || needed > 0) {
      List<Stalled<ClientAnswer>> table = new ArrayList<>();
      connections.values().forEach(connection -> connection.waiting(table));
      long elsewhere = ingress.mostStalledElsewhere(index, Stalled.most(table, now), now);
      for (Stalled<ClientAnswer> victim : Stalled.victims(table, now, needed, elsewhere)) {
        ingress.stoodStill.increment();
        victim.answer().cutStalled();
      }
    }
  }

  // --- requests ---

  void handle(HttpServerRequest request) {
    assert router.isHere();
    Connection connection = connections.get(request.connection());
    if (connection == null) {
      return; // it is being closed
    }
    if (connection instanceof Http2Connection streams) {
      if (!streams.admits(request)) {
        return;
      }
      RefusedRequest refused = streams.refusal();
      if (refused != null) {
        refuse(request, connection, refused);
        return;
      }
      if (request.uri().length() > maxUriBytes) {
        begin(request, connection, unrouted).answer(ErrorResponses.uriTooLong());
        return;
      }
      nameHost(request);
    } else if (connection instanceof Http1Connection one && !one.isWritable()) {
      if (BodyReader.isAnnounced(request.headers())) { // it would be lost by then
        begin(request, connection, unrouted).answerAndClose(ErrorResponses.TOO_MANY_REQUESTS);
      } else {
        one.holdBack(request);
      }
      return;
    }
    String path = request.path();
    if (path.startsWith(BUILT_IN)) {
      builtIn(request, connection, path);
      return;
    }
    if (!rootPath.isEmpty()
        && path.startsWith(rootPath)
        && path.startsWith(BUILT_IN, rootPath.length())) {
      builtIn(request, connection, path.substring(rootPath.length()));
      return;
    }
    unpark(); // who came before goes before
    BoundRoute route = routes.match(routed, path);
    if (route == null) {
      begin(request, connection, unrouted).answer(ErrorResponses.notFound(path));
    } else if (leadsNowhere(route)) {
      park(request, connection, route);
    } else {
      begin(request, connection, route).startIfRoom();
    }
  }

  private @Nullable SplitRequest split(BoundRoute route, HttpServerRequest request) {
    RouteTraffic traffic = route.to().traffic();
    if (traffic == null) {
      return null;
    }
    DeploymentId held = ingress.heldBy(ReservationHeader.of(request.headers()));
    return new SplitRequest(route, traffic.policy(), request, held, traffics);
  }

  // --- requests of a route that leads nowhere yet ---

  private void park(HttpServerRequest request, Connection connection, BoundRoute route) {
    Exchange exchange = begin(request, connection, route);
    if (ingress.draining()) {
      exchange.answer(ErrorResponses.LEADS_NOWHERE);
    } else if (parked.tryAdd(exchange, exchange.startedNanos + route.to().parkNanos())) {
      request.pause();
    } else {
      exchange.answer(ErrorResponses.TOO_MANY_PARKED);
    }
  }

  /** If the routes are others: who waits for one of them goes on, in the order in which it came. */
  void unpark() {
    assert router.isHere();
    RouteTable<IngressRoute> now = ingress.routes();
    if (routed != now) {
      routed = now;
      parked.takeIf(each -> !leadsNowhere(bound(each))).forEach(this::unparked);
    }
  }

  private @Nullable BoundRoute bound(Exchange exchange) {
    return routes.match(routed, exchange.http.path());
  }

  private static boolean leadsNowhere(@Nullable BoundRoute route) {
    return route != null && route.to().parkNanos() > 0;
  }

  private void unparked(Exchange exchange) {
    BoundRoute route = bound(exchange);
    if (exchange.isOver()) {
      return;
    } else if (route == null) {
      exchange.answer(ErrorResponses.notFound(exchange.http.path()));
    } else {
      exchange.lead(route, split(route, exchange.http));
      exchange.startIfRoom();
    }
    exchange.http.resume();
  }

  /** Nobody waits any longer for what it waits for. */
  private static void leadNowhere(Exchange parked) {
    if (!parked.isOver()) {
      parked.answer(ErrorResponses.LEADS_NOWHERE);
      parked.http.resume();
    }
  }

  /** HTTP/2 names the host in a field of its own; a handler finds it where HTTP/1 has it. */
  private static void nameHost(HttpServerRequest request) {
    HostAndPort authority = request.authority();
    if (authority != null) {
      request.headers().set(HttpHeaders.HOST, authority.toString());
    }
  }

  /** A request whose head could not be read: too long, or not HTTP. */
  void invalid(HttpServerRequest request) {
    Connection connection = connections.get(request.connection());
    if (connection == null) {
      return;
    }
    RefusedRequest refused = RefusedRequest.of(request);
    if (refused != null) {
      refuse(request, connection, refused);
    } else {
      HttpFailure why = ErrorResponses.badHead(request.decoderResult().cause());
      begin(request, connection, unrouted).answerAndClose(why);
    }
  }

  private void refuse(HttpServerRequest request, Connection connection, RefusedRequest refused) {
    Exchange exchange = begin(request, connection, unrouted);
    refused.tell(request);
    exchange.answerAndClose(ErrorResponses.refused(refused));
  }

  private void builtIn(HttpServerRequest request, Connection connection, String path) {
    if (path.equals(HEALTH)) {
      tell(
          begin(request, connection, health),
          ingress.unhealthyReason(),
          ErrorResponses.TEXT,
          "success");
    } else if (path.equals(READY)) {
      tell(
          begin(request, connection, ready),
          ingress.unreadyReason(),
          ErrorResponses.TEXT,
          "success");
    } else if (path.equals(ROUTES)) {
      JsonObject all = new JsonObject();
      ingress.routes().routes().forEach((prefix, to) -> all.put(prefix, to.application()));
      Exchange exchange = begin(request, connection, routeList);
      tell(exchange, ingress.unhealthyReason(), ErrorResponses.JSON, all.encode());
    } else {
      Endpoint endpoint = ingress.endpoint;
      String below = path.substring(BUILT_IN.length() - 1);
      if (endpoint != null && endpoint.answers(below)) {
        begun(new ApiExchange(connection, request, api, endpoint, below)).startIfRoom();
      } else {
        begin(request, connection, unrouted).answer(ErrorResponses.notFound(path));
      }
    }
  }

  private static void tell(Exchange asked, @Nullable String unless, String type, String body) {
    if (unless == null) {
      asked.answer(200, type, Buffer.buffer(body));
    } else {
      asked.answer(ErrorResponses.unhealthy(unless));
    }
  }

  private Exchange begin(HttpServerRequest request, Connection connection, BoundRoute route) {
    SplitRequest split = split(route, request);
    return begun(new Exchange(connection, request, split == null ? route : split.side(), split));
  }

  private Exchange begun(Exchange exchange) {
    meters.started();
    exchange.connection.began(exchange);
    return exchange;
  }

  // --- what an exchange and a connection need ---

  /** What requests may take. */
  RequestRoom.Share room() {
    assert router.isHere();
    return room;
  }

  /** Room for a large answer, taken or waited for. */
  AnswerRoom.Queue<Exchange> answers() {
    assert router.isHere();
    return answers;
  }

  /** So much more room is taken for a large answer than was, or less. */
  void correctLarge(long bytes) {
    assert router.isHere();
    ingress.answerRoom.bytes.take(bytes);
    if (bytes < 0) {
      lookForRoom();
    }
  }

  /** A request waits for that room no longer. */
  void forgetLarge(Exchange gone) {
    answers().forget(gone);
    lookForRoom();
  }

  private void lookForRoom() {
    if (!answers.isEmpty()) {
      later(() -> answers.look(coarseNanos, Exchange::roomFound));
    }
  }

  long now() {
    return nanoClock.getAsLong();
  }

  /** The time of the last sweep: near enough for what is swept. */
  long coarseNow() {
    return coarseNanos;
  }

  /** Does something on this loop when what runs now is over. */
  void later(Runnable task) {
    context.runOnContext(run -> task.run());
  }

  void after(long millis, Runnable task) {
    context.owner().setTimer(millis, timer -> task.run());
  }
}
