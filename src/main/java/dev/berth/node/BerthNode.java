package dev.berth.node;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.Problem;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.ingress.IngressTransport;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessageCodec;
import dev.berth.protocol.port.LogFeed;
import dev.berth.replica.HandlerPorts;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One instance's life: starts its parts, loads its applications, routes each as soon as it runs,
 * and drains. Its state belongs to the control loop.
 *
 * <pre>
 *   start: event loops, core; beside them each application's code: found -> built
 *          -> listening; beside it each application: replicas -> routed
 *   close: notice -> no new connections -> requests under way end -> replicas drain -> the rest
 * </pre>
 */
public final class BerthNode {
  private static final Logger LOG = LoggerFactory.getLogger(BerthNode.class);

  /** Of the time an instance may take to stop, what draining may use; the rest is for closing. */
  private static final double DRAIN_SHARE = 0.9;

  /** How long clients are told of a drain before the listener and idle connections close. */
  private static final Duration NOTICE = Duration.ofMillis(250);

  private final ServeConfig config;
  private final LogFeed log;
  private final Identity identity = Identity.create();
  private final long beganNanos = identity.now();
  private final ThreadPoolExecutor offLoop = offLoopThreads();
  private final IngressTransport transport;
  private final ThreadPoolExecutor healthThreads = healthThreads();
  private final Vertx vertx;
  private final Promise<BerthNode> started = Promise.promise();
  private final Promise<Void> closed = Promise.promise();
  private volatile @Nullable LoopVerticle control; // once the event loops are there
  private volatile @Nullable InstanceParts parts; // likewise
  private final AtomicBoolean closeAsked = new AtomicBoolean();

  // The control loop's.
  private final Set<String> declared = new HashSet<>();
  private final Promise<Void> allGone = Promise.promise(); // applications, when closing
  private int loading; // applications
  private int awaited; // applications that do not run yet
  private boolean listening;
  private boolean closing;
  private boolean withdrawn;

  private BerthNode(ServeConfig config, LogFeed log) {
    this.config = config;
    this.log = log;
    this.transport = IngressTransport.preferred();
    this.vertx = newVertx(config.berth().eventLoops() + 1, transport);
    this.loading = config.applications().size();
    this.awaited = loading;
  }

  /**
   * Starts an instance.
   *
   * @return completes when it listens and every application runs; fails, with nothing left of it,
   *     with {@link StartFailedException} when an application cannot run, else with what kept the
   *     instance from listening
   */
  public static Future<BerthNode> start(ServeConfig config) {
    return start(config, LogFeed.NONE);
  }

  /**
   * As the other.
   *
   * @param log of the process, whose last lines the admin server shows
   */
  public static Future<BerthNode> start(ServeConfig config, LogFeed log) {
    BerthNode node = new BerthNode(config, log);
    node.begin();
    return node.started.future();
  }

  /** The port it serves on. */
  public int port() {
    return running().ingress().port();
  }

  /** The port of its admin server. */
  public int adminPort() {
    return running().adminPort();
  }

  private InstanceParts running() {
    return Objects.requireNonNull(parts, "node: not started (expected: a started one)");
  }

  private static Vertx newVertx(int eventLoops, IngressTransport transport) {
    Vertx vertx =
        transport
            .builder()
            .with(
                new VertxOptions()
                    .setEventLoopPoolSize(eventLoops)
                    .setWorkerPoolSize(4) // reads of the admin server
                    .setInternalBlockingPoolSize(4)
                    // LoopWatchVerticle says so sooner, once, and with the handler's name.
                    .setMaxEventLoopExecuteTime(60)
                    .setMaxEventLoopExecuteTimeUnit(TimeUnit.SECONDS)
                    .setFileSystemOptions(
                        new FileSystemOptions()
                            .setFileCachingEnabled(false)
                            .setClassPathResolvingEnabled(false)))
            .build();
    vertx.eventBus().registerDefaultCodec(BusMessage.class, new BusMessageCodec());
    return vertx;
  }

  /** Threads that load applications, and make and stop handlers; they end when idle. */
  private static ThreadPoolExecutor offLoopThreads() {
    int threads = Math.max(4, Runtime.getRuntime().availableProcessors());
    AtomicInteger made = new AtomicInteger();
    ThreadPoolExecutor executor =
        new ThreadPoolExecutor(
            threads,
            threads,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(), // bounded by the replicas of the instance
            task -> {
              Thread thread = new Thread(task, "berth-off-loop-" + made.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    executor.allowCoreThreadTimeOut(true);
    return executor;
  }

  /** As many as health checks run at a time: at most one for each replica. */
  private static ThreadPoolExecutor healthThreads() {
    AtomicInteger made = new AtomicInteger();
    return new ThreadPoolExecutor(
        0,
        Integer.MAX_VALUE, // bounded by the replicas of the instance
        10,
        TimeUnit.SECONDS,
        new SynchronousQueue<>(),
        task -> {
          Thread thread = new Thread(task, "berth-health-" + made.incrementAndGet());
          thread.setDaemon(true);
          return thread;
        });
  }

  // --- start ---

  private void begin() {
    // Code is read while the event loops are made: neither needs the other.
    Map<ApplicationConfig, Future<LoadedApplication>> loads = new LinkedHashMap<>();
    for (ApplicationConfig application : config.applications()) {
      Promise<LoadedApplication> loaded = Promise.promise();
      loads.put(application, loaded.future());
      offLoop.execute(
          () -> {
            try {
              loaded.complete(ApplicationLoader.load(application, config));
            } catch (Throwable thrown) { // user code
              loaded.fail(thrown);
            }
          });
    }
    EventLoops.of(vertx, config.berth().eventLoops())
        .onComplete(
            loops -> loops.control().execute(() -> startParts(loops, loads)),
            failed -> end().onComplete(ended -> started.fail(failed)));
  }

  private void startParts(
      EventLoops loops, Map<ApplicationConfig, Future<LoadedApplication>> loads) {
    control = loops.control();
    logTransport();
    InstanceParts made =
        new InstanceParts(
            config,
            identity,
            vertx,
            loops,
            offLoop,
            new HandlerPorts(InstantSource.system(), healthThreads),
            (application, revision) -> null, // there is no revision but the file's
            log,
            this::apply);
    parts = made;
    made.startCore()
        .onComplete(
            core -> onControl(() -> serve(made, loads)),
            failed -> {
              loads.forEach(this::whenLoaded); // a close waits for them all
              fail(failed);
            });
  }

  private void serve(InstanceParts made, Map<ApplicationConfig, Future<LoadedApplication>> loads) {
    // Nothing listens before every application's code is found fit for what the file says.
    Future.join(List.copyOf(loads.values()))
        .onComplete(all -> onControl(() -> serveLoaded(made, loads)));
  }

  private void serveLoaded(
      InstanceParts made, Map<ApplicationConfig, Future<LoadedApplication>> loads) {
    List<Problem> problems =
        loads.values().stream()
            .filter(load -> load.cause() instanceof ConfigException)
            .flatMap(load -> ((ConfigException) load.cause()).problems().stream())
            .toList();
    if (!problems.isEmpty()) {
      fail(new ConfigException(problems)); // of all applications; it wins over what follows
    }
    loads.forEach(this::whenLoaded);
    if (loads.values().stream().allMatch(Future::succeeded)) {
      made.startEdge(drainLimit()).onComplete(edge -> onControl(this::listening), this::fail);
    }
  }

  private void whenLoaded(ApplicationConfig application, Future<LoadedApplication> load) {
    load.onComplete(
        loaded -> onControl(() -> loaded(loaded)),
        failed -> onControl(() -> loadFailed(application, failed)));
  }

  private void logTransport() {
    Throwable cause = transport.notNative();
    if (cause == null) {
      LOG.info("transport: {}", transport.name());
    } else {
      LOG.info("transport: NIO ({})", StartFailedException.describe(cause));
    }
  }

  private void listening() {
    listening = true;
    LOG.info(
        "{} listens on {}:{}, admin on {}:{}, {} event loops, after {} ms",
        identity.node(),
        config.httpOptions().host(),
        port(),
        config.berth().admin().host(),
        adminPort(),
        config.berth().eventLoops(),
        millisSinceStart());
    completeIfStarted();
  }

  private void loaded(LoadedApplication application) {
    loading--;
    running().builds().readEarly(application.name(), Future.succeededFuture(application));
    if (closeAsked.get()) {
      completeIfGone();
      return;
    }
    declared.add(application.name());
    running()
        .tell(
            new ControllerEvent.Declared(
                new DeclaredApplication(
                    application.name(),
                    1,
                    application.config().routePrefix(),
                    "{}",
                    false,
                    System.currentTimeMillis(),
                    null,
                    Map.of())));
  }

  private void loadFailed(ApplicationConfig application, Throwable failed) {
    loading--;
    boolean expected = failed instanceof StartFailedException || failed instanceof ConfigException;
    if (!expected) {
      LOG.error("application {} cannot be loaded", application.name(), failed);
    }
    fail(
        expected
            ? failed
            : new StartFailedException(
                "application "
                    + application.name()
                    + ": import_path: "
                    + application.importPath()
                    + ": "
                    + StartFailedException.describe(failed)));
    completeIfGone();
  }

  private void completeIfStarted() {
    if (listening && awaited == 0 && !closing && started.tryComplete(this)) {
      LOG.info("{} started in {} ms", identity.node(), millisSinceStart());
    }
  }

  /** The start failed: takes everything down again, then says why. */
  private void fail(Throwable cause) {
    close()
        .onComplete(
            ended -> started.tryFail(cause),
            second -> {
              if (second != cause) {
                cause.addSuppressed(second);
              }
              started.tryFail(cause);
            });
  }

  private long millisSinceStart() {
    return TimeUnit.NANOSECONDS.toMillis(identity.now() - beganNanos);
  }

  // --- what the controller wants ---

  private void apply(ControllerAction action) {
    if (action instanceof ControllerAction.StartReplica start) {
      running().replicas().start(start);
    } else if (action instanceof ControllerAction.StopReplica stop) {
      running().replicas().stop(stop);
    } else if (action instanceof ControllerAction.Publish publish) {
      running().routers().update(publish.snapshot());
    } else if (action instanceof ControllerAction.Build build) {
      running().builds().build(build);
    } else if (action instanceof ControllerAction.DiscardBuild discard) {
      running().builds().discard(discard);
    } else if (action instanceof ControllerAction.Configure configure) {
      running().replicas().configure(configure);
    } else if (action instanceof ControllerAction.Forget forget) {
      running().replicas().forget(forget);
    } else if (action instanceof ControllerAction.RouteTo route) {
      running().routes().route(route);
    } else if (action instanceof ControllerAction.Unroute route) {
      running().routes().unroute(route);
    } else if (action instanceof ControllerAction.Announce announce) {
      announced(announce);
    }
  }

  private void announced(ControllerAction.Announce announce) {
    String name = announce.application();
    switch (announce.status()) {
      case RUNNING -> {
        LOG.info("application {} runs, after {} ms", name, millisSinceStart());
        awaited--;
        completeIfStarted();
      }
      case DEPLOY_FAILED -> {
        StartFailedException cause =
            new StartFailedException("application " + name + ": " + announce.message());
        if (started.future().isComplete()) {
          LOG.error("{}", cause.getMessage());
        } else {
          fail(cause);
        }
      }
      case NOT_STARTED -> {
        LOG.info("application {} stopped", name);
        declared.remove(name);
        completeIfGone();
      }
      case DEPLOYING, DELETING, UNHEALTHY ->
          LOG.debug("application {}: {}", name, announce.status());
    }
  }

  // --- close ---

  /**
   * Drains and stops the instance; a second call waits for the first. Any thread.
   *
   * @return completes when nothing of it is left; fails with a {@link TimeoutException} when it had
   *     to be stopped with requests under way, since {@code berth.shutdown_timeout_s} was over
   */
  public Future<Void> close() {
    LoopVerticle loop = Objects.requireNonNull(control, "node: not started (expected: started)");
    if (closeAsked.compareAndSet(false, true)) {
      loop.execute(this::drain);
    }
    return closed.future();
  }

  private void drain() {
    closing = true;
    InstanceParts all = running();
    all.reservations().drain();
    all.ingress().drain();
    all.replicas().drainStarts();
    // Every answer now says that its connection will close. Who is about to send on a connection
    // that is idle for an instant learns it so, and is not cut off.
    Promise<Void> told = Promise.promise();
    vertx.setTimer(listening ? noticeMillis() : 1, passed -> told.complete());
    Future<Void> answered =
        told.future()
            .compose(passed -> all.reservationsOver(drainLimit().dividedBy(2)))
            .compose(over -> all.stopIngress());
    // A request may need replicas that are not its own, so these stay until all requests have
    // ended, or the longest grace has.
    Promise<Void> replicasMayGo = Promise.promise();
    answered.onComplete(ended -> replicasMayGo.tryComplete());
    long grace =
        vertx.setTimer(
            Math.max(1, all.replicas().longestGrace().toMillis()),
            passed -> replicasMayGo.tryComplete());
    replicasMayGo
        .future()
        .onComplete(
            ended -> {
              vertx.cancelTimer(grace);
              onControl(this::withdrawAll);
            });
    Future.join(answered, allGone.future())
        .timeout(drainLimit().toMillis(), TimeUnit.MILLISECONDS)
        .onComplete(drained -> onControl(() -> stop(drained.cause())));
  }

  private long noticeMillis() {
    return Math.min(NOTICE.toMillis(), Math.max(1, drainLimit().toMillis() / 10));
  }

  private void withdrawAll() {
    withdrawn = true;
    declared.forEach(name -> running().tell(new ControllerEvent.Withdrawn(name)));
    completeIfGone();
  }

  private void completeIfGone() {
    if (withdrawn && loading == 0 && declared.isEmpty()) {
      allGone.tryComplete();
    }
  }

  private void stop(@Nullable Throwable notDrained) {
    if (notDrained != null) {
      LOG.warn("{} stops before everything has ended: {}", identity.node(), notDrained.toString());
    }
    long left = config.berth().shutdownTimeout().minus(drainLimit()).toMillis();
    running()
        .stopOthers()
        .timeout(Math.max(500, left), TimeUnit.MILLISECONDS)
        .onFailure(failed -> LOG.warn("{} did not stop in order", identity.node(), failed))
        .eventually(this::end)
        .onComplete(
            ended -> {
              LOG.info("{} stopped", identity.node());
              if (notDrained == null) {
                closed.complete();
              } else {
                closed.fail(notDrained);
              }
            });
  }

  private void onControl(Runnable task) {
    Objects.requireNonNull(control).execute(task);
  }

  /** Gives back what is left: threads, jars, event loops. */
  private Future<Void> end() {
    offLoop.shutdownNow();
    healthThreads.shutdownNow();
    InstanceParts all = parts;
    if (all != null) {
      all.builds().closeAll();
    }
    return vertx.close();
  }

  private Duration drainLimit() {
    return Duration.ofNanos((long) (config.berth().shutdownTimeout().toNanos() * DRAIN_SHARE));
  }
}
