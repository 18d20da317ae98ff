package dev.berth.ingress;

import dev.berth.api.DeploymentId;
import dev.berth.config.HealthOptions;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.LogEncoding;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.access.AccessLog;
import dev.berth.ingress.access.AccessRoute;
import dev.berth.ingress.edge.ProxyPreface;
import dev.berth.ingress.edge.TrustedNetworks;
import dev.berth.ingress.limit.ConnectionRateLimiter;
import dev.berth.ingress.tls.HttpServerTls;
import dev.berth.metrics.MeterRegistration;
import dev.berth.metrics.Meters;
import dev.berth.metrics.MetricSeries;
import dev.berth.net.http.RequestDecoder;
import dev.berth.net.http.RequestDecoderInstaller;
import dev.berth.net.tls.TlsFiles;
import dev.berth.net.tls.TlsMaterial;
import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.protocol.port.ViaEntry;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.reserve.ReservationTable;
import dev.berth.stream.CountingLimit;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * State shared by the ingress loops of an instance: settings, routes, connection limits and the
 * drain state. Thread-safe.
 */
public final class Ingress {
  /**
   * Sweep interval in milliseconds, and the maximum delay of timeouts of connections, bodies and
   * streams.
   */
  static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final long FRESH_NANOS = 3 * SWEEP_NANOS;

  /** Settings of {@code http_options} and {@code berth.limits}. */
  final Settings settings;

  /** Maximum chunk of an HTTP/1 body. Netty's default of 8 KiB makes four times as many. */
  private static final int CHUNK_BYTES = 32 << 10;

  /** Limits of request heads. */
  final HttpServerOptions heads;

  final Meters meters;
  final LongSupplier nanoClock;
  final long incarnation;
  private final ViaEntry via;
  private final List<MeterRegistration> shown;
  private final CountingLimit connections;
  final RequestMemoryBudget requestRoom;
  final ResponseMemoryBudget answerRoom;
  final LongAdder refusedRequests = new LongAdder();
  final LongAdder stoodStill = new LongAdder();
  private final Map<Integer, MostStalled> mostStalled = new ConcurrentHashMap<>(); // by loop
  private final LongAdder refusedConnections = new LongAdder();
  final LongAdder lateHeads = new LongAdder();
  private final LongAdder floods = new LongAdder();
  private final LongAdder fastConnections = new LongAdder();
  private final ConnectionRateLimiter rate;
  final TrustedNetworks proxies;
  final CountingLimit compressed; // streamed responses
  final Map<String, @Nullable Object> headers; // of all responses
  private final Map<EventLoop, ServingLoop> loops = new ConcurrentHashMap<>();
  final @Nullable HttpServerTls tls; // null for plain HTTP
  private final AtomicInteger port;
  final Set<DeploymentId> explainNext = ConcurrentHashMap.newKeySet();
  private volatile RouteTable<IngressRoute> routes = RouteTable.empty();
  private volatile boolean populated;
  private final AtomicLong startupEnds = new AtomicLong(); // 0 for never, and until it listens
  private final Queue<Runnable> ports = new ConcurrentLinkedQueue<>(); // each closes one
  private volatile boolean draining;
  private BooleanSupplier blocked = () -> false; // set before the loops start
  private @Nullable ReservationTable reservations; // set before the loops start
  @Nullable Endpoint endpoint; // likewise
  CountingLimit bodies = new CountingLimit(0); // likewise
  @Nullable AccessLog accessLog; // likewise; null if no requests are logged
  @Nullable AccessRoute unroutedAccess; // likewise

  /**
   * @param nanoClock clock of the router loops, which measures deadlines
   * @param incarnation unique number of the instance's start; request ids begin with it
   */
  public Ingress(Settings settings, Meters meters, LongSupplier nanoClock, long incarnation) {
    this.settings = settings;
    this.heads =
        new HttpServerOptions()
            .setMaxChunkSize(CHUNK_BYTES)
            .setMaxHeaderSize(settings.get(LimitOptions.MAX_HEADER_BYTES))
            .setMaxInitialLineLength(settings.get(LimitOptions.MAX_URI_BYTES));
    this.proxies = new TrustedNetworks(settings.get(LimitOptions.TRUSTED_PROXIES));
    this.compressed = new CountingLimit(settings.get(LimitOptions.COMPRESSED_STREAMS));
    this.headers = settings.get(InstanceOptions.RESPONSE_HEADERS);
    this.connections = new CountingLimit(settings.get(LimitOptions.MAX_CONNECTIONS));
    this.rate =
        new ConnectionRateLimiter(settings.get(LimitOptions.ADDRESS_CONNECTION_RATE), proxies);
    this.meters = meters;
    this.nanoClock = nanoClock;
    this.incarnation = incarnation;
    this.via = ViaEntry.of(incarnation);
    this.port = new AtomicInteger(settings.get(HttpOptions.PORT));
    this.requestRoom = new RequestMemoryBudget(settings.get(LimitOptions.REQUEST_BYTES_TOTAL));
    this.answerRoom = new ResponseMemoryBudget(settings.get(LimitOptions.REQUEST_BYTES_TOTAL));
    TlsFiles files = HttpOptions.tls(settings);
    this.tls = files == null ? null : new HttpServerTls(settings, files, "tls");
    this.shown =
        List.of(meters.addNodeGauge("serve_proxy_status", this::status), meters.add(this::show));
  }

  private void show(MetricSeries into) {
    into.gauge("berth_http_connections", connections.inUse(), connections.most);
    into.counter("berth_http_connections_refused", refusedConnections.sum());
    into.counter("berth_http_connections_over_rate", fastConnections.sum());
    into.counter("berth_http_floods_cut", floods.sum());
    into.counter("berth_http_heads_timed_out", lateHeads.sum());
    long most = settings.get(LimitOptions.REQUEST_BYTES_TOTAL);
    into.gauge("berth_http_request_bytes", requestRoom.heldBytes(), most);
    into.counter("berth_http_requests_refused", refusedRequests.sum());
    int parked = loops.values().stream().mapToInt(ServingLoop::parked).sum();
    into.gauge("berth_http_requests_parked", parked);
    CountingLimit answers = answerRoom.bytes;
    into.gauge("berth_http_large_answer_bytes", answers.inUse(), answers.most);
    into.gauge("berth_http_large_answer_bytes_waiting", answerRoom.wanted.get());
    into.counter("berth_http_answers_stood_still", stoodStill.sum());
    into.gauge("berth_http_compressed_streams", compressed.inUse(), compressed.most);
    if (tls != null && tls.expirySeconds() > 0) {
      into.with("of", "http").gauge("berth_certificate_expiry_seconds", tls.expirySeconds());
    }
  }

  /**
   * Sets a condition under which the instance is not ready. It is read on any thread. Must be
   * called before the loops start.
   */
  public void unreadyWhile(BooleanSupplier loopBlocked) {
    blocked = loopBlocked;
  }

  /**
   * Logs the requests of the routes that enable it. Must be called before the loops start.
   *
   * @param unrouted encoding for requests without a route; null if they are not logged
   */
  public void logAccess(AccessLog log, @Nullable LogEncoding unrouted) {
    accessLog = log;
    unroutedAccess = AccessRoute.of(log, unrouted, "", "", "");
  }

  /**
   * Enables requests that run on a reserved slot. Must be called before the loops start.
   *
   * @param api endpoint below {@code /-}; null for none
   */
  public void serveReservations(ReservationTable table, @Nullable Endpoint api) {
    reservations = table;
    endpoint = api;
  }

  /**
   * Sets the budget for bodies that are gathered before their requests have slots. Must be called
   * before the loops start.
   */
  public void gatherWithin(CountingLimit bound) {
    bodies = bound;
  }

  /** Replaces all routes. Later requests use the new ones. */
  public void update(RouteTable<IngressRoute> next) {
    routes = next;
    explainNext.removeIf(each -> !leadsTo(each));
    populated |= !next.routes().isEmpty();
    loops.values().forEach(loop -> loop.later(loop::unpark));
  }

  /** Starts to drain: the health check fails, and connections close after their responses. */
  public void drain() {
    draining = true;
    loops.values().forEach(loop -> loop.later(loop::drain));
  }

  /** Adds the close action of a listening port. Thread-safe. */
  void listens(Runnable close) {
    ports.add(close);
  }

  /**
   * Closes the ports. New connections are refused; earlier ones may still send a request. A
   * server's own shutdown would close idle connections, and a fresh connection is idle.
   */
  public void closePort() {
    ports.forEach(Runnable::run);
  }

  /** Returns the listening port, or 0 if any free port was requested and no loop listens yet. */
  public int port() {
    return port.get();
  }

  /** Returns the TLS contents of new connections; null for plain HTTP. May read files. */
  public @Nullable TlsMaterial tls() {
    return tls == null ? null : tls.current();
  }

  /**
   * Explains the next request of a deployment that arrives here, whatever its header. Thread-safe.
   *
   * @return false if no route leads to the deployment
   */
  public boolean explainNext(DeploymentId deployment) {
    boolean leads = leadsTo(deployment);
    if (leads) {
      explainNext.add(deployment);
    }
    return leads;
  }

  private boolean leadsTo(DeploymentId deployment) {
    return routes.routes().values().stream().anyMatch(route -> route.leadsTo(deployment));
  }

  /** Removes the metrics of the ingress. */
  public void close() {
    shown.forEach(MeterRegistration::close);
  }

  /** Returns the handler that reads HTTP/1 without TLS, as {@link #readStrictly} does. */
  RequestDecoderInstaller firstBytes() {
    return new RequestDecoderInstaller(heads, settings.get(InstanceOptions.H2C_UPGRADE));
  }

  /** Installs the strict HTTP/1 decoder (RFC 9112). */
  void readStrictly(ChannelPipeline pipeline) {
    RequestDecoder.install(pipeline, heads, settings.get(InstanceOptions.H2C_UPGRADE));
  }

  /** Returns a new reader of a PROXY header; null for a peer that sends none. */
  @Nullable ProxyPreface preface(@Nullable SocketAddress peer) {
    return settings.get(InstanceOptions.PROXY_PROTOCOL) && proxies.contain(peer)
        ? new ProxyPreface(this::waits)
        : null;
  }

  /** Adds a serving loop. */
  void join(EventLoop eventLoop, ServingLoop loop) {
    loops.putIfAbsent(eventLoop, loop);
  }

  void leave(EventLoop eventLoop, ServingLoop loop) {
    loops.remove(eventLoop, loop);
  }

  /**
   * Returns the serving loop of an event loop.
   *
   * @throws IllegalStateException if the event loop does not serve any longer
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

  /** Returns the reason why the health check fails, in Ray Serve's words; null if healthy. */
  @Nullable String unhealthyReason() {
    if (draining) {
      return "This node is being drained.";
    }
    return populated || isStartupOver() ? null : "Route table is not populated yet.";
  }

  /** Returns the state in the numbers of Ray Serve's {@code serve_proxy_status}. */
  public int status() {
    if (draining) {
      return 4;
    }
    return unhealthyReason() == null ? 2 : 1;
  }

  /** Returns the reason why requests would fail now; null if all routed applications serve. */
  @Nullable String unreadyReason() {
    String reason = unhealthyReason();
    if (reason != null) {
      return reason;
    }
    if (blocked.getAsBoolean()) {
      return "An event loop is blocked by a handler.";
    }
    return isStartupOver()
            || routes.routes().values().stream()
                .map(IngressRoute::router)
                .allMatch(router -> router == null || !router.routable().isEmpty())
        ? null
        : "No replicas are available yet.";
  }

  /** Returns whether missing routes and replicas no longer fail the checks. */
  private boolean isStartupOver() {
    long ends = startupEnds.get();
    return ends != 0 && nanoClock.getAsLong() - ends >= 0;
  }

  /** Returns whether a request to a deployment of upstreams passed this instance before. */
  boolean isLoop(@Nullable DeploymentRouter to, HttpServerRequest request) {
    return to != null
        && to.proxying().proxies()
        && via.isIn(request.headers().getAll(ViaEntry.HEADER));
  }

  boolean draining() {
    return draining;
  }

  /**
   * Returns whether a new connection may stay. If so, it counts until {@link #onConnectionClosed}.
   */
  boolean tryOpen() {
    boolean open = connections.tryTake(1);
    if (!open) {
      refusedConnections.increment();
    }
    return open;
  }

  void onConnectionClosed() {
    connections.give(1);
  }

  /**
   * Returns the delay of a new connection of an address in nanoseconds. A negative number means
   * that it must be closed.
   */
  long waits(@Nullable SocketAddress from) {
    long wait = rate.open(from, nanoClock.getAsLong());
    if (wait != 0) {
      fastConnections.increment();
    }
    return wait;
  }

  /**
   * Records that a connection was closed for a flood of frames that cost work and carry no request.
   */
  void cutFlood(@Nullable SocketAddress from) {
    floods.increment();
    rate.chargeFlood(from, nanoClock.getAsLong());
  }

  /** Maximum bytes that one connection of a loop holds in stalled responses. */
  private record MostStalled(int loop, long bytes, long atNanos) {}

  /**
   * Publishes the maximum of a loop to the other loops, and returns the maximum of theirs, in
   * bytes.
   */
  long mostStalledElsewhere(int loop, long bytes, long now) {
    mostStalled.put(loop, new MostStalled(loop, bytes, now));
    return mostStalled.values().stream()
        .filter(each -> each.loop != loop && now - each.atNanos < FRESH_NANOS)
        .mapToLong(MostStalled::bytes)
        .max()
        .orElse(0);
  }

  /**
   * Returns the port for the loops' servers. If any free port is requested, all get the same
   * negative number, so that Vert.x shares one port among them.
   */
  int sharedPort() {
    return settings.get(HttpOptions.PORT) != 0
        ? settings.get(HttpOptions.PORT)
        : -1 - (int) (incarnation & 0x3FFF_FFFF);
  }

  void listening(int actualPort) {
    port.compareAndSet(0, actualPort);
    Duration startup = settings.get(HealthOptions.STARTUP_S);
    if (!startup.isZero()) {
      startupEnds.compareAndSet(0, (nanoClock.getAsLong() + startup.toNanos()) | 1);
    }
  }

  /** Returns the deployment whose slot a token holds; null if unknown. */
  @Nullable DeploymentId heldBy(@Nullable String token) {
    return token == null || reservations == null ? null : reservations.deploymentOf(token);
  }

  /** Returns the reservations of the instance. */
  ReservationTable reservations() {
    if (reservations == null) {
      throw new ReservationException(
          ReservationProblem.UNKNOWN_TOKEN, "nothing is reserved here", -1, -1);
    }
    return reservations;
  }
}
