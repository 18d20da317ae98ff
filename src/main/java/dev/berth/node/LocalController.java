package dev.berth.node;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.JarRoutes;
import dev.berth.admin.live.LiveState;
import dev.berth.api.DeploymentId;
import dev.berth.cluster.http.BuildRoutes;
import dev.berth.code.BuildCache;
import dev.berth.code.LoadedApplication;
import dev.berth.code.PolicyInvoker;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.InstanceOptions;
import dev.berth.config.MetricsOptions;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.Recovered;
import dev.berth.controller.ControllerAction.ResolveUpstream;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Declared;
import dev.berth.controller.ControllerEvent.UpstreamResolved;
import dev.berth.controller.ControllerPorts;
import dev.berth.controller.ControllerVerticle;
import dev.berth.controller.Epoch;
import dev.berth.controller.RoutingPublisher;
import dev.berth.controller.ScalingView;
import dev.berth.desired.CommandQueue;
import dev.berth.desired.DesiredState;
import dev.berth.desired.ServeControl;
import dev.berth.metrics.Meters;
import dev.berth.node.InstanceRuntime.InstanceContext;
import dev.berth.node.loops.EventBusSender;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.node.scaling.ScalingJson;
import dev.berth.node.scaling.ScalingWatch;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.upstream.client.NameAddresses;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ClusterDetails;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import dev.berth.view.ServeDetails;
import io.vertx.core.Future;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ObjIntConsumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A role whose controller is on this instance. It commands this node; a subclass may add others.
 *
 * <p><b>State.</b> One controller at a time, and none between two. The next one has a later term,
 * and receives the declared and the hosted state before it decides, so requests and replicas
 * continue. Events between two controllers are dropped: the next controller receives their outcome.
 *
 * <p><b>Concurrency.</b> Confined to the control loop, unless a method states otherwise.
 *
 * <p><b>Failure.</b> A controller that failed is followed by another; the wait before it doubles
 * with each failure.
 */
abstract class LocalController implements NodeRole, ServeControl.ControllerOperations {
  /**
   * Options of requests: the timeout is shorter than the time after which a pusher drops its batch.
   */
  private static final DeliveryOptions ANSWERED =
      new DeliveryOptions(EventBusSender.LOCAL).setSendTimeout(1_500);

  private static final Logger LOG = LoggerFactory.getLogger(LocalController.class);

  /** Bounds, in ms, of the wait before a failed controller is replaced. */
  private static final long MIN_WAIT_MS = 50;

  private static final long MAX_WAIT_MS = 30_000;

  /** Run time, in ns, after which a later failure counts as the first one of a new series. */
  private static final long WELL_NANOS = TimeUnit.SECONDS.toNanos(60);

  /**
   * The parts of a role with a controller.
   *
   * @param hosts creates the host that the controller commands
   * @param serve the desired state, and the commands of operators
   * @param announced receives the states of applications
   * @param drainAsked begins the drain of the instance
   */
  record ControllerRoleParts(
      InstanceContext on,
      Function<NodeRole, InstanceRuntime> hosts,
      ServeControl serve,
      Consumer<Announce> announced,
      Runnable drainAsked) {}

  final InstanceContext on;
  final LoopVerticle control;
  final ServeControl serve;
  private final InstanceRuntime host;
  private final ControllerRoleParts parts;
  private final RandomGenerator random;
  private final PolicyInvoker policies;
  private final TransitionLog transitions = new TransitionLog();
  private final ScalingWatch scaling;
  final ControllerActionExecutor actions;

  private RoutingPublisher publisher; // of the current or the first controller
  private @Nullable ControllerVerticle current;
  private Future<Void> changing = Future.succeededFuture(); // last start or stop of a controller
  private long lastTerm;
  private long beganNanos;
  private int failures; // in a row
  private boolean draining;
  private volatile long restarts;
  private Consumer<HandleMetricBatch> reports = batch -> {};

  LocalController(ControllerRoleParts parts) {
    this.parts = parts;
    on = parts.on();
    control = on.loops().control();
    serve = parts.serve();
    host = parts.hosts().apply(this);
    Identity identity = on.identity();
    random = identity.seeded();
    publisher = publisher(0);
    policies =
        new PolicyInvoker(on.threads(), control, host.builds, this::tell, identity.nanoClock());
    actions =
        ControllerActionExecutor.ofController(
                host.actions.gate(), transitions, policies, () -> publisher, serve, this::command)
            .on(Announce.class, this::announced)
            .on(Recovered.class, this::onRecovered)
            .on(ResolveUpstream.class, this::resolve);
    scaling =
        new ScalingWatch(
            on.config().get(InstanceOptions.AUTOSCALING),
            identity.wallClock()::millis,
            silenceNanos());
    serve.connect(this);
  }

  // --- requests of operators ---

  @Override
  public Future<ServeDetails> details(@Nullable Double targetCapacity, @Nullable String stateDir) {
    return Future.succeededFuture(
        controller().details(targetCapacity, stateDir, on.identity().now()));
  }

  @Override
  public @Nullable Supplier<JsonObject> autoscaling(DeploymentId deployment) {
    long now = on.identity().now();
    ScalingView view = controller().autoscaling(deployment, now);
    return view == null ? null : () -> ScalingJson.of(view, now);
  }

  @Override
  public @Nullable Map<String, Boolean> deployments(String application) {
    ApplicationDetails known = controller().details(application);
    if (known == null) {
      return null;
    }
    String follows = DeploymentConfig.AUTOSCALING_CONFIG.name();
    Map<String, Boolean> all = new LinkedHashMap<>();
    known.deployments().forEach(each -> all.put(each.name(), each.config().containsKey(follows)));
    return all;
  }

  @Override
  public Set<Path> jarsInUse() {
    return host.builds.jarsInUse();
  }

  private Controller controller() {
    return current()
        .orElseThrow(
            () -> CommandRejectedException.unavailable("controller: none (expected: try again)"));
  }

  private Optional<Controller> current() {
    assert control.isHere();
    return Optional.ofNullable(current).map(ControllerVerticle::controller);
  }

  @Override
  public Future<Void> drain() {
    parts.drainAsked().run();
    return Future.succeededFuture();
  }

  // --- parts ---

  @Override
  public void onCodeUnused(LoadedApplication code) {
    policies.onBuildClosed(code);
    serve.removeUnusedJars();
  }

  /** Creates a controller of an epoch. */
  Controller controller(Epoch epoch) {
    return new Controller(
        new ControllerPorts(
            epoch,
            this::replicaId,
            host.replicas::ongoing,
            random::nextDouble,
            on.identity().wallClock()::millis,
            silenceNanos(),
            leaseMillis(),
            DeploymentConfig::ofRay));
  }

  /** Returns the lease of owners of upstreams, in milliseconds; 0 for never. */
  long leaseMillis() {
    return 0;
  }

  private long silenceNanos() {
    return Controller.silenceNanos(on.config().get(MetricsOptions.PUSH_INTERVAL_MS));
  }

  private RoutingPublisher publisher(long term) {
    return new RoutingPublisher(term, host.deployments::isWanted, this::send);
  }

  /** Returns {@code application#deployment#suffix}, as Ray Serve names replicas. */
  private String replicaId(DeploymentId deployment) {
    return deployment
        + "#"
        + Long.toString(random.nextLong(1L << 40, 1L << 41), Character.MAX_RADIX);
  }

  @Override
  public List<AdminRoutes> operators(Function<ControllerCommands, AdminRoutes> here) {
    JarRoutes jars = new JarRoutes(serve.jars());
    jars.show(on.meters());
    return List.of(here.apply(serve.commands()), jars, new BuildRoutes(this::source));
  }

  private void report(ControllerAction action) {
    if (action instanceof ControllerAction.Reported reported) {
      reports.accept(reported.batch());
    }
  }

  @Override
  public void onReports(Consumer<HandleMetricBatch> receiver) {
    reports = receiver;
  }

  // --- live feed ---

  @Override
  public LiveState.ControllerState controllerState() {
    return new LocalControllerState(this, controller(), on.identity().now());
  }

  @Override
  public @Nullable String missingController() {
    return current().isPresent() ? null : "controller: none (expected: try again)";
  }

  @Override
  public void forEachTarget(ObjIntConsumer<DeploymentId> action) {
    current().ifPresent(now -> now.forEachTarget(action));
  }

  /** Returns the members of the cluster; null without a cluster. */
  Future<@Nullable ClusterDetails> clusterDetails() {
    return Future.succeededFuture();
  }

  /** Returns the replica counts of all deployments, by bus name of the node. */
  Map<String, Integer> replicas() {
    return current().map(Controller::replicas).orElse(Map.of());
  }

  /** Returns the names of the applications that the controller knows. */
  Collection<String> applications() {
    return current().map(now -> List.copyOf(now.applications().keySet())).orElse(List.of());
  }

  private Future<BuildSource> source(String application, String build) {
    ApplicationConfig config = host.builds.config(application, build);
    String none = "build: %s of %s (expected: a stored build)";
    return config == null
        ? Future.failedFuture(CommandRejectedException.notFound(none, build, application))
        : serve.source(config);
  }

  /** Starts the controller, which starts what is declared. */
  @Override
  public Future<Void> start() {
    Meters meters = on.meters();
    meters.add(scaling::show);
    meters.add(transitions::show);
    meters.add(
        into -> {
          into.gauge("berth_commands_waiting", serve.waitingCommands(), CommandQueue.MAX_COMMANDS);
          into.gauge("berth_history_chars", serve.historyChars(), ServeControl.MAX_HISTORY_CHARS);
          into.gauge(
              "berth_idempotent_answers", serve.logged().keptAnswers(), DesiredState.MAX_RESULTS);
          into.counter("berth_controller_restarts", restarts);
          into.counter("berth_state_changes_not_stored", serve.notStored());
        });
    serve.endpointSplits().forEach(host.routes::split);
    return start(serve.logged().term());
  }

  // --- lifecycle of the controller ---

  private Future<Void> start(long wanted) {
    assert control.isHere();
    long term = Math.max(wanted, lastTerm + 1); // later than the last, even if that was not logged
    lastTerm = term;
    Epoch epoch = new Epoch(serve.nodes().generation(), term, on.identity().node());
    Controller made = controller(epoch);
    ControllerVerticle verticle =
        new ControllerVerticle(
            made,
            on.identity().nanoClock(),
            actions.andThen(scaling).andThen(this::report),
            message -> publisher.on(message),
            thrown -> onControllerFailed(made, thrown));
    beganNanos = on.identity().now();
    made.recover(nodes(), beganNanos);
    return control
        .deploy(verticle)
        .map(
            deployed -> {
              current = verticle;
              publisher = publisher(epoch.number());
              nodes().forEach(publisher::greet);
              serve.applications().forEach(each -> verticle.on(new Declared(each)));
              tellHosted(verticle::on);
              return null;
            });
  }

  /** Replaces the controller by one of a later term; completes when the new one has started. */
  @Override
  public Future<Void> restart(long term) {
    assert control.isHere();
    if (draining) {
      return Future.failedFuture(
          "controller: stopping (expected: an instance that is not draining)");
    }
    restarts++;
    changing = changing.otherwiseEmpty().compose(before -> end()).compose(ended -> start(term));
    return changing;
  }

  private Future<Void> end() {
    ControllerVerticle ending = current;
    current = null;
    return ending == null ? Future.succeededFuture() : control.undeploy(ending);
  }

  private void onControllerFailed(Controller which, Throwable thrown) {
    if (on.identity().now() - beganNanos > WELL_NANOS) {
      failures = 0;
    }
    long wait = Math.min(MAX_WAIT_MS, MIN_WAIT_MS << Math.min(failures, 16));
    failures++;
    LOG.error("controller failed: restarting it in {} ms", wait, thrown);
    control.home().setTimer(wait, over -> follow(which));
  }

  private void follow(Controller failed) {
    if (current().filter(now -> now == failed).isPresent() && !draining) {
      serve
          .commands()
          .restartController()
          .recover(notKept -> restart(lastTerm + 1))
          .onFailure(no -> LOG.error("controller not restarted", no));
    }
  }

  // --- commanded nodes: this one ---

  /** Runs a command on its instance, or on all, after the earlier commands. */
  void command(Command command) {
    host.actions.accept(command);
  }

  /** Sends a message, which may be lost, to the routers of an instance. */
  void send(String node, BusMessage message) {
    bus().send(BusAddresses.routing(node), message, EventBusSender.LOCAL);
  }

  /** Returns the nodes whose inventory a new controller waits for. */
  Collection<String> nodes() {
    return List.of(on.identity().node());
  }

  /** Sends the hosted state to a new controller, after the declared state. */
  void tellHosted(Consumer<ControllerEvent> controller) {
    host.builds.closeEarly(); // the controller has requested every build that it needs
    controller.accept(host.inventory());
  }

  /** Handles the end of a recovery: discards the builds that the controller does not need. */
  void onRecovered(Recovered known) {
    host.builds.keepOnly(known.builds());
  }

  private void resolve(ResolveUpstream of) {
    NameAddresses.find(control.home(), of.name())
        .onSuccess(found -> tell(new UpstreamResolved(of.name(), found, "")))
        .onFailure(
            failed -> tell(new UpstreamResolved(of.name(), List.of(), "" + failed.getMessage())));
  }

  /** Returns whether the instance stops. */
  boolean isDraining() {
    return draining;
  }

  /** Passes on the new state of an application. */
  void announced(Announce state) {
    parts.announced().accept(state);
  }

  // --- events of this instance ---

  @Override
  public InstanceRuntime host() {
    return host;
  }

  @Override
  public BuildCache.@Nullable BuildInputs find(String application, long revision) {
    return serve.find(application, revision);
  }

  @Override
  public void tell(ControllerEvent event) {
    control.execute(
        () -> {
          if (current != null) {
            current.on(event);
          }
        });
  }

  @Override
  public void send(BusMessage message) {
    bus().send(BusAddresses.CONTROLLER, message, EventBusSender.LOCAL);
  }

  @Override
  public Future<Long> ask(BusMessage message) {
    return bus().<Long>request(BusAddresses.CONTROLLER, message, ANSWERED).map(Message::body);
  }

  private EventBus bus() {
    return on.vertx().eventBus();
  }

  // --- drain and stop ---

  @Override
  public Future<Void> drains() {
    serve.refuse("the instance is stopping (expected: a running instance)");
    draining = true;
    transitions.drains();
    return Future.succeededFuture();
  }

  @Override
  public Future<Void> stop() {
    draining = true;
    return changing.otherwiseEmpty().compose(before -> end()).eventually(scaling::stop);
  }
}
