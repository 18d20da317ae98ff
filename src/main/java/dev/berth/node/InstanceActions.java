package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.Builds;
import dev.berth.code.Policies;
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
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.SplitEndpoint;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.controller.DeploymentTarget;
import dev.berth.desired.ServeControl;
import dev.berth.node.traffic.Routes;
import dev.berth.protocol.port.LogFeed;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Does on this instance what the controller wants, in the order it says; what an older controller
 * wants is refused. An action that fails fails alone. Belongs to the control loop.
 *
 * @param gate knows the newest controller
 * @param log whose levels deployments may have
 * @param serve keeps what it is told of
 * @param announced told of the states of applications, after they were logged
 */
record InstanceActions(
    EpochGate gate,
    TransitionLog transitions,
    Builds builds,
    Policies policies,
    InstanceReplicas replicas,
    InstanceRouters deployments,
    RoutingLink routing,
    Routes routes,
    LogFeed log,
    ServeControl serve,
    Consumer<Announce> announced)
    implements Consumer<ControllerAction> {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceActions.class);

  @Override
  public void accept(ControllerAction action) {
    try {
      apply(action);
    } catch (RuntimeException failed) { // the others are no worse for it
      LOG.error("not done: {}", action, failed);
    }
  }

  private void apply(ControllerAction action) {
    if (action instanceof Command command && !gate.admits(command.epoch())) {
      return;
    }
    if (action instanceof Publish publish) {
      routing.publisher().publish(publish.snapshot());
    } else if (action instanceof Announce announce) {
      transitions.announce(announce);
      serve.announced(announce);
      announced.accept(announce);
    } else if (action instanceof AnnounceDeployment announce) {
      transitions.announce(announce);
    } else if (action instanceof Rescale rescale) {
      transitions.rescaled(rescale);
      serve.autoscaled(rescale.deployment(), rescale.now());
    } else if (action instanceof AskPolicy ask) {
      policies.ask(ask);
    } else if (action instanceof AnnounceReplica announce) {
      transitions.announce(announce);
    } else if (action instanceof StartReplica start) {
      replicas.start(start);
    } else if (action instanceof ReconfigureReplica reconfigure) {
      replicas.reconfigure(reconfigure);
    } else if (action instanceof StopReplica stop) {
      replicas.stop(stop);
    } else if (action instanceof Remember remember) {
      replicas.remember(remember);
    } else {
      applyToDeployments(action);
    }
  }

  private void applyToDeployments(ControllerAction action) {
    if (action instanceof Build build) {
      builds.build(build);
    } else if (action instanceof DiscardBuild discard) {
      builds.discard(discard);
    } else if (action instanceof Configure configure) {
      configure(configure.target());
    } else if (action instanceof Forget forget) {
      routing.publisher().forget(forget.deployment());
      deployments.forget(forget.deployment());
      routes.forgotten(forget.deployment());
      policies.forget(forget.deployment());
      log.level(loggerOf(forget.deployment()), null);
    } else if (action instanceof RouteTo route) {
      routes.route(route);
    } else if (action instanceof SplitEndpoint split) {
      routes.split(split.route(), split.weights());
    } else if (action instanceof Unroute route) {
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
