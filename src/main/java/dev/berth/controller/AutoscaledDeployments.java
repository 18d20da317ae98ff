package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.AutoscalingPolicy.Context;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.controller.ControllerAction.Decided;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.controller.ControllerEvent.PolicyAnswered;
import dev.berth.controller.autoscaling.Fleet;
import dev.berth.controller.autoscaling.PolicyAnswer;
import dev.berth.controller.autoscaling.Scaling;
import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.controller.autoscaling.ScalingInputs;
import dev.berth.controller.autoscaling.ScalingInputs.Source;
import dev.berth.controller.autoscaling.ScalingRules;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.ScalingDetails;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The deployments whose number of replicas follows their load: what was reported of them, and what
 * was decided. Belongs to the controller's loop.
 */
final class AutoscaledDeployments {
  /** Reports that come within it are looked at together. Source: Ray Serve's control loop. */
  static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** From one ask of a policy to the next. */
  static final long ASK_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** A policy's state that changes alone is kept so often: each time is a write to the disk. */
  static final long KEEP_STATE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** One of them, by the target that its rules are of. */
  private static final class Followed {
    final DeploymentState deployment;
    final Scaling scaling;
    DeploymentTarget target;
    @Nullable PolicySource source; // null where the ratio decides
    @Nullable PolicyAnswer answer; // its policy's last
    @Nullable String policyState;
    long askedNanos;
    long keptNanos;

    Followed(DeploymentState deployment, Scaling scaling, long nowNanos) {
      this.deployment = deployment;
      this.scaling = scaling;
      this.target = deployment.target;
      this.keptNanos = nowNanos;
      Autoscaled kept = deployment.application.autoscaled.get(deployment.id.name());
      this.policyState = kept == null ? null : kept.policyState();
    }
  }

  private final Epoch epoch;
  private final long silentNanos;
  private final HandleReports reports = new HandleReports();
  private final Set<String> expected = new HashSet<>(); // there before this controller was
  private final Map<DeploymentId, Followed> followed = new HashMap<>();

  /**
   * @param silentNanos without a report after which an instance is not known any more
   */
  AutoscaledDeployments(Epoch epoch, long silentNanos) {
    this.epoch = epoch;
    this.silentNanos = silentNanos;
  }

  /** These instances are there, and have yet to say what they know. */
  void expect(Collection<String> nodes) {
    expected.addAll(nodes);
  }

  // --- what is reported ---

  /**
   * @param look told of each deployment that is to be looked at, and when
   * @return false when the batch was stale
   */
  boolean record(HandleMetricBatch batch, long nowNanos, Look look) {
    if (!reports.record(batch, nowNanos)) {
      return false;
    }
    expected.remove(batch.node());
    Map<DeploymentId, HandleMetricReport> named = new HashMap<>();
    batch.handles().forEach(report -> named.put(report.deployment(), report));
    for (Followed each : followed.values()) {
      HandleMetricReport report = named.get(each.deployment.id);
      ScalingDecision last = each.scaling.last();
      boolean waits = last != null && last.inputs().unknown() > 0;
      if (report == null) {
        each.scaling.heard(batch.node(), nowNanos);
      } else {
        take(each.scaling, batch.node(), report, nowNanos);
      }
      if (report != null || waits) {
        boolean cold = last == null || last.inputs().fleet().running() == 0;
        look.at(each.deployment, cold ? nowNanos : nowNanos + LOOK_NANOS);
      }
    }
    return true;
  }

  /** Takes a deployment that is to be looked at. */
  @FunctionalInterface
  interface Look {
    void at(DeploymentState deployment, long nanos);
  }

  private static void take(Scaling scaling, String node, HandleMetricReport report, long nowNanos) {
    if (report.last()) {
      scaling.end(node, nowNanos);
    } else {
      scaling.report(node, report.averageLoad(), report.averageReserved(), nowNanos);
    }
  }

  /** A deployment is gone. */
  void forget(DeploymentId deployment) {
    followed.remove(deployment);
    reports.forget(deployment);
  }

  // --- what is decided ---

  /**
   * How many replicas a deployment is to have, which is kept and told where it is another number.
   *
   * @return null when its number does not follow its load
   */
  @Nullable ScalingDecision decide(DeploymentState deployment, Turn turn) {
    if (deployment.deleting || !DeploymentConfig.autoscales(deployment.target.settings())) {
      if (followed.remove(deployment.id) != null
          | deployment.application.autoscaled.remove(deployment.id.name()) != null) {
        turn.add(new Rescale(epoch, deployment.id, null, null));
      }
      return null;
    }
    Followed known =
        followed.computeIfAbsent(deployment.id, id -> follow(deployment, turn.nowNanos));
    if (known.target != deployment.target) {
      known.target = deployment.target;
      known.scaling.rules(ScalingRules.of(deployment.target.settings()));
    }
    consult(known, turn);
    ScalingDecision decision = known.scaling.decide(fleet(deployment), known.answer, turn.nowNanos);
    turn.add(new Decided(deployment.id, known.scaling.rules(), decision, known.scaling.failures()));
    keep(known, decision, turn);
    return decision;
  }

  private void keep(Followed known, ScalingDecision decision, Turn turn) {
    DeploymentState deployment = known.deployment;
    Autoscaled kept = deployment.application.autoscaled.get(deployment.id.name());
    boolean remembers =
        !Objects.equals(known.policyState, kept == null ? null : kept.policyState())
            && turn.nowNanos - known.keptNanos >= KEEP_STATE_NANOS
            && !decision.inputs().fleet().paused();
    if (decision.changes() || remembers) {
      Autoscaled now = new Autoscaled(decision.replicas(), false, known.policyState);
      known.keptNanos = turn.nowNanos;
      deployment.application.autoscaled.put(deployment.id.name(), now);
      turn.add(new Rescale(epoch, deployment.id, now, decision.changes() ? decision : null));
    }
  }

  // --- policies of users' own ---

  /** Asks the policy of a deployment if it is time; meanwhile its last answer holds. */
  private void consult(Followed known, Turn turn) {
    PolicySource source = PolicySource.of(known.deployment);
    if (!Objects.equals(source, known.source)) {
      known.source = source;
      known.answer = source == null ? null : PolicyAnswer.NOTHING;
      known.askedNanos = turn.nowNanos; // by then all are there that it decides for
    }
    if (source == null || turn.nowNanos - known.askedNanos < ASK_NANOS) {
      return;
    }
    List<Context> contexts = new ArrayList<>();
    for (DeploymentId id : known.deployment.application.deployments.keySet()) {
      Followed each = followed.get(id);
      if (each != null && source.equals(each.source)) { // itself, or all that one decides for
        each.askedNanos = turn.nowNanos;
        contexts.add(context(each, source, turn.nowNanos));
      }
    }
    turn.add(new AskPolicy(epoch, source, contexts));
  }

  private static Context context(Followed of, PolicySource source, long nowNanos) {
    JsonObject kept = of.policyState == null ? new JsonObject() : new JsonObject(of.policyState);
    JsonObject own = kept.getJsonObject(source.className(), new JsonObject());
    return of.scaling.context(of.deployment.id, fleet(of.deployment), own.getMap(), nowNanos);
  }

  /** A policy was asked: what one of an older build says does not count. */
  void answered(PolicyAnswered event, Turn turn) {
    event
        .replies()
        .forEach(
            (id, reply) -> {
              Followed each = followed.get(id);
              if (each != null && event.source().equals(each.source)) {
                each.answer = reply.answer();
                each.policyState = reply.state() == null ? each.policyState : reply.state();
                turn.touch(each.deployment);
              }
            });
  }

  /** When its policy is asked next. */
  long nextAskNanos(DeploymentState deployment) {
    Followed known = followed.get(deployment.id);
    return known == null || known.source == null ? Long.MAX_VALUE : known.askedNanos + ASK_NANOS;
  }

  private Followed follow(DeploymentState deployment, long nowNanos) {
    ScalingRules rules = ScalingRules.of(deployment.target.settings());
    Scaling scaling = new Scaling(rules, silentNanos, nowNanos);
    expected.forEach(node -> scaling.expect(node, nowNanos));
    reports.of(deployment.id).forEach((node, report) -> take(scaling, node, report, nowNanos));
    return new Followed(deployment, scaling, nowNanos);
  }

  private static Fleet fleet(DeploymentState deployment) {
    int running = 0;
    int starting = 0;
    for (ReplicaRecord replica : deployment.replicas.values()) {
      running += replica.isServing() ? 1 : 0;
      starting += replica.isActive() && !replica.isServing() ? 1 : 0;
    }
    return new Fleet(
        running,
        starting,
        deployment.target.settings().get(DeploymentConfig.NUM_REPLICAS),
        deployment.application.isPaused(deployment.target),
        !deployment.progress.frozen() && deployment.othersServe());
  }

  // --- what operators see ---

  /** One of them in short; null when its number does not follow its load. */
  @Nullable ScalingDetails details(DeploymentState deployment, long nowNanos, long nowMs) {
    Followed known = followed.get(deployment.id);
    if (known == null) {
      return null;
    }
    ScalingDecision now = known.scaling.look(fleet(deployment), nowNanos);
    ScalingRules rules = known.scaling.rules();
    ScalingInputs inputs = now.inputs();
    long oldest = inputs.sources().stream().mapToLong(Source::ageNanos).max().orElse(-1);
    long left = TimeUnit.NANOSECONDS.toMillis(now.untilNanos() - now.nanos());
    return new ScalingDetails(
        rules.minReplicas(),
        rules.maxReplicas(),
        rules.target(),
        Math.round(inputs.total() * 100) / 100.0,
        inputs.fleet().running(),
        now.replicas(),
        inputs.fleet().paused(),
        now.reason().name(),
        now.why(),
        now.told(),
        known.scaling.lastChange(),
        nowMs,
        now.untilNanos() == Long.MAX_VALUE ? null : nowMs + left,
        oldest < 0 ? null : TimeUnit.NANOSECONDS.toMillis(oldest),
        inputs.unknown());
  }

  /** One of them whole; null when its number does not follow its load. */
  @Nullable ScalingView view(DeploymentState deployment, long nowNanos, long nowMs) {
    ScalingDetails now = details(deployment, nowNanos, nowMs);
    if (now == null) {
      return null;
    }
    Scaling scaling = followed.get(deployment.id).scaling;
    ScalingInputs inputs = scaling.look(fleet(deployment), nowNanos).inputs();
    DeploymentLoad demand = reports.load(deployment.id, nowNanos);
    return new ScalingView(now, inputs, demand, scaling.failures(), scaling.decisions());
  }
}
