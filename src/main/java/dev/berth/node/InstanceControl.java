package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.Builds;
import dev.berth.code.LoadedApplication;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.LogEncoding;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.Epoch;
import dev.berth.desired.CommandQueue;
import dev.berth.desired.DesiredState;
import dev.berth.desired.ServeControl;
import dev.berth.ingress.Ingress;
import dev.berth.ingress.IngressRoute;
import dev.berth.metrics.Meters;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.Registration;
import dev.berth.protocol.Addresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.LogFeed;
import dev.berth.replica.HookThreads;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import io.vertx.core.Future;
import io.vertx.core.eventbus.EventBus;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The control side of an instance, wired: the controller, and what does here what it wants. Belongs
 * to the control loop.
 */
final class InstanceControl {

  /**
   * What it works on.
   *
   * @param hooks runs builders and hooks, which may block
   * @param log of the process
   * @param accessEncoding how requests are logged; null when they are not
   */
  record Instance(
      ServeConfig config,
      Identity identity,
      LoopVerticle control,
      HookThreads hooks,
      Meters meters,
      MetricsPusher pusher,
      Ingress ingress,
      DataPlane plane,
      LogFeed log,
      Function<Settings, @Nullable LogEncoding> accessEncoding) {}

  private final Instance on;
  private final ServeControl serve;
  private final EpochGate gate = new EpochGate();
  final Builds builds;
  final InstanceRouters deployments;
  final InstanceReplicas replicas;
  final Routes routes;
  private final RoutingLink routing;
  final InstanceActions actions;
  final ControlPlane plane;

  /**
   * @param serve what is to be kept true
   * @param announced told of the states of applications
   */
  InstanceControl(Instance on, ServeControl serve, Consumer<Announce> announced) {
    this.on = on;
    this.serve = serve;
    routes =
        new Routes(
            on.ingress::update, on.config.get(HttpOptions.ROOT_PATH), on.control, this::leadsTo);
    deployments =
        new InstanceRouters(
            on.plane.routers(),
            on.config.get(LimitOptions.MAX_RESERVATION_TTL_S).toNanos(),
            this::show);
    builds = new Builds(on.hooks, on.control, serve, this::tell, this::gone);
    replicas =
        new InstanceReplicas(
            on.plane,
            deployments,
            builds,
            this::show,
            on.control,
            new AtomicLong(on.identity.chance().nextLong())::incrementAndGet,
            this::tell);
    routing = new RoutingLink(this::toRouters, on.identity.node(), deployments::isWanted);
    actions =
        new InstanceActions(
            gate, builds, replicas, deployments, routing, routes, on.log, announced);
    RandomGenerator random = on.identity.seeded();
    plane =
        new ControlPlane(
            on.control,
            on.identity.node(),
            on.identity.nanoClock(),
            epoch -> controller(epoch, random),
            new ControlPlane.Known(serve::applications, this::hosted),
            serve.commands()::restartController,
            actions,
            routing);
  }

  private Registration show(DeploymentRouter router) {
    String application = router.deployment().application();
    return all(
        on.meters.add(into -> HandleSeries.show(router, routes.prefixOf(application), into)),
        on.pusher.register(router));
  }

  private Registration show(Replica replica) {
    String application = replica.deployment().application();
    return all(
        on.meters.add(into -> ReplicaSeries.show(replica, routes.prefixOf(application), into)),
        on.meters.add(replica.meters()::collect));
  }

  private static Registration all(Registration first, Registration second) {
    return () -> {
      first.close();
      second.close();
    };
  }

  private void gone(LoadedApplication code) {
    deployments.forgetUnwanted(code);
    serve.removeUnusedJars();
  }

  private Controller controller(Epoch epoch, RandomGenerator random) {
    return new Controller(
        epoch,
        deployment -> replicaId(deployment, random),
        replicas::ongoing,
        random::nextDouble,
        on.plane.ports().wallClock()::millis,
        DeploymentConfig::ofRay);
  }

  private void toRouters(String node, BusMessage message) {
    EventBus bus = on.control.home().owner().eventBus();
    bus.send(Addresses.routing(node), message, RoutingLink.LOCAL);
  }

  private ControllerEvent.Inventory hosted() {
    ControllerEvent.Inventory hosted =
        new ControllerEvent.Inventory(
            on.identity.node(), replicas.inventory(), replicas.complete());
    builds.keepOnly(hosted);
    return hosted;
  }

  /** {@code application#deployment#suffix}, as Ray Serve names replicas. */
  private static String replicaId(DeploymentId deployment, RandomGenerator random) {
    return deployment
        + "#"
        + Long.toString(random.nextLong(1L << 40, 1L << 41), Character.MAX_RADIX);
  }

  private IngressRoute leadsTo(DeploymentId ingress) {
    Settings settings = deployments.settings(ingress);
    return new IngressRoute(
        ingress.application(),
        deployments.router(ingress),
        settings.get(DeploymentConfig.BACKPRESSURE_CONFIG),
        on.accessEncoding.apply(settings.get(DeploymentConfig.LOGGING_CONFIG)));
  }

  /** Starts the controller, which starts what is declared. */
  Future<Void> start() {
    on.meters.addGauge("berth_commands_waiting", serve::waitingCommands);
    on.meters.addGauge("berth_commands_waiting_limit", () -> CommandQueue.MOST_COMMANDS);
    on.meters.addGauge("berth_history_chars", serve::historyChars);
    on.meters.addGauge("berth_history_chars_limit", () -> ServeControl.MOST_HISTORY_CHARS);
    on.meters.addGauge("berth_idempotent_answers", serve::keptAnswers);
    on.meters.addGauge("berth_idempotent_answers_limit", () -> DesiredState.MOST_ANSWERS);
    on.meters.addCounter("berth_stale_commands", gate::refused);
    on.meters.addCounter("berth_controller_restarts", plane::restarts);
    return plane.start(serve.term());
  }

  /** Tells the controller. Any thread. */
  void tell(ControllerEvent event) {
    plane.tell(event);
  }
}
