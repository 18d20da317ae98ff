package dev.berth.node;

import static java.util.stream.Collectors.joining;

import dev.berth.cluster.CertificateNames;
import dev.berth.cluster.bus.ApplicationBus;
import dev.berth.cluster.bus.BusCluster;
import dev.berth.cluster.bus.ClusteredVertx;
import dev.berth.code.StartFailedException;
import dev.berth.config.AdminOptions;
import dev.berth.config.ClusterConfig;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.MessageTransport;
import dev.berth.config.MetricsOptions;
import dev.berth.config.MetricsOptions.VertxMetrics;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigKey;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.desired.ConsensusEngine;
import dev.berth.desired.JournalLog;
import dev.berth.desired.LogDirectory;
import dev.berth.desired.ServeControl;
import dev.berth.desired.StateLog;
import dev.berth.desired.TimeOfDay;
import dev.berth.ingress.IngressTransport;
import dev.berth.metrics.Meters;
import dev.berth.node.InstanceRuntime.InstanceContext;
import dev.berth.node.loops.EventLoops;
import dev.berth.node.loops.HeapWatch;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.InstanceThreads;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.node.loops.RequestLocal;
import dev.berth.node.loops.ServiceNotifier;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.BusMessageCodec;
import dev.berth.replica.hooks.ApplicationWorkers;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.LogFeed;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lifecycle of one instance. Starts its parts, loads its applications, routes each application once
 * it runs, and drains. State is confined to the control loop.
 *
 * <pre>
 *   start: event loops, core; in parallel each application's code: found -> built
 *          -> listening; in parallel each application: replicas -> routed
 *   close: notice -> no new connections -> requests in flight end -> replicas drain -> the rest
 * </pre>
 */
public final class BerthNode {
  private static final Logger LOG = LoggerFactory.getLogger(BerthNode.class);

  /** Share of {@code berth.shutdown_timeout_s} that draining may use; the rest is for closing. */
  private static final double DRAIN_SHARE = 0.9;

  private static final int MAX_LOGGED_ROUTES = 8;

  private final ServeConfig config;
  private final LogFeed log;
  private final CompletionStage<String> stop; // aborts the start
  private final @Nullable ClusterConfig cluster;
  private @Nullable LogDirectory held; // a worker's lock; another process would remove fetched jars
  private final Identity identity;
  private final long beganNanos;
  private final InstanceThreads threads;
  private final ApplicationWorkers workers;
  private final IngressTransport transport;
  private final Meters meters;
  private final @Nullable BusCluster bus; // null: the event bus does not reach other nodes
  private final Vertx vertx;
  private final Promise<BerthNode> started = Promise.promise();
  private final Promise<Void> closed = Promise.promise();
  final LoopVerticle control = new LoopVerticle("control loop");
  private volatile @Nullable InstanceWiring parts; // set once the event loops exist
  private final AtomicBoolean closeAsked = new AtomicBoolean();
  private final ServiceNotifier service = ServiceNotifier.ofProcess();
  private final Promise<String> stopAsked = Promise.promise();
  private final @Nullable ServeControl serve; // null: the controller is on another node
  private final ProxyHandlers proxies;
  private final InitialApplications initial;

  private final Set<String> awaited = new HashSet<>(); // applications that do not run yet
  private boolean listening; // confined to the control loop, as the set

  private BerthNode(ServeConfig config, LogFeed log, CompletionStage<String> stop) {
    this.config = config;
    this.log = log;
    this.stop = stop;
    this.cluster = config.cluster();
    String refused = cluster == null ? null : CertificateNames.refusal(cluster, Instant.now());
    if (refused != null) {
      throw new StartFailedException(refused);
    }
    this.identity = Identity.create(cluster);
    this.proxies = new ProxyHandlers(config, identity);
    StateLog declared = stateLog();
    this.beganNanos = identity.now();
    this.threads = new InstanceThreads(identity.nanoClock());
    this.workers = new ApplicationWorkers(config.get(InstanceOptions.APPLICATION_WORKER_THREADS));
    this.transport = IngressTransport.preferred();
    this.meters =
        new Meters(
            identity.node(),
            config.get(HttpOptions.HOST),
            config.get(MetricsOptions.PREFIX),
            cluster != null);
    this.bus =
        cluster == null || !cluster.opensBus()
            ? null
            : BusCluster.of(cluster, identity.node(), identity.nanoClock());
    this.vertx = newVertx();
    if (declared == null) {
      serve = null;
      initial = new InitialApplications();
    } else {
      serve =
          new ServeControl(
              config,
              config.folder(),
              declared,
              threads.commands(),
              control,
              TimeOfDay.of(identity.wallClock()::millis, identity.nanoClock()));
      initial = // reads the code while the event loops start
          new InitialApplications(
              serve,
              threads.commands(),
              threads,
              proxies,
              () -> cluster == null ? List.of() : ClusterIdentity.callers(vertx, cluster));
    }
  }

  /**
   * Starts an instance.
   *
   * @param log log of the process; the admin server shows its last lines
   * @param stop aborts a start that has not finished; its value names the origin of the stop. The
   *     wait of a worker for its controller has no other limit.
   * @return completes when the instance listens and every application runs. Fails after all parts
   *     are released: with {@link StartFailedException} when an application cannot run, else with
   *     the error that kept the instance from listening
   */
  public static Future<BerthNode> start(
      ServeConfig config, LogFeed log, CompletionStage<String> stop) {
    BerthNode node;
    try {
      node = new BerthNode(config, log, stop);
    } catch (StartFailedException refused) {
      return Future.failedFuture(refused);
    }
    if (config.get(InstanceOptions.HALT_ON_FULL_HEAP)) {
      HeapWatch.start(node.vertx, node.closeAsked::get);
    }
    node.begin();
    return node.started.future();
  }

  private boolean isWorker() {
    return cluster != null && cluster.role() == ClusterConfig.ClusterRole.WORKER;
  }

  /** Returns the log of the desired state; null on a worker. */
  private @Nullable StateLog stateLog() {
    if (isWorker()) {
      return null;
    }
    return cluster == null
        ? new JournalLog(config.settings())
        : ConsensusEngine.find().log(ClusterIdentity.consensus(config, cluster, identity));
  }

  private NodeRole role(
      InstanceContext on,
      Function<NodeRole, InstanceRuntime> host,
      @Nullable ClusterMembershipClient side) {
    if (serve == null) {
      return new WorkerRole(on, host, side, threads.commands(), this::drainAsked);
    }
    var parts =
        new LocalController.ControllerRoleParts(on, host, serve, this::announced, this::drainAsked);
    return side == null ? new StandaloneRole(parts) : new ControlRole(parts, side);
  }

  /** Returns the port for clients. */
  public int port() {
    return running().ingress.port();
  }

  /** Returns the port of the admin server. */
  public int adminPort() {
    return running().admin.port();
  }

  /** Returns the parts of the instance, which must have started. */
  InstanceWiring running() {
    return Objects.requireNonNull(parts, "node: not started (expected: a started one)");
  }

  private Vertx newVertx() {
    RequestLocal.prepare();
    VertxOptions options =
        new VertxOptions()
            .setEventLoopPoolSize(
                config.get(InstanceOptions.EVENT_LOOPS)
                    + (cluster == null ? 1 : bus == null ? 2 : 3))
            .setWorkerPoolSize(4) // for user code outside requests; Berth uses none
            .setInternalBlockingPoolSize(20) // for files that handlers read, of all applications
            // LoopWatchVerticle reports a blocked loop sooner, once, and with the handler's name.
            // Vert.x warns once a minute while the loop stays blocked, without its stack.
            .setMaxEventLoopExecuteTime(60)
            .setMaxEventLoopExecuteTimeUnit(TimeUnit.SECONDS)
            .setBlockedThreadCheckInterval(60_000)
            .setWarningExceptionTime(365)
            .setWarningExceptionTimeUnit(TimeUnit.DAYS)
            .setFileSystemOptions(
                new FileSystemOptions()
                    .setFileCachingEnabled(false)
                    .setClassPathResolvingEnabled(false));
    VertxBuilder builder = transport.builder().with(options);
    List<VertxMetrics> counted = config.get(MetricsOptions.VERTX);
    if (!counted.isEmpty()) {
      VertxMeters.into(meters.registry(), counted, options, builder);
    }
    Vertx vertx =
        cluster == null || bus == null
            ? builder.build()
            : ClusteredVertx.build(builder, options, cluster, bus);
    vertx.eventBus().registerDefaultCodec(BusMessage.class, new BusMessageCodec());
    if (bus != null || config.get(InstanceOptions.MESSAGES) == MessageTransport.EVENT_BUS) {
      ApplicationBus.install(vertx.eventBus(), identity.node(), bus, meters);
    }
    return vertx;
  }

  // --- start ---

  /** Begins the start. If the start fails, {@link #end} releases the resources acquired here. */
  private void begin() {
    try {
      held = isWorker() ? LogDirectory.hold(config.get(InstanceOptions.STATE_DIR)) : null;
    } catch (StartFailedException refused) {
      end().onComplete(ended -> started.fail(refused));
      return;
    } catch (IOException failed) {
      String why = "berth.state_dir: " + failed + " (expected: a writable directory)";
      end().onComplete(ended -> started.fail(new StartFailedException(why)));
      return;
    }
    Future<@Nullable ClusterIdentity> terms =
        cluster == null ? Future.succeededFuture() : ClusterIdentity.read(vertx, cluster, bus);
    LoopVerticle links = cluster == null ? null : new LoopVerticle("links loop");
    EventLoops.of(vertx, config.get(InstanceOptions.EVENT_LOOPS), control, links, workers)
        .onFailure(failed -> end().onComplete(ended -> started.fail(failed)))
        .onSuccess(
            loops -> terms.onComplete(read -> step(() -> startParts(loops, read)), this::fail));
  }

  /** Runs a step of the start on the control loop; a step that throws fails the start. */
  private void step(Runnable step) {
    control.execute(
        () -> {
          try {
            step.run();
          } catch (Throwable thrown) { // linkage errors included
            fail(thrown);
          }
        });
  }

  private void startParts(EventLoops loops, @Nullable ClusterIdentity terms) {
    logTransport();
    service.watch(control);
    InstanceContext on =
        new InstanceContext(config, identity, meters, loops, threads, log, proxies, terms);
    InstanceWiring made = new InstanceWiring(on, this::role);
    meters.add(threads::show);
    meters.add(workers::show);
    if (cluster != null) {
      meters.addCounter("berth_handshakes_ended", transport::handshakesEnded);
    }
    parts = made;
    // After the start, the promise is complete: fail() then only closes the instance.
    stop.thenApply(by -> new StartFailedException(by + " arrived before the start was complete"))
        .thenAccept(early -> control.execute(() -> fail(early)));
    // The instance listens only after the code of every application passed the checks of the file.
    made.startCore()
        .compose(core -> initial.read())
        .onComplete(read -> step(() -> serve(made)), this::fail);
  }

  private void serve(InstanceWiring made) {
    assert control.isHere();
    Throwable problem = initial.problem();
    if (problem != null) {
      fail(problem);
    } else if (!closeAsked.get()) {
      awaited.addAll(initial.awaited);
      initial.handTo(made.host.builds);
      made.role
          .start()
          .compose(controls -> made.startEdge(drainLimit()))
          .onComplete(edge -> step(this::listening), this::fail);
    }
  }

  private void logTransport() {
    Throwable cause = transport.notNative();
    String nio = cause == null ? "" : "NIO (" + StartFailedException.describe(cause) + ")";
    LOG.info("transport: {}", cause == null ? transport.name() : nio);
  }

  private void listening() {
    listening = true;
    LOG.info(
        "{} listens on {}:{}, admin on {}:{}, {} event loops",
        identity.node(),
        config.get(HttpOptions.HOST),
        port(),
        config.get(AdminOptions.HOST),
        adminPort(),
        config.get(InstanceOptions.EVENT_LOOPS));
    completeIfStarted();
  }

  private void completeIfStarted() {
    if (listening && awaited.isEmpty() && !closeAsked.get() && started.tryComplete(this)) {
      LOG.info(
          "{} started in {} ms: {}; admin {}",
          identity.node(),
          TimeUnit.NANOSECONDS.toMillis(identity.now() - beganNanos),
          routes(),
          url(AdminOptions.TLS, config.get(AdminOptions.HOST), adminPort()));
      service.ready();
    }
  }

  /** Returns the URLs of at most {@code MOST_ROUTES_SAID} routes, for the log. */
  private String routes() {
    String base =
        url(HttpOptions.SSL_CERTFILE, config.get(HttpOptions.HOST), port())
            + config.get(HttpOptions.ROOT_PATH);
    List<String> prefixes = running().host.routes.prefixes();
    String shown =
        prefixes.stream().limit(MAX_LOGGED_ROUTES).map(base::concat).collect(joining(" "));
    return prefixes.isEmpty() ? base : prefixes.size() > MAX_LOGGED_ROUTES ? shown + " ..." : shown;
  }

  /** Returns a URL that works on this machine; a wildcard host becomes localhost. */
  private String url(ConfigKey<?> tls, String host, int port) {
    boolean every = host.equals("0.0.0.0") || host.equals("::");
    String shown = every ? "localhost" : host.contains(":") ? "[" + host + "]" : host;
    return (config.settings().find(tls) == null ? "http://" : "https://") + shown + ":" + port;
  }

  /** Stops all parts after a failed start, then fails the start with the cause. */
  private void fail(Throwable cause) {
    control.execute(
        () ->
            (parts == null ? endUnwired() : close())
                .onComplete(
                    (ended, second) -> {
                      if (second != null && second != cause) {
                        cause.addSuppressed(second);
                      }
                      started.tryFail(cause);
                    }));
  }

  /**
   * Ends a start that failed before its parts existed: no requests yet, at most an open state log.
   */
  private Future<Void> endUnwired() {
    Future<Void> released = serve == null ? Future.succeededFuture() : serve.close();
    return Future.join(initial.read(), released).eventually(this::end).mapEmpty();
  }

  /** Handles a new state of an application; the start may wait for this application. */
  private void announced(Announce announce) {
    assert control.isHere();
    String name = announce.application();
    ApplicationStatus status = announce.status();
    if (status == ApplicationStatus.RUNNING && awaited.remove(name)) {
      running().host.routes.flush();
      completeIfStarted();
    } else if (status == ApplicationStatus.DEPLOY_FAILED
        && awaited.contains(name)
        && !started.future().isComplete()) {
      fail(new StartFailedException("application " + name + ": " + announce.message()));
    }
  }

  // --- close ---

  /**
   * Drains and stops the instance; a second call waits for the first. Thread-safe.
   *
   * @return completes when all parts have stopped; fails with a {@link TimeoutException} when
   *     requests were still in flight after 90 % of {@code berth.shutdown_timeout_s}
   */
  public Future<Void> close() {
    if (closeAsked.compareAndSet(false, true)) {
      control.execute(this::drain);
    }
    return closed.future();
  }

  /** Begins the drain that an operator requested. */
  private void drainAsked() {
    stopAsked.tryComplete("POST /api/v1/drain");
    close();
  }

  /**
   * Returns a future that completes when an operator's request stops the instance; its value names
   * the request. Thread-safe.
   */
  public Future<String> stopAsked() {
    return stopAsked.future();
  }

  private void drain() {
    assert control.isHere();
    service.stopping();
    running()
        .drain(drainLimit(), listening, initial.read())
        .onComplete(drained -> control.execute(() -> stop(drained.cause())));
  }

  private void stop(@Nullable Throwable notDrained) {
    assert control.isHere();
    if (notDrained != null) {
      LOG.warn("{} stops with unfinished requests: {}", identity.node(), notDrained.toString());
    }
    long left = config.get(InstanceOptions.SHUTDOWN_TIMEOUT_S).minus(drainLimit()).toMillis();
    running()
        .stopOthers()
        .timeout(Math.max(500, left), TimeUnit.MILLISECONDS)
        .onFailure(failed -> LOG.warn("{} not stopped in order", identity.node(), failed))
        .onComplete(
            stopped -> control.execute(() -> completeClose(notDrained))); // completes off the loop
  }

  private void completeClose(@Nullable Throwable notDrained) {
    end()
        .onComplete(
            ended -> {
              LOG.info("{} stopped", identity.node());
              closed.complete(null, notDrained);
            });
  }

  /** Releases the remaining resources: threads, jars, event loops. */
  private Future<Void> end() {
    closeAsked.set(true); // else the heap watch takes the end of a loop for a full heap
    threads.stop();
    workers.stop();
    if (parts != null) {
      parts.host.builds.closeAll();
    }
    initial.close();
    return vertx.close().onComplete(closed -> release());
  }

  private void release() {
    try (LogDirectory given = held) {
      LOG.debug("state directory: released: {}", given);
    } catch (IOException failed) {
      LOG.warn("state directory: not released", failed);
    }
  }

  private Duration drainLimit() {
    return Duration.ofNanos(
        (long) (config.get(InstanceOptions.SHUTDOWN_TIMEOUT_S).toNanos() * DRAIN_SHARE));
  }
}
