package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.BuildCache;
import dev.berth.code.PolicyInvoker;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.LoggingOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.AnnounceDeployment;
import dev.berth.controller.ControllerAction.AnnounceReplica;
import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.NodeGone;
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.Recovered;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.ShareUpstream;
import dev.berth.controller.ControllerAction.SplitEndpoint;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.RoutingPublisher;
import dev.berth.desired.ServeControl;
import dev.berth.node.traffic.RouteRegistry;
import dev.berth.view.LogFeed;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Steps that carry out the actions of a controller, by type of action. A failed action is logged,
 * and later actions still run. Commands of an older controller are refused. Confined to the control
 * loop.
 */
record ControllerActionExecutor(
    EpochGate gate, Consumer<Command> instances, Map<Class<?>, Consumer<ControllerAction>> steps)
    implements Consumer<ControllerAction> {
  private static final Logger LOG = LoggerFactory.getLogger(ControllerActionExecutor.class);

  /**
   * Creates the steps for commands on this instance, whichever node the controller is on.
   *
   * @param gate knows the newest controller
   * @param log sets the log levels of deployments
   */
  static ControllerActionExecutor ofInstance(
      EpochGate gate,
      BuildCache builds,
      InstanceReplicas replicas,
      InstanceRouters deployments,
      RouteRegistry routes,
      LogFeed log) {
    return new ControllerActionExecutor(gate, command -> {}, new HashMap<>())
        .on(Build.class, builds::build)
        .on(DiscardBuild.class, builds::discard)
        .on(StartReplica.class, replicas::start)
        .on(ReconfigureReplica.class, replicas::reconfigure)
        .on(StopReplica.class, replicas::stop)
        .on(ShareUpstream.class, replicas::share)
        .on(Remember.class, replicas::remember)
        .on(Configure.class, configure -> deployments.configure(configure.target()))
        .on(Configure.class, configure -> level(log, configure.target()))
        .on(Configure.class, configure -> routes.configured(configure.target().id()))
        .on(Forget.class, forget -> deployments.forget(forget.deployment()))
        .on(Forget.class, forget -> replicas.forget(forget.deployment()))
        .on(Forget.class, forget -> routes.updateEndpoints(forget.deployment()))
        .on(Forget.class, forget -> log.level(loggerOf(forget.deployment()), null))
        .on(RouteTo.class, routes::route)
        .on(SplitEndpoint.class, split -> routes.split(split.route(), split.weights()))
        .on(Unroute.class, unroute -> routes.unroute(unroute.application()));
  }

  private static void level(LogFeed log, DeploymentTarget target) {
    Settings logging = target.settings().get(DeploymentConfig.LOGGING_CONFIG);
    log.level(loggerOf(target.id()), logging.get(LoggingOptions.LOG_LEVEL).name());
  }

  /** Returns the logger that the handlers of a deployment receive. */
  private static String loggerOf(DeploymentId deployment) {
    return deployment.application() + "." + deployment.name();
  }

  /**
   * Creates the steps beside the controller: publishing, logging, storing and policy calls.
   *
   * @param gate knows the newest controller
   * @param routing supplies the publisher of the current controller
   * @param serve stores autoscaled replica counts and the states of applications
   * @param instances run all commands, in order
   */
  static ControllerActionExecutor ofController(
      EpochGate gate,
      TransitionLog transitions,
      PolicyInvoker policies,
      Supplier<RoutingPublisher> routing,
      ServeControl serve,
      Consumer<Command> instances) {
    return new ControllerActionExecutor(gate, instances, new HashMap<>())
        .on(Publish.class, publish -> routing.get().publish(publish.snapshot()))
        .on(NodeGone.class, gone -> routing.get().onNodeLost(gone.node()))
        .on(Recovered.class, known -> routing.get().onRecovered())
        .on(Announce.class, transitions::announce)
        .on(Announce.class, serve::announced)
        .on(AnnounceDeployment.class, transitions::announce)
        .on(AnnounceReplica.class, transitions::announce)
        .on(Rescale.class, transitions::rescaled)
        .on(Rescale.class, rescale -> serve.autoscaled(rescale.deployment(), rescale.now()))
        .on(AskPolicy.class, policies::invoke)
        .on(Forget.class, forget -> transitions.forget(forget.deployment()))
        .on(Forget.class, forget -> routing.get().forget(forget.deployment()))
        .on(Forget.class, forget -> policies.interrupt(forget.deployment()));
  }

  /** Adds a step for a type of action, after the existing steps of this type. */
  <A extends ControllerAction> ControllerActionExecutor on(Class<A> type, Consumer<A> step) {
    steps.merge(type, action -> step.accept(type.cast(action)), Consumer::andThen);
    return this;
  }

  @Override
  public void accept(ControllerAction action) {
    try {
      Consumer<ControllerAction> step = steps.get(action.getClass());
      if (step != null && !isStale(action)) {
        step.accept(action);
      }
      if (action instanceof Command command) {
        instances.accept(command);
      }
    } catch (RuntimeException failed) { // later actions still run
      LOG.error("not executed: {}", action, failed);
    }
  }

  private boolean isStale(ControllerAction action) {
    return action instanceof Command command && !gate.admits(command.epoch());
  }
}
