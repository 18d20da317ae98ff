package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.AnnounceDeployment;
import dev.berth.controller.ControllerAction.AnnounceReplica;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.metrics.MetricSeries;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.StatusTrigger;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Log of state changes: one line for each change of an application, a deployment or a replica. The
 * subject, both states and the reason have keys of their own. The last states are metrics. Confined
 * to the control loop; the metrics are thread-safe.
 */
final class TransitionLog {
  private static final Logger LOG = LoggerFactory.getLogger("dev.berth.Transitions");
  private static final String NOWHERE = "NONE";

  private static final Set<String> RUNS =
      Set.of(ReplicaPhase.RUNNING.name(), ReplicaPhase.UPDATING.name());

  final Map<String, String> states = new ConcurrentHashMap<>(); // last logged state, by subject
  private boolean draining;

  /**
   * Omits applications and deployments from now on: they end with the instance and stay declared.
   * Replicas are still logged, so that operators see which of them delay a drain.
   */
  void drains() {
    draining = true;
  }

  void announce(Announce change) {
    ApplicationStatus to = change.status();
    boolean gone = to == ApplicationStatus.NOT_STARTED;
    if (draining && (gone || to == ApplicationStatus.DELETING)) {
      return;
    }
    if (gone) {
      String own = "deployment " + change.application() + "#";
      states.keySet().removeIf(each -> each.startsWith(own));
    }
    boolean bad = to == ApplicationStatus.DEPLOY_FAILED || to == ApplicationStatus.UNHEALTHY;
    say(
        LOG.atLevel(bad ? Level.ERROR : Level.INFO)
            .addKeyValue("application", change.application())
            .addKeyValue("revision", change.revision()),
        "application " + change.application(),
        to,
        gone,
        change.message());
  }

  void announce(AnnounceDeployment change) {
    DeploymentStatus to = change.status();
    if (draining && change.trigger() == StatusTrigger.DELETING) {
      return;
    }
    boolean bad = to == DeploymentStatus.DEPLOY_FAILED || to == DeploymentStatus.UNHEALTHY;
    say(
        line(bad ? Level.WARN : Level.INFO, change.deployment())
            .addKeyValue("version", change.version().toString())
            .addKeyValue("trigger", change.trigger().name()),
        "deployment " + change.deployment(),
        to,
        false,
        change.message());
  }

  void announce(AnnounceReplica change) {
    ReplicaPhase to = change.phase();
    boolean gone = to == ReplicaPhase.STOPPED;
    boolean goes = gone || to == ReplicaPhase.STOPPING || to == ReplicaPhase.DRAINING;
    say(
        line(Level.INFO, change.deployment())
            .addKeyValue("replica", change.replicaId())
            .addKeyValue("version", change.version().toString()),
        "replica " + change.replicaId(),
        to,
        gone,
        draining && goes ? "drain" : change.reason());
  }

  void rescaled(Rescale change) {
    ScalingDecision decision = change.decision();
    if (decision != null) {
      int from = decision.inputs().fleet().target();
      line(Level.INFO, change.deployment())
          .addKeyValue("from", from)
          .addKeyValue("to", decision.replicas())
          .addKeyValue("running", decision.inputs().fleet().running())
          .addKeyValue("load", Math.round(decision.load() * 100) / 100.0)
          .addKeyValue("reason", decision.why())
          .log("deployment {}: {} -> {} replicas", change.deployment(), from, decision.replicas());
    }
  }

  /** Removes a deployment that ended. */
  void forget(DeploymentId deployment) {
    states.remove("deployment " + deployment);
  }

  /** Shows the states of applications and deployments, and the running replicas of each. */
  void show(MetricSeries into) {
    Map<String, Integer> running = new HashMap<>();
    states.forEach(
        (subject, state) -> {
          if (subject.startsWith("replica ") && RUNS.contains(state)) {
            running.merge(subject.substring(8, subject.lastIndexOf('#')), 1, Integer::sum);
          }
        });
    states.forEach(
        (subject, state) -> {
          String name = subject.substring(subject.indexOf(' ') + 1);
          if (subject.startsWith("application ")) {
            into.with("application", name, "status", state).gauge("berth_application_status", 1);
          } else if (subject.startsWith("deployment ")) {
            String[] id = name.split("#");
            MetricSeries of = into.with("application", id[0], "deployment", id[1]);
            of.with("status", state).gauge("berth_deployment_status", 1);
            of.gauge("berth_replicas_running", running.getOrDefault(name, 0));
          }
        });
  }

  private static LoggingEventBuilder line(Level level, DeploymentId deployment) {
    return LOG.atLevel(level)
        .addKeyValue("application", deployment.application())
        .addKeyValue("deployment", deployment.name());
  }

  /**
   * @param what subject of the new state {@code to}
   * @param gone whether this line is the last one of the subject
   */
  private void say(LoggingEventBuilder line, String what, Enum<?> to, boolean gone, String reason) {
    String before = gone ? states.remove(what) : states.put(what, to.name());
    String from = before == null ? NOWHERE : before;
    LoggingEventBuilder whole = line.addKeyValue("from", from).addKeyValue("to", to.name());
    whole = reason.isEmpty() ? whole : whole.addKeyValue("reason", reason);
    whole.log("{}: {} -> {}", what, from, to);
  }
}
