package dev.berth.node;

import static java.util.stream.Collectors.toCollection;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.JarRoutes;
import dev.berth.api.DeploymentId;
import dev.berth.cluster.http.BuildRoutes;
import dev.berth.code.LoadedApplication;
import dev.berth.code.Policies;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.InstanceOptions;
import dev.berth.config.MetricsOptions;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Declared;
import dev.berth.controller.ControllerPorts;
import dev.berth.controller.Epoch;
import dev.berth.controller.ScalingView;
import dev.berth.desired.CommandQueue;
import dev.berth.desired.DesiredState;
import dev.berth.desired.ServeControl;
import dev.berth.metrics.Meters;
import dev.berth.node.loops.EventBusSender;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.node.scaling.ScalingJson;
import dev.berth.node.scaling.ScalingWatch;
import dev.berth.protocol.Addresses;
import dev.berth.protocol.ApplicationDetails;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.DeploymentDetails;
import dev.berth.protocol.ServeDetails;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.ControllerCommands;
import io.vertx.core.Future;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The controller of this instance, with the commands of operators and the actions that it takes.
 * Confined to the control loop.
 */
final class LocalController implements Commander, ServeControl.Controls {
  /** For what is answered: shorter than the time after which a pusher gives its batch up. */
  private static final DeliveryOptions ANSWERED =
      new DeliveryOptions(EventBusSender.LOCAL).setSendTimeout(1_500);

  private final InstanceHost.Instance on;
  private final InstanceHost host;
  private final ServeControl serve;
  private final Nodes nodes;
  private final Runnable drainAsked;
  private final LongSupplier wallMillis;
  private final Policies policies;
  private final TransitionLog transitions = new TransitionLog();
  private final ScalingWatch scaling;
  private final ControlPlane plane;

  /**
   * @param host does here what instances are to do
   * @param serve what the controller is to keep true, and the commands of operators
   * @param nodes makes those that the controller commands
   * @param announced receives the states of applications
   * @param drainAsked begins the drain of the instance
   */
  LocalController(
      InstanceHost.Instance on,
      InstanceHost host,
      ServeControl serve,
      Function<Commander, Nodes> nodes,
      Consumer<Announce> announced,
      Runnable drainAsked) {
    this.on = on;
    this.host = host;
    this.serve = serve;
    this.nodes = nodes.apply(this);
    this.drainAsked = drainAsked;
    this.wallMillis = on.identity().wallClock()::millis;
    LoopVerticle control = on.loops().control();
    policies =
        new Policies(on.threads(), control, host.builds, this::tell, on.identity().nanoClock());
    RoutingLink routing =
        new RoutingLink(this.nodes::send, this.nodes::known, host.deployments::isWanted);
    ControllerActions actions =
        new ControllerActions(
            host.actions.gate(),
            transitions,
            policies,
            routing,
            serve,
            state -> {
              this.nodes.announced(state);
              announced.accept(state);
            },
            recovered -> {
              host.builds.keepOnly(recovered.builds());
              this.nodes.recovered();
            },
            this.nodes::command);
    scaling =
        new ScalingWatch(
            on.config().get(InstanceOptions.AUTOSCALING),
            wallMillis,
            Controller.silenceNanos(on.config().get(MetricsOptions.PUSH_INTERVAL_MS)));
    RandomGenerator random = on.identity().seeded();
    plane =
        new ControlPlane(
            control,
            term -> new Epoch(serve.nodes().generation(), term, on.identity().node()),
            on.identity().nanoClock(),
            epoch -> controller(epoch, random),
            this::tellKnown,
            serve.commands()::restartController,
            actions.andThen(scaling),
            routing);
    serve.connect(this);
  }

  // --- what operators ask ---

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
  public @Nullable Set<String> deployments(String application) {
    ApplicationDetails known = controller().details(application);
    return known == null
        ? null
        : known.deployments().stream()
            .map(DeploymentDetails::name)
            .collect(toCollection(LinkedHashSet::new));
  }

  @Override
  public boolean autoscales(DeploymentId id) {
    ApplicationDetails known = controller().details(id.application());
    return known != null
        && known.deployments().stream()
            .filter(each -> each.name().equals(id.name()))
            .anyMatch(
                each -> each.config().containsKey(DeploymentConfig.AUTOSCALING_CONFIG.name()));
  }

  @Override
  public Set<Path> jarsInUse() {
    return host.builds.jarsInUse();
  }

  private Controller controller() {
    Controller now = plane.controller();
    if (now == null) {
      throw new CommandRefused(
          CommandRefused.Kind.UNAVAILABLE, "controller: none (expected: one, in a moment)");
    }
    return now;
  }

  @Override
  public Future<Void> restart(long term) {
    return plane.restart(term);
  }

  @Override
  public Future<Void> drain() {
    drainAsked.run();
    return Future.succeededFuture();
  }

  // --- its parts ---

  @Override
  public void gone(LoadedApplication code) {
    policies.gone(code);
    serve.removeUnusedJars();
  }

  private Controller controller(Epoch epoch, RandomGenerator random) {
    return new Controller(
        new ControllerPorts(
            epoch,
            deployment -> replicaId(deployment, random),
            host.replicas::ongoing,
            random::nextDouble,
            wallMillis,
            Controller.silenceNanos(on.config().get(MetricsOptions.PUSH_INTERVAL_MS)),
            DeploymentConfig::ofRay));
  }

  private void tellKnown(Consumer<ControllerEvent> controller) {
    serve.applications().forEach(each -> controller.accept(new Declared(each)));
    nodes.tell(controller);
  }

  /** {@code application#deployment#suffix}, as Ray Serve names replicas. */
  private static String replicaId(DeploymentId deployment, RandomGenerator random) {
    return deployment
        + "#"
        + Long.toString(random.nextLong(1L << 40, 1L << 41), Character.MAX_RADIX);
  }

  @Override
  public List<AdminRoutes> operators(Function<ControllerCommands, AdminRoutes> here) {
    JarRoutes jars = new JarRoutes(serve.jars());
    jars.show(on.meters());
    List<AdminRoutes> routes = new ArrayList<>(nodes.operators(this::replicas));
    routes.add(here.apply(serve.commands()));
    routes.add(jars);
    routes.add(new BuildRoutes(this::source));
    return routes;
  }

  private Map<String, Integer> replicas() {
    Controller controller = plane.controller();
    return controller == null ? Map.of() : controller.replicas();
  }

  private Future<BuildSource> source(String application, String build) {
    ApplicationConfig config = host.builds.config(application, build);
    String none = "build: %s of %s (expected: one that is held)".formatted(build, application);
    return config == null
        ? Future.failedFuture(new CommandRefused(CommandRefused.Kind.NOT_FOUND, none))
        : serve.jars().source(config);
  }

  @Override
  public List<AdminRoutes> forwarded() {
    return List.of();
  }

  /** Starts the controller, which starts what is declared. */
  @Override
  public Future<Void> start() {
    Meters meters = on.meters();
    meters.add(scaling::show);
    meters.add(
        into -> {
          into.gauge("berth_commands_waiting", serve.waitingCommands(), CommandQueue.MOST_COMMANDS);
          into.gauge("berth_history_chars", serve.historyChars(), ServeControl.MOST_HISTORY_CHARS);
          into.gauge("berth_idempotent_answers", serve.keptAnswers(), DesiredState.MOST_ANSWERS);
          into.counter("berth_controller_restarts", plane.restarts());
        });
    return plane.start(serve.term()).compose(started -> nodes.start());
  }

  @Override
  public Future<Void> complete() {
    return nodes.complete();
  }

  // --- what happens here ---

  @Override
  public void tell(ControllerEvent event) {
    plane.tell(event);
  }

  @Override
  public void send(BusMessage message) {
    bus().send(Addresses.CONTROLLER, message, EventBusSender.LOCAL);
  }

  @Override
  public Future<Long> ask(BusMessage message) {
    return bus().<Long>request(Addresses.CONTROLLER, message, ANSWERED).map(Message::body);
  }

  private EventBus bus() {
    return on.vertx().eventBus();
  }

  // --- the end ---

  @Override
  public void drains() {
    plane.drains();
    transitions.drains();
    nodes.drains();
  }

  @Override
  public Future<Void> withdraw() {
    Controller controller = plane.controller();
    return nodes.withdraw(
        controller == null ? List.of() : List.copyOf(controller.applications().keySet()),
        this::tell);
  }

  @Override
  public Future<Void> stop() {
    return nodes.stop().eventually(plane::stop).eventually(scaling::stop);
  }
}
