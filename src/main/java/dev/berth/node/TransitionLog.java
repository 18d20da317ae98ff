package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.AnnounceDeployment;
import dev.berth.controller.ControllerAction.AnnounceReplica;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.DeploymentStatus;
import dev.berth.protocol.ReplicaPhase;
import dev.berth.protocol.StatusTrigger;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * One line of the log for each change of state of an application, a deployment or a replica, with
 * what changed, from what to what, and why, each under a key of its own. Belongs to the control
 * loop.
 */
final class TransitionLog {
  private static final Logger LOG = LoggerFactory.getLogger("dev.berth.Transitions");
  private static final String NOWHERE = "NONE";

  private final Map<String, String> states = new HashMap<>(); // last said, by what has it
  private boolean draining;

  /**
   * From now on what goes goes with the instance, and is declared as it was: only of replicas is it
   * told, so that it is known which keep a drain waiting.
   */
  void drains() {
    draining = true;
  }

  void announce(Announce change) {
    ApplicationStatus to = change.status();
    if (draining && (to == ApplicationStatus.DELETING || to == ApplicationStatus.NOT_STARTED)) {
      return;
    }
    boolean bad = to == ApplicationStatus.DEPLOY_FAILED || to == ApplicationStatus.UNHEALTHY;
    LoggingEventBuilder line = bad ? LOG.atError() : LOG.atInfo();
    line = line.addKeyValue("application", change.application());
    String from =
        move("application " + change.application(), to, to == ApplicationStatus.NOT_STARTED);
    if (to == ApplicationStatus.NOT_STARTED) {
      String own = "deployment " + change.application() + "#";
      states.keySet().removeIf(each -> each.startsWith(own));
    }
    line = line.addKeyValue("revision", change.revision());
    said(line, from, to.name(), change.message())
        .log("application {}: {} -> {}", change.application(), from, to);
  }

  void announce(AnnounceDeployment change) {
    DeploymentStatus to = change.status();
    if (draining && change.trigger() == StatusTrigger.DELETING) {
      return;
    }
    boolean bad = to == DeploymentStatus.DEPLOY_FAILED || to == DeploymentStatus.UNHEALTHY;
    LoggingEventBuilder line = deployment(bad ? LOG.atWarn() : LOG.atInfo(), change.deployment());
    String from = move("deployment " + change.deployment(), to, false);
    line =
        line.addKeyValue("version", change.version().toString())
            .addKeyValue("trigger", change.trigger().name());
    said(line, from, to.name(), change.message())
        .log("deployment {}: {} -> {}", change.deployment(), from, to);
  }

  void announce(AnnounceReplica change) {
    ReplicaPhase to = change.phase();
    LoggingEventBuilder line = deployment(LOG.atInfo(), change.deployment());
    String from = move("replica " + change.replicaId(), to, to == ReplicaPhase.STOPPED);
    line =
        line.addKeyValue("replica", change.replicaId())
            .addKeyValue("version", change.version().toString());
    boolean goes =
        to == ReplicaPhase.STOPPING || to == ReplicaPhase.DRAINING || to == ReplicaPhase.STOPPED;
    said(line, from, to.name(), draining && goes ? "drain" : change.reason())
        .log("replica {}: {} -> {}", change.replicaId(), from, to);
  }

  void rescaled(Rescale change) {
    ScalingDecision decision = change.decision();
    if (decision != null) {
      int from = decision.inputs().fleet().target();
      LoggingEventBuilder line =
          deployment(LOG.atInfo(), change.deployment())
              .addKeyValue("load", Math.round(decision.inputs().total() * 100) / 100.0)
              .addKeyValue("running", decision.inputs().fleet().running());
      said(line, Integer.toString(from), Integer.toString(decision.replicas()), decision.why())
          .log("deployment {}: {} -> {} replicas", change.deployment(), from, decision.replicas());
    }
  }

  private static LoggingEventBuilder deployment(LoggingEventBuilder line, DeploymentId deployment) {
    return line.addKeyValue("application", deployment.application())
        .addKeyValue("deployment", deployment.name());
  }

  private static LoggingEventBuilder said(
      LoggingEventBuilder line, String from, String to, String reason) {
    LoggingEventBuilder whole = line.addKeyValue("from", from).addKeyValue("to", to);
    return reason.isEmpty() ? whole : whole.addKeyValue("reason", reason);
  }

  /** Where it came from. */
  private String move(String what, Enum<?> to, boolean gone) {
    String before = gone ? states.remove(what) : states.put(what, to.name());
    return before == null ? NOWHERE : before;
  }

  /** States that are remembered. */
  int size() {
    return states.size();
  }
}
