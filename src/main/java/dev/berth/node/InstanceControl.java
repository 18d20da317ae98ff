package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.Builds;
import dev.berth.code.LoadedApplication;
import dev.berth.code.Policies;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.LogEncoding;
import dev.berth.config.MetricsOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Declared;
import dev.berth.controller.ControllerEvent.Inventory;
import dev.berth.controller.ControllerPorts;
import dev.berth.controller.Epoch;
import dev.berth.desired.CommandQueue;
import dev.berth.desired.DesiredState;
import dev.berth.desired.ServeControl;
import dev.berth.ingress.Ingress;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTraffic;
import dev.berth.metrics.Meters;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.Registration;
import dev.berth.node.scaling.ScalingWatch;
import dev.berth.node.traffic.Endpoints;
import dev.berth.node.traffic.Routes;
import dev.berth.protocol.Addresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.LogFeed;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaSeries;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.traffic.TrafficPolicy;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBus;
import java.util.List;
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
   * What an instance is given.
   *
   * @param meters of all of it
   * @param threads run what may block: builders, and the hooks of handlers
   * @param serve what the controller is to keep true, and the commands of operators
   * @param log of the process
   * @param announced told of the states of applications; on the control loop
   */
  record Instance(
      ServeConfig config,
      Identity identity,
      Meters meters,
      EventLoops loops,
      InstanceThreads threads,
      ServeControl serve,
      LogFeed log,
      Consumer<Announce> announced) {
    Vertx vertx() {
      return loops.control().home().owner();
    }
  }

  private final Instance on;
  private final MetricsPusher pusher;
  private final DataPlane requests;
  private final Function<Settings, @Nullable LogEncoding> accessEncoding;
  final Builds builds;
  private final Policies policies;
  final InstanceRouters deployments;
  final InstanceReplicas replicas;
  final Routes routes;
  final InstanceActions actions;
  final ScalingWatch scaling;
  final ControlPlane plane;

  /**
   * @param requests what they pass through
   * @param accessEncoding how requests are logged; null when they are not
   */
  InstanceControl(
      Instance on,
      MetricsPusher pusher,
      Ingress ingress,
      DataPlane requests,
      Function<Settings, @Nullable LogEncoding> accessEncoding) {
    this.on = on;
    this.pusher = pusher;
    this.requests = requests;
    this.accessEncoding = accessEncoding;
    LoopVerticle control = on.loops.control();
    routes =
        new Routes(
            ingress::update,
            on.config.get(HttpOptions.ROOT_PATH),
            control,
            this::leadsTo,
            new Endpoints(
                on.config.get(InstanceOptions.ENDPOINTS),
                on.serve.endpointSplits(),
                id -> deployments().isWanted(id),
                endpoint -> leadsTo("", TrafficPolicy.of(endpoint, "", null))));
    builds = new Builds(on.threads, control, on.serve, this::tell, this::gone);
    deployments =
        new InstanceRouters(
            requests.routers(),
            new InstanceRankers(on.threads, control, builds, requests.routers().loop(0)::now),
            on.config.get(LimitOptions.MAX_RESERVATION_TTL_S).toNanos(),
            this::show);
    policies = new Policies(on.threads, control, builds, this::tell, on.identity.nanoClock());
    replicas =
        new InstanceReplicas(
            requests,
            deployments,
            builds,
            this::show,
            control,
            new AtomicLong(on.identity.chance().nextLong())::incrementAndGet,
            this::tell);
    RoutingLink routing =
        new RoutingLink(this::toRouters, on.identity.node(), deployments::isWanted);
    actions =
        new InstanceActions(
            new EpochGate(),
            new TransitionLog(),
            builds,
            policies,
            replicas,
            deployments,
            routing,
            routes,
            on.log,
            on.serve,
            on.announced);
    scaling =
        new ScalingWatch(
            on.config.get(InstanceOptions.AUTOSCALING),
            on.identity.wallClock()::millis,
            Controller.silenceNanos(on.config.get(MetricsOptions.PUSH_INTERVAL_MS)));
    RandomGenerator random = on.identity.seeded();
    plane =
        new ControlPlane(
            control,
            on.identity.node(),
            on.identity.nanoClock(),
            epoch -> controller(epoch, random),
            this::tellKnown,
            on.serve.commands()::restartController,
            actions.andThen(scaling),
            routing);
  }

  private Registration show(DeploymentRouter router) {
    String application = router.deployment().application();
    router.whenWanted(() -> pusher.signal(router.deployment()));
    return all(
        on.meters.add(into -> InstanceSeries.show(router, routes.prefixOf(application), into)),
        pusher.register(router));
  }

  private Registration show(Replica replica) {
    String application = replica.deployment().application();
    return all(
        on.meters.add(into -> ReplicaSeries.show(replica, routes.prefixOf(application), into)),
        on.meters.add(replica.meters()::collect),
        pusher.registerReplica(
            new ReplicaSource(replica, deployments.router(replica.deployment()))));
  }

  private static Registration all(Registration... registrations) {
    return () -> List.of(registrations).forEach(Registration::close);
  }

  private void gone(LoadedApplication code) {
    deployments.forgetUnwanted(code);
    policies.gone(code);
    on.serve.removeUnusedJars();
  }

  private Controller controller(Epoch epoch, RandomGenerator random) {
    return new Controller(
        new ControllerPorts(
            epoch,
            deployment -> replicaId(deployment, random),
            replicas::ongoing,
            random::nextDouble,
            requests.ports().wallClock()::millis,
            Controller.silenceNanos(on.config.get(MetricsOptions.PUSH_INTERVAL_MS)),
            DeploymentConfig::ofRay));
  }

  private void toRouters(String node, BusMessage message) {
    EventBus bus = on.loops.control().home().owner().eventBus();
    bus.send(Addresses.routing(node), message, RoutingLink.LOCAL);
  }

  private void tellKnown(Consumer<ControllerEvent> controller) {
    on.serve.applications().forEach(each -> controller.accept(new Declared(each)));
    Inventory hosted = new Inventory(on.identity.node(), replicas.inventory(), replicas.complete());
    builds.keepOnly(hosted); // of what was declared by now all that is wanted was asked for
    controller.accept(hosted);
  }

  /** {@code application#deployment#suffix}, as Ray Serve names replicas. */
  private static String replicaId(DeploymentId deployment, RandomGenerator random) {
    return deployment
        + "#"
        + Long.toString(random.nextLong(1L << 40, 1L << 41), Character.MAX_RADIX);
  }

  private IngressRoute leadsTo(DeploymentId ingress, @Nullable Settings traffic) {
    if (traffic == null) {
      return side(ingress);
    }
    String application = ingress.application();
    return leadsTo(application, TrafficPolicy.of(traffic, application, ingress));
  }

  private IngressRoute leadsTo(String application, TrafficPolicy policy) {
    return IngressRoute.to(
        application,
        new RouteTraffic(
            policy,
            policy.sides().stream().map(this::side).toList(),
            policy.shadows().stream().map(each -> deployments.router(each.to())).toList()));
  }

  private IngressRoute side(DeploymentId ingress) {
    Settings settings = deployments.settings(ingress);
    return new IngressRoute(
        ingress.application(),
        deployments.router(ingress),
        settings.get(DeploymentConfig.BACKPRESSURE_CONFIG),
        accessEncoding.apply(settings.get(DeploymentConfig.LOGGING_CONFIG)));
  }

  private InstanceRouters deployments() {
    return deployments; // which is made after those who ask it
  }

  /** Starts the controller, which starts what is declared. */
  Future<Void> start() {
    on.meters.add(scaling::show);
    on.meters.add(
        into -> {
          into.gauge(
              "berth_commands_waiting", on.serve.waitingCommands(), CommandQueue.MOST_COMMANDS);
          into.gauge(
              "berth_history_chars", on.serve.historyChars(), ServeControl.MOST_HISTORY_CHARS);
          into.gauge("berth_idempotent_answers", on.serve.keptAnswers(), DesiredState.MOST_ANSWERS);
          into.counter("berth_stale_commands", actions.gate().refused());
          into.counter("berth_controller_restarts", plane.restarts());
        });
    return plane.start(on.serve.term());
  }

  /** Tells the controller. Any thread. */
  void tell(ControllerEvent event) {
    plane.tell(event);
  }
}
