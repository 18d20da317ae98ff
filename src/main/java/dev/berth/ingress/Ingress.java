package dev.berth.ingress;

import dev.berth.api.DeploymentId;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.LogEncoding;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.access.AccessLog;
import dev.berth.ingress.access.AccessRoute;
import dev.berth.ingress.tls.Tls;
import dev.berth.metrics.Meters;
import dev.berth.metrics.Registration;
import dev.berth.metrics.Series;
import dev.berth.net.http.FirstBytes;
import dev.berth.net.http.RequestDecoder;
import dev.berth.net.tls.TlsFiles;
import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.routing.reserve.ReservationTable;
import dev.berth.stream.Bound;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.vertx.core.http.HttpServerOptions;
import java.net.SocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What the ingress loops of an instance share: their settings, the routes, the bound on
 * connections, and whether the instance drains. Any thread.
 */
public final class Ingress {
  /** Timeouts of connections, bodies and streams are late by at most this. */
  static final long SWEEP_MILLIS = 100;

  private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(3 * SWEEP_MILLIS);

  /** What the file says of {@code http_options} and {@code berth.limits}. */
  final Settings settings;

  /** How long the heads of requests may be. */
  final HttpServerOptions heads;

  final Meters meters;
  final LongSupplier nanoClock;
  final long incarnation;
  private final List<Registration> shown;
  private final Bound connections;
  final RequestRoom requestRoom;
  final AnswerRoom answerRoom;
  final LongAdder refusedRequests = new LongAdder();
  final LongAdder stoodStill = new LongAdder();
  private final Map<Integer, MostStalled> mostStalled = new ConcurrentHashMap<>(); // by loop
  private final LongAdder refusedConnections = new LongAdder();
  final LongAdder lateHeads = new LongAdder();
  private final LongAdder floods = new LongAdder();
  private final LongAdder fastConnections = new LongAdder();
  private final ConnectionRate rate;
  private final Map<EventLoop, ServingLoop> loops = new ConcurrentHashMap<>();
  final @Nullable Tls tls; // null for plain HTTP
  private final AtomicInteger port;
  private volatile RouteTable<IngressRoute> routes = RouteTable.empty();
  private volatile boolean populated;
  private final Queue<Runnable> ports = new ConcurrentLinkedQueue<>(); // closes one
  private volatile boolean draining;
  private BooleanSupplier blocked = () -> false; // before the loops start
  private @Nullable ReservationTable reservations; // before the loops start
  @Nullable Endpoint endpoint; // likewise
  Bound bodies = new Bound(0); // likewise
  @Nullable AccessLog accessLog; // likewise; null when no requests are logged
  @Nullable AccessRoute unroutedAccess; // likewise

  /**
   * @param nanoClock the router loops' own, since deadlines are told on it
   * @param incarnation another number for each start of the instance; request ids begin with it
   */
  public Ingress(Settings settings, Meters meters, LongSupplier nanoClock, long incarnation) {
    this.settings = settings;
    this.heads =
        new HttpServerOptions()
            .setMaxHeaderSize(settings.get(LimitOptions.MAX_HEADER_BYTES))
            .setMaxInitialLineLength(settings.get(LimitOptions.MAX_URI_BYTES));
    this.connections = new Bound(settings.get(LimitOptions.MAX_CONNECTIONS));
    this.rate =
        new ConnectionRate(
            settings.get(LimitOptions.ADDRESS_CONNECTION_RATE),
            settings.get(LimitOptions.TRUSTED_PROXIES));
    this.meters = meters;
    this.nanoClock = nanoClock;
    this.incarnation = incarnation;
    this.port = new AtomicInteger(settings.get(HttpOptions.PORT));
    this.requestRoom = new RequestRoom(settings.get(LimitOptions.REQUEST_BYTES_TOTAL));
    this.answerRoom = new AnswerRoom(settings.get(LimitOptions.REQUEST_BYTES_TOTAL));
    TlsFiles files = HttpOptions.tls(settings);
    this.tls = files == null ? null : new Tls(settings, files);
    this.shown =
        List.of(meters.addNodeGauge("serve_proxy_status", this::status), meters.add(this::show));
  }

  private void show(Series into) {
    into.gauge("berth_http_connections", connections.taken(), connections.most());
    into.counter("berth_http_connections_refused", refusedConnections.sum());
    into.counter("berth_http_connections_over_rate", fastConnections.sum());
    into.counter("berth_http_floods_cut", floods.sum());
    into.counter("berth_http_heads_timed_out", lateHeads.sum());
    long most = settings.get(LimitOptions.REQUEST_BYTES_TOTAL);
    into.gauge("berth_http_request_bytes", requestRoom.held(), most);
    into.counter("berth_http_requests_refused", refusedRequests.sum());
    int parked = loops.values().stream().mapToInt(ServingLoop::parked).sum();
    into.gauge("berth_http_requests_parked", parked);
    Bound answers = answerRoom.bytes;
    into.gauge("berth_http_large_answer_bytes", answers.taken(), answers.most());
    into.gauge("berth_http_large_answer_bytes_waiting", answerRoom.waiting());
    into.counter("berth_http_answers_stood_still", stoodStill.sum());
  }

  /** The instance is not ready while this is true, from any thread; before the loops start. */
  public void unreadyWhile(BooleanSupplier loopBlocked) {
    blocked = loopBlocked;
  }

  /**
   * Logs the requests of the routes that ask for it; to be called before the loops start.
   *
   * @param unrouted how requests that no route takes are logged; null when they are not
   */
  public void logAccess(AccessLog log, @Nullable LogEncoding unrouted) {
    accessLog = log;
    unroutedAccess = AccessRoute.of(log, unrouted, "", "", "");
  }

  /**
   * Runs requests on what is held for their tokens; to be called before the loops start.
   *
   * @param api answers below {@code /-}; null for nothing
   */
  public void serveReservations(ReservationTable table, @Nullable Endpoint api) {
    reservations = table;
    endpoint = api;
  }

  /** Gathers bodies before their requests have slots; to be called before the loops start. */
  public void gatherWithin(Bound bound) {
    bodies = bound;
  }

  /** Replaces the routes whole: requests that come in from now on see the new ones. */
  public void update(RouteTable<IngressRoute> next) {
    routes = next;
    populated |= !next.routes().isEmpty();
    loops.values().forEach(loop -> loop.later(loop::unpark));
  }

  /** From now on the health check fails and connections close after their answers. */
  public void drain() {
    draining = true;
    loops.values().forEach(loop -> loop.later(loop::drain));
  }

  /** Any thread. */
  void listens(Runnable close) {
    ports.add(close);
  }

  /**
   * Who connects from now on is refused; who did before may send a request yet. A server that shuts
   * down closes what is idle, and a connection that has just come is.
   */
  public void closePort() {
    ports.forEach(Runnable::run);
  }

  /** The port the loops listen on; 0 as long as any free one is wanted and none listens. */
  public int port() {
    return port.get();
  }

  /** Takes what it shows out of the meters. */
  public void close() {
    shown.forEach(Registration::close);
  }

  /** Reads the HTTP/1 of a connection without TLS by {@link #readStrictly}. */
  FirstBytes firstBytes() {
    return new FirstBytes(heads, settings.get(InstanceOptions.H2C_UPGRADE));
  }

  /** Reads the HTTP/1 of a connection as RFC 9112 has it. */
  void readStrictly(ChannelPipeline pipeline) {
    RequestDecoder.install(pipeline, heads, settings.get(InstanceOptions.H2C_UPGRADE));
  }

  /** A loop serves from now on. */
  void join(EventLoop eventLoop, ServingLoop loop) {
    loops.putIfAbsent(eventLoop, loop);
  }

  void leave(EventLoop eventLoop, ServingLoop loop) {
    loops.remove(eventLoop, loop);
  }

  /**
   * The loop that serves on an event loop.
   *
   * @throws IllegalStateException when none does any more
   */
  ServingLoop loopOf(EventLoop eventLoop) {
    ServingLoop loop = loops.get(eventLoop);
    if (loop == null) {
      throw new IllegalStateException("event loop: serves no ingress (expected: one)");
    }
    return loop;
  }

  int loops() {
    return loops.size();
  }

  boolean isBlocked(EventLoop eventLoop) {
    ServingLoop loop = loops.get(eventLoop);
    return loop != null && loop.router.isBlocked();
  }

  RouteTable<IngressRoute> routes() {
    return routes;
  }

  /** Why the health check fails, in Ray Serve's words; null when it does not. */
  @Nullable String unhealthyReason() {
    if (draining) {
      return "This node is being drained.";
    }
    return populated ? null : "Route table is not populated yet.";
  }

  /** In the numbers of Ray Serve's {@code serve_proxy_status}. */
  public int status() {
    if (draining) {
      return 4;
    }
    return populated ? 2 : 1;
  }

  /** Why a request would not be served now; null when all applications that are routed serve. */
  @Nullable String unreadyReason() {
    String reason = unhealthyReason();
    if (reason != null) {
      return reason;
    }
    if (blocked.getAsBoolean()) {
      return "An event loop is blocked by a handler.";
    }
    return routes.routes().values().stream()
            .map(IngressRoute::router)
            .allMatch(router -> router == null || router.hasRoutableReplica())
        ? null
        : "No replicas are available yet.";
  }

  boolean draining() {
    return draining;
  }

  /** Whether one more connection may stay; if so it is counted until {@link #closed}. */
  boolean tryOpen() {
    boolean open = connections.tryTake(1);
    if (!open) {
      refusedConnections.increment();
    }
    return open;
  }

  void closed() {
    connections.give(1);
  }

  /** How long one more connection of an address waits, in nanoseconds; negative: it is closed. */
  long waits(@Nullable SocketAddress from) {
    long wait = rate.open(from, nanoClock.getAsLong());
    if (wait != 0) {
      fastConnections.increment();
    }
    return wait;
  }

  /** A connection is closed since its client asks for work and for nothing else. */
  void cutFlood(@Nullable SocketAddress from) {
    floods.increment();
    rate.cut(from, nanoClock.getAsLong());
  }

  /** What the connection of a loop holds that holds most by answers that stand still. */
  private record MostStalled(int loop, long bytes, long atNanos) {}

  /** Tells the other loops of a loop's, and returns the most of theirs. */
  long mostStalledElsewhere(int loop, long bytes, long now) {
    mostStalled.put(loop, new MostStalled(loop, bytes, now));
    return mostStalled.values().stream()
        .filter(each -> each.loop != loop && now - each.atNanos < FRESH_NANOS)
        .mapToLong(MostStalled::bytes)
        .max()
        .orElse(0);
  }

  /**
   * What the loops' servers are told to listen on. For any free port that is one negative number
   * for all of them, by which Vert.x knows that they share it.
   */
  int sharedPort() {
    return settings.get(HttpOptions.PORT) != 0
        ? settings.get(HttpOptions.PORT)
        : -1 - (int) (incarnation & 0x3FFF_FFFF);
  }

  void listening(int actualPort) {
    port.compareAndSet(0, actualPort);
  }

  /** Whose slot a request holds by its token; null when that is not known. */
  @Nullable DeploymentId heldBy(@Nullable String token) {
    return token == null || reservations == null ? null : reservations.deploymentOf(token);
  }

  /** What the tokens of requests stand for. */
  ReservationTable reservations() {
    if (reservations == null) {
      throw new ReservationException(Problem.UNKNOWN_TOKEN, "nothing is reserved here", -1, -1);
    }
    return reservations;
  }
}
