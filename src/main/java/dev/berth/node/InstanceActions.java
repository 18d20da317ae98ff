package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.Builds;
import dev.berth.code.Policies;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.LoggingOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.DeploymentTarget;
import dev.berth.protocol.port.LogFeed;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Does on this instance what the controller wants, in the order it says; what an older controller
 * wants is refused. An action that fails fails alone. Belongs to the control loop.
 */
final class InstanceActions implements Consumer<ControllerAction> {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceActions.class);

  final EpochGate gate = new EpochGate();
  private final Builds builds;
  private final Policies policies;
  private final InstanceReplicas replicas;
  private final InstanceRouters deployments;
  private final RoutingLink routing;
  private final Routes routes;
  private final LogFeed log;
  private final TransitionLog transitions = new TransitionLog();
  private final Told told;

  /** What others hear of, after it was logged. */
  interface Told {
    /** An application is in another state. */
    void announced(ControllerAction.Announce change);

    /** A number of replicas follows the load to another one. */
    void rescaled(ControllerAction.Rescale change);
  }

  /**
   * @param log whose levels deployments may have
   */
  InstanceActions(
      Builds builds,
      Policies policies,
      InstanceReplicas replicas,
      InstanceRouters deployments,
      RoutingLink routing,
      Routes routes,
      LogFeed log,
      Told told) {
    this.builds = builds;
    this.policies = policies;
    this.replicas = replicas;
    this.deployments = deployments;
    this.routing = routing;
    this.routes = routes;
    this.log = log;
    this.told = told;
  }

  /** The instance drains: what stops from now on is not told as if it were deleted. */
  void drains() {
    transitions.drains();
  }

  @Override
  public void accept(ControllerAction action) {
    try {
      apply(action);
    } catch (RuntimeException failed) { // the others are no worse for it
      LOG.error("not done: {}", action, failed);
    }
  }

  private void apply(ControllerAction action) {
    if (action instanceof ControllerAction.Command command && !gate.admits(command.epoch())) {
      return;
    }
    if (action instanceof ControllerAction.Publish publish) {
      routing.publisher().publish(publish.snapshot());
    } else if (action instanceof ControllerAction.Announce announce) {
      transitions.announce(announce);
      told.announced(announce);
    } else if (action instanceof ControllerAction.AnnounceDeployment announce) {
      transitions.announce(announce);
    } else if (action instanceof ControllerAction.Rescale rescale) {
      transitions.rescaled(rescale);
      told.rescaled(rescale);
    } else if (action instanceof ControllerAction.AskPolicy ask) {
      policies.ask(ask);
    } else if (action instanceof ControllerAction.AnnounceReplica announce) {
      transitions.announce(announce);
    } else if (action instanceof ControllerAction.StartReplica start) {
      replicas.start(start);
    } else if (action instanceof ControllerAction.ReconfigureReplica reconfigure) {
      replicas.reconfigure(reconfigure);
    } else if (action instanceof ControllerAction.StopReplica stop) {
      replicas.stop(stop);
    } else if (action instanceof ControllerAction.Remember remember) {
      replicas.remember(remember);
    } else {
      applyToDeployments(action);
    }
  }

  private void applyToDeployments(ControllerAction action) {
    if (action instanceof ControllerAction.Build build) {
      builds.build(build);
    } else if (action instanceof ControllerAction.DiscardBuild discard) {
      builds.discard(discard);
    } else if (action instanceof ControllerAction.Configure configure) {
      configure(configure.target());
    } else if (action instanceof ControllerAction.Forget forget) {
      routing.publisher().forget(forget.deployment());
      deployments.forget(forget.deployment());
      policies.forget(forget.deployment());
      log.level(loggerOf(forget.deployment()), null);
    } else if (action instanceof ControllerAction.RouteTo route) {
      routes.route(route);
    } else if (action instanceof ControllerAction.Unroute route) {
      routes.unroute(route.application());
    }
  }

  private void configure(DeploymentTarget target) {
    deployments.configure(target);
    Settings logging = target.settings().get(DeploymentConfig.LOGGING_CONFIG);
    log.level(loggerOf(target.id()), logging.get(LoggingOptions.LOG_LEVEL).name());
    routes.configured(target.id());
  }

  /** The logger that its handlers are given. */
  private static String loggerOf(DeploymentId deployment) {
    return deployment.application() + "." + deployment.name();
  }
}
