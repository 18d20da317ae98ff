package dev.berth.node;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.AdminVerticle;
import dev.berth.admin.BearerTokens;
import dev.berth.admin.EndpointRoutes;
import dev.berth.admin.ExplainRing;
import dev.berth.admin.ExplainRoutes;
import dev.berth.admin.HealthRoutes;
import dev.berth.admin.HttpView;
import dev.berth.admin.LedgerRoutes;
import dev.berth.admin.LogRing;
import dev.berth.admin.LogRoutes;
import dev.berth.admin.ReservationBody;
import dev.berth.admin.ReservationEndpoint;
import dev.berth.admin.ServeRoutes;
import dev.berth.config.AdminOptions;
import dev.berth.config.BearerToken;
import dev.berth.config.ExplainOptions;
import dev.berth.config.HealthOptions;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.LogEncoding;
import dev.berth.config.LogRingOptions;
import dev.berth.config.LoggingOptions;
import dev.berth.config.MessageTransport;
import dev.berth.config.ReservationOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.Ingress;
import dev.berth.ingress.IngressVerticle;
import dev.berth.metrics.FlightRecords;
import dev.berth.metrics.Meters;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.MetricsPusherVerticle;
import dev.berth.node.loops.CarrierWatch;
import dev.berth.node.loops.EventBusSender;
import dev.berth.node.loops.EventLoops;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.InstanceBus;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.node.loops.LoopWatchVerticle;
import dev.berth.node.loops.Transport;
import dev.berth.node.traffic.TrafficStatus;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.HandlerPorts;
import dev.berth.replica.threads.InstanceHandlerThreads;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.feed.RoutingFeedVerticle;
import dev.berth.routing.reserve.ReservationTable;
import dev.berth.view.ControllerCommands;
import io.vertx.core.Deployable;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Parts of an instance and their wiring: event loops, start order and stop order. {@link BerthNode}
 * decides when they start and stop. Confined to the control loop.
 */
final class InstanceWiring {
  /** Time for clients to learn of a drain before the listener and idle connections close. */
  private static final Duration NOTICE = Duration.ofMillis(250);

  /** Interval, in ms, of a drain's checks whether tokens still hold slots. */
  private static final long RESERVATION_LOOK_MS = 50;

  private final InstanceRuntime.InstanceContext on;
  private final ServeConfig config;
  private final Identity identity;
  private final EventLoops loops;
  private final TickTimer ticks; // of the control loop
  // Receive messages inside the instance, unless the event bus carries them, and those of other
  // nodes; null where the event bus carries all.
  private final @Nullable InstanceBus mailboxes;
  final @Nullable ClusterMembershipClient side; // null: no cluster
  private final Meters meters;
  final Ingress ingress;
  private final Runnable endLog;
  private final InstanceHandlerThreads handlers;
  private final CarrierWatch carriers;
  final DataPlane plane;
  final ReservationTable reservations;
  private final AccessLogWriter accessLog;
  private final @Nullable LiveWiring live; // null: berth.admin.dashboard is false
  final MetricsPusher pusher; // reports handle metrics to the controller
  final AdminVerticle admin;
  private final @Nullable AdminVerticle peer; // admin server for other nodes; null: no cluster
  final NodeRole role;
  final InstanceRuntime host; // created by the role
  private final RoutingFeedVerticle feed;
  // Stop actions of the started ingresses. The first serving loop adds the later ones, and the
  // control loop runs all.
  private final List<Supplier<Future<Void>>> ingresses = new CopyOnWriteArrayList<>();
  private final List<Supplier<Future<Void>>> others = new ArrayList<>(); // in start order

  /**
   * @param roles creates the role of the instance
   */
  InstanceWiring(InstanceRuntime.InstanceContext on, NodeRole.NodeRoleFactory roles) {
    this.on = on;
    config = on.config();
    identity = on.identity();
    loops = on.loops();
    ticks = loops.control().ticks(identity.nanoClock());
    meters = on.meters();
    ingress = new Ingress(config.settings(), meters, identity.nanoClock(), identity.incarnation());
    accessLog = new AccessLogWriter(meters);
    ingress.logAccess(accessLog.log, accessEncoding(config.get(ServeConfig.LOGGING_CONFIG)));
    ExplainRing explained = new ExplainRing(config.get(ExplainOptions.RING_SIZE));
    explained.show(meters);
    LogRing logRing =
        new LogRing(
            config.get(LogRingOptions.LINES),
            config.get(LogRingOptions.BYTES),
            identity.wallClock().instant());
    logRing.show(meters);
    endLog = on.log().to(logRing::add);
    boolean direct = config.get(InstanceOptions.MESSAGES) == MessageTransport.DIRECT;
    mailboxes = direct || on.cluster() != null ? new InstanceBus() : null;
    side =
        on.cluster() == null || mailboxes == null
            ? null
            : new ClusterMembershipClient(on.cluster(), identity, loops, mailboxes);
    handlers =
        new InstanceHandlerThreads(
            config.get(LimitOptions.MAX_HANDLER_THREADS), InstanceHandlerThreads.IDLE_MILLIS);
    plane =
        new DataPlane(
            ports(),
            new HandlerPorts(on.threads(), handlers),
            explained.and(FlightRecords.create()),
            InstanceLimits.of(config.settings()));
    reservations =
        new ReservationTable(
            plane.routers,
            InstanceLimits.reservations(config.settings()),
            identity.nanoClock(),
            plane.ports.secrets());
    if (side != null) {
      side.carries(plane);
      reservations.among(side.keepers());
    }
    ingress.unreadyWhile(() -> plane.host.blockedLoops().stream().anyMatch(BlockedLoop::lasting));
    ingress.gatherWithin(plane.limits.bodies().gathered());
    ReservationEndpoint api = reservationEndpoint();
    Map<String, String> secrets = BearerToken.secrets(config.get(ReservationOptions.BEARER_TOKENS));
    ingress.serveReservations(
        reservations,
        config.get(ReservationOptions.DATA_PORT) ? new BearerTokens(secrets, true, api) : null);
    pusher = InstanceSeries.pusher(config, identity);
    role =
        roles.make(
            on,
            made -> new InstanceRuntime(on, made, pusher, ingress, plane, this::accessEncoding),
            side);
    host = role.host();
    carriers = new CarrierWatch(handlers, identity.nanoClock(), host.replicas::carriersBlocked);
    BearerTokens known = new BearerTokens(secrets, false, api);
    LedgerRoutes ledger =
        new LedgerRoutes(() -> InstanceSeries.ledgers(plane), identity.wallClock());
    ExplainRoutes explain = new ExplainRoutes(explained, config.settings());
    LogRoutes log = new LogRoutes(logRing);
    List<AdminRoutes> routes =
        new ArrayList<>(List.of(new HealthRoutes(meters), ledger, explain, log));
    live = config.get(AdminOptions.DASHBOARD) ? new LiveWiring(on, role, pusher) : null;
    if (live != null) {
      routes.add(
          live.routes(side, ledger, explain, log, () -> traffic().routes(null), reservations));
    }
    routes.addAll(role.operators(this::serveRoutes));
    routes.add(new EndpointRoutes("/api/v1/applications/*", known));
    routes.add(new EndpointRoutes("/api/v1/reservations", known));
    peer = side == null ? null : side.peerServer(meters, routes);
    List<AdminRoutes> all = new ArrayList<>(DashboardRoutes.of(on, ingress, explained));
    all.addAll(side == null ? List.of() : List.of(side.fanOut()));
    all.addAll(routes); // a controller that stands by refuses all after its own
    all.addAll(role.forwarded());
    admin = new AdminVerticle(config.settings(), meters, all);
    feed =
        new RoutingFeedVerticle(
            ticks,
            identity.node(),
            identity.incarnation(),
            plane.routers,
            role::send,
            identity.nanoClock());
  }

  private TrafficStatus traffic() {
    return new TrafficStatus(() -> host.routes.leadsTo(), meters, identity.seeded());
  }

  private ServeRoutes serveRoutes(ControllerCommands commands) {
    return new ServeRoutes(
        commands,
        (deployment, replica) -> host.replicas.kill(deployment, replica),
        traffic(),
        new HttpView(config.settings(), ingress::port, ingress::status),
        plane.host::blockedLoops,
        meters,
        DashboardRoutes.version(),
        identity.node());
  }

  private ReservationEndpoint reservationEndpoint() {
    String host = config.get(HttpOptions.HOST);
    return new ReservationEndpoint(
        reservations,
        new ReservationBody(
            config.get(LimitOptions.MAX_RESERVATION_TTL_S),
            config.get(ReservationOptions.MAX_WAIT_S),
            config.get(LimitOptions.MAX_RESERVATION_LEGS)),
        host.equals("0.0.0.0") || host.equals("::") ? null : host,
        ingress::port,
        () -> !role.complete().isComplete());
  }

  /**
   * Returns the encoding of the access log and starts its writer; null if the settings disable the
   * log.
   */
  @Nullable LogEncoding accessEncoding(Settings logging) {
    if (!logging.get(LoggingOptions.ENABLE_ACCESS_LOG)) {
      return null;
    }
    accessLog.start();
    return logging.get(LoggingOptions.ENCODING);
  }

  private InstanceDependencies ports() {
    boolean direct = config.get(InstanceOptions.MESSAGES) == MessageTransport.DIRECT;
    BusSender inside =
        direct && mailboxes != null ? mailboxes : new EventBusSender(on.vertx().eventBus());
    Transport bus =
        side == null
            ? new Transport(identity.node(), inside)
            : new Transport(identity.node(), inside, side.between());
    return new InstanceDependencies(
        identity.node(),
        identity.incarnation(),
        on.cluster() == null ? null : on.cluster().config().zone(),
        loops.serving().stream().map(loop -> loop.ports(bus, identity)).toList(),
        bus,
        identity.nanoClock(),
        identity.wallClock(),
        identity.seeded(),
        new Secrets(identity.chance()));
  }

  // --- start ---

  /** Starts the data plane, its sweeps and its watches. */
  Future<Void> startCore() {
    assert loops.control().isHere();
    LedgerMaintenanceVerticle upkeep =
        new LedgerMaintenanceVerticle(
            ticks,
            plane.host,
            () -> {
              reservations.sweep();
              boolean lookAgain = on.threads().look() | carriers.look();
              host.retained.checkUnloaded();
              return lookAgain
                  || reservations.permitsTaken() > 0
                  || IntStream.range(0, plane.loops()).anyMatch(plane::isBusy);
            });
    plane.host.onTouch(() -> loops.control().execute(upkeep.checks::need));
    meters.addCounter("berth_audits_failed", () -> upkeep.mismatches);
    meters.add(pusher::show);
    meters.add(into -> InstanceSeries.show(plane, config.settings(), into));
    meters.add(into -> InstanceSeries.show(reservations, into));
    meters.add(handlers::show);
    meters.add(carriers::show);
    LoopWatchVerticle watch = loopWatch();
    Runnable watchClosely =
        () -> {
          watch.need();
          upkeep.sweepTicks.need();
        };
    Runnable woken = () -> loops.control().execute(watchClosely);
    List<Future<?>> started = new ArrayList<>();
    started.add(start(loops.control(), feed));
    started.add(start(loops.control(), upkeep));
    for (int index = 0; index < loops.serving().size(); index++) {
      LoopVerticle loop = loops.serving().get(index);
      started.add(
          start(loop, new DataPlaneVerticle(plane, index, woken)).onSuccess(receiveOn(index)));
    }
    started.add(start(loops.control(), watch));
    return Future.all(started).compose(all -> joinable());
  }

  /** Opens this node for other nodes; does nothing without a cluster. */
  private Future<Void> joinable() {
    if (side == null || peer == null) {
      return Future.succeededFuture();
    }
    meters.add(side::show);
    return start(loops.control(), peer).compose(listens -> side.listen(peer.port(), config));
  }

  /**
   * Returns a handler that subscribes a loop to its mailbox, if mailboxes replace the event bus.
   */
  private Handler<Void> receiveOn(int index) {
    return started -> {
      if (mailboxes == null) {
        return;
      }
      LoopVerticle loop = loops.serving().get(index);
      plane.receive(
          index,
          (address, receiver) -> mailboxes.receive(address, loop.home(), loop.turn(), receiver));
    };
  }

  private LoopWatchVerticle loopWatch() {
    return new LoopWatchVerticle(
        ticks,
        loops.serving(),
        meters,
        config.get(InstanceOptions.BLOCKED_LOOP_AFTER_MS),
        config.get(HealthOptions.BLOCKED_LOOP_UNREADY_S),
        identity.nanoClock(),
        identity.wallClock(),
        plane);
  }

  /** Starts the admin server, the metrics, and the ingress once the role is complete. */
  Future<Void> startEdge(Duration stopTimeout) {
    assert loops.control().isHere();
    int pending = config.get(LimitOptions.PENDING_REQUESTS_PER_LOOP);
    IntStream.range(0, plane.loops())
        .forEach(loop -> meters.add(into -> InstanceSeries.show(loop, plane, pending, into)));
    MetricsPusherVerticle pushing =
        new MetricsPusherVerticle(ticks, pusher, live == null ? role::ask : live::report);
    if (live != null) {
      others.add(live.start(ticks));
    }
    return Future.all(
            loops.control().deploy(admin),
            start(loops.control(), pushing),
            role.complete().compose(complete -> startIngress(stopTimeout)))
        .mapEmpty();
  }

  private Future<Void> startIngress(Duration stopTimeout) {
    // With port 0, the first ingress binds a free port that the others share.
    return startIngress(0, stopTimeout)
        .compose(
            first ->
                Future.all(
                        IntStream.range(1, loops.serving().size())
                            .mapToObj(index -> startIngress(index, stopTimeout))
                            .toList())
                    .mapEmpty());
  }

  private Future<Void> startIngress(int index, Duration stopTimeout) {
    RouterLoop router = plane.routers.loop(index);
    return start(
        loops.serving().get(index),
        new IngressVerticle(ingress, router, index, stopTimeout),
        ingresses);
  }

  private Future<Void> start(LoopVerticle loop, Deployable part) {
    return start(loop, part, others);
  }

  private static Future<Void> start(
      LoopVerticle loop, Deployable part, List<Supplier<Future<Void>>> stops) {
    stops.add(() -> loop.undeploy(part));
    return loop.deploy(part);
  }

  // --- stop ---

  /**
   * Ends the work of the instance in order.
   *
   * <pre>
   *   notice -> no new connections -> idle ones close, requests in flight end -> replicas drain
   * </pre>
   *
   * @param limit maximum duration of the whole drain
   * @param listening whether there are clients to be notified
   * @param alsoAwaited a future that ends before the instance does
   * @return completes when no work is left; fails with a {@link TimeoutException} at the limit
   */
  Future<Void> drain(Duration limit, boolean listening, Future<?> alsoAwaited) {
    assert loops.control().isHere();
    reservations.drain();
    ingress.drain();
    host.replicas.drainStarts();
    Future<Void> released = role.drains();
    // From now on every response announces that its connection closes. A client that is about to
    // send on an idle connection thus receives a notice instead of a reset.
    long notice = listening ? Math.min(NOTICE.toMillis(), Math.max(2, limit.toMillis() / 10)) : 2;
    Future<Void> answered =
        passed(notice / 2)
            .compose(passed -> reservationsOver(limit.dividedBy(2)))
            .compose(
                over -> {
                  ingress.closePort();
                  return passed(notice / 2); // new connections send their request by then
                })
            .compose(closed -> stopIngress());
    // A request may call replicas of other deployments. All replicas stay until every request has
    // ended, or until the longest grace has passed.
    long grace = Math.max(1, host.deployments.longestGrace().toMillis());
    Future<Void> withdrawn =
        answered
            .timeout(grace, TimeUnit.MILLISECONDS)
            .transform(ended -> loops.control().call(role::withdraw));
    return Future.join(answered, withdrawn, alsoAwaited, released)
        .<Void>mapEmpty()
        .timeout(limit.toMillis(), TimeUnit.MILLISECONDS);
  }

  private Future<Void> passed(long millis) {
    return on.vertx().timer(millis, TimeUnit.MILLISECONDS).mapEmpty();
  }

  /**
   * Waits until no token holds a slot, or until the limit. The holder of a token may still use the
   * slot, and may have no connection yet. Then releases the remaining slots.
   */
  private Future<Void> reservationsOver(Duration limit) {
    if (ingresses.isEmpty() || reservations.heldCount() == 0) {
      return Future.succeededFuture();
    }
    Promise<Void> over = Promise.promise();
    long looking =
        on.vertx()
            .setPeriodic(
                RESERVATION_LOOK_MS,
                look -> {
                  if (reservations.heldCount() == 0) {
                    over.tryComplete();
                  }
                });
    return over.future()
        .timeout(Math.max(1, limit.toMillis()), TimeUnit.MILLISECONDS)
        .otherwiseEmpty()
        .onComplete(
            done -> {
              on.vertx().cancelTimer(looking);
              reservations.releaseAll(); // else replicas would wait for unused tokens
            });
  }

  /** Stops accepting connections, and waits for the requests in flight. */
  private Future<Void> stopIngress() {
    List<Future<Void>> stopped = ingresses.stream().map(Supplier::get).toList();
    ingresses.clear();
    return Future.join(stopped).mapEmpty();
  }

  /** Stops all other parts in reverse order: the pusher's last batch reaches the controller. */
  Future<Void> stopOthers() {
    assert loops.control().isHere();
    host.deployments.hide();
    ingress.close();
    Collections.reverse(others);
    Future<Void> stopped = host.replicas.resetUpstreams();
    for (Supplier<Future<Void>> stop : others) {
      stopped = stopped.eventually(stop);
    }
    return stopped
        .eventually(() -> loops.control().undeploy(admin)) // last: operators may watch the stop
        .eventually(role::stop)
        .eventually(accessLog::stop)
        .onComplete(over -> endLog.run());
  }
}
