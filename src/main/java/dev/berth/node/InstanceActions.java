package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.Builds;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.LoggingOptions;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.Epoch;
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

  private final EpochGate gate;
  private final Builds builds;
  private final InstanceReplicas replicas;
  private final InstanceRouters deployments;
  private final RoutingLink routing;
  private final Routes routes;
  private final LogFeed log;
  private final TransitionLog transitions = new TransitionLog();
  private final Consumer<ControllerAction.Announce> announced;

  /**
   * @param log whose levels deployments may have
   * @param announced told of the states of applications, after they were logged
   */
  InstanceActions(
      EpochGate gate,
      Builds builds,
      InstanceReplicas replicas,
      InstanceRouters deployments,
      RoutingLink routing,
      Routes routes,
      LogFeed log,
      Consumer<ControllerAction.Announce> announced) {
    this.gate = gate;
    this.builds = builds;
    this.replicas = replicas;
    this.deployments = deployments;
    this.routing = routing;
    this.routes = routes;
    this.log = log;
    this.announced = announced;
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
    if (action instanceof ControllerAction.Publish publish) {
      routing.publish(publish);
    } else if (action instanceof ControllerAction.Announce announce) {
      transitions.announce(announce);
      announced.accept(announce);
    } else if (action instanceof ControllerAction.AnnounceDeployment announce) {
      transitions.announce(announce);
    } else if (action instanceof ControllerAction.AnnounceReplica announce) {
      transitions.announce(announce);
    } else if (action instanceof ControllerAction.StartReplica start) {
      ifNew(start.epoch(), () -> replicas.start(start));
    } else if (action instanceof ControllerAction.ReconfigureReplica reconfigure) {
      ifNew(reconfigure.epoch(), () -> replicas.reconfigure(reconfigure));
    } else if (action instanceof ControllerAction.StopReplica stop) {
      ifNew(stop.epoch(), () -> replicas.stop(stop));
    } else if (action instanceof ControllerAction.Remember remember) {
      ifNew(remember.epoch(), () -> replicas.remember(remember));
    } else {
      applyToDeployments(action);
    }
  }

  private void applyToDeployments(ControllerAction action) {
    if (action instanceof ControllerAction.Build build) {
      ifNew(build.epoch(), () -> builds.build(build));
    } else if (action instanceof ControllerAction.DiscardBuild discard) {
      ifNew(discard.epoch(), () -> builds.discard(discard));
    } else if (action instanceof ControllerAction.Configure configure) {
      ifNew(
          configure.epoch(),
          () -> {
            deployments.configure(configure.target());
            log.level(
                loggerOf(configure.target().id()),
                configure
                    .target()
                    .settings()
                    .get(DeploymentConfig.LOGGING_CONFIG)
                    .get(LoggingOptions.LOG_LEVEL)
                    .name());
            routes.configured(configure.target().id());
          });
    } else if (action instanceof ControllerAction.Forget forget) {
      ifNew(
          forget.epoch(),
          () -> {
            routing.forget(forget);
            deployments.forget(forget.deployment());
            log.level(loggerOf(forget.deployment()), null);
          });
    } else if (action instanceof ControllerAction.RouteTo route) {
      ifNew(route.epoch(), () -> routes.route(route));
    } else if (action instanceof ControllerAction.Unroute route) {
      ifNew(route.epoch(), () -> routes.unroute(route.application()));
    }
  }

  /** The logger that its handlers are given. */
  private static String loggerOf(DeploymentId deployment) {
    return deployment.application() + "." + deployment.name();
  }

  private void ifNew(Epoch epoch, Runnable command) {
    if (gate.admits(epoch)) {
      command.run();
    }
  }
}
