package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.Builds;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.LoggingOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.SplitEndpoint;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.controller.DeploymentTarget;
import dev.berth.node.traffic.Routes;
import dev.berth.protocol.port.LogFeed;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Does on this instance what the controller commands, in the order it says; what an older
 * controller commands is refused. A command that fails fails alone. Belongs to the control loop.
 *
 * @param gate knows the newest controller
 * @param log whose levels deployments may have
 */
record InstanceActions(
    EpochGate gate,
    Builds builds,
    InstanceReplicas replicas,
    InstanceRouters deployments,
    Routes routes,
    LogFeed log)
    implements Consumer<Command> {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceActions.class);

  @Override
  public void accept(Command command) {
    try {
      if (gate.admits(command.epoch())) {
        apply(command);
      }
    } catch (RuntimeException failed) { // the others are no worse for it
      LOG.error("not done: {}", command, failed);
    }
  }

  private void apply(Command command) {
    if (command instanceof StartReplica start) {
      replicas.start(start);
    } else if (command instanceof ReconfigureReplica reconfigure) {
      replicas.reconfigure(reconfigure);
    } else if (command instanceof StopReplica stop) {
      replicas.stop(stop);
    } else if (command instanceof Remember remember) {
      replicas.remember(remember);
    } else {
      applyToDeployments(command);
    }
  }

  private void applyToDeployments(Command command) {
    if (command instanceof Build build) {
      builds.build(build);
    } else if (command instanceof DiscardBuild discard) {
      builds.discard(discard);
    } else if (command instanceof Configure configure) {
      configure(configure.target());
    } else if (command instanceof Forget forget) {
      deployments.forget(forget.deployment());
      replicas.forget(forget.deployment());
      routes.forgotten(forget.deployment());
      log.level(loggerOf(forget.deployment()), null);
    } else if (command instanceof RouteTo route) {
      routes.route(route);
    } else if (command instanceof SplitEndpoint split) {
      routes.split(split.route(), split.weights());
    } else if (command instanceof Unroute route) {
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
