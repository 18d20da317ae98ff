package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.AutoscalingPolicy.Context;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.controller.ControllerAction.Decided;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.controller.ControllerEvent.PolicyAnswered;
import dev.berth.controller.autoscaling.DeploymentAutoscaler;
import dev.berth.controller.autoscaling.HandleReports;
import dev.berth.controller.autoscaling.PolicyAnswer;
import dev.berth.controller.autoscaling.ReplicaCounts;
import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.controller.autoscaling.ScalingInputs;
import dev.berth.controller.autoscaling.ScalingInputs.LoadSource;
import dev.berth.controller.autoscaling.ScalingRules;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.ReplicaStats;
import dev.berth.view.ScalingDetails;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ObjLongConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The deployments whose number of replicas follows their load, with their load reports and
 * decisions. Confined to the controller's loop.
 */
final class AutoscaledDeployments {
  /**
   * Delay in nanoseconds within which load reports are handled together. Source: Ray Serve's
   * control loop.
   */
  static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Interval between two calls of a policy, in nanoseconds. */
  static final long ASK_NANOS = TimeUnit.SECONDS.toNanos(1);

  /**
   * Minimum interval in nanoseconds between two writes of a policy's state alone: each one writes
   * to the disk.
   */
  static final long KEEP_STATE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** The autoscaling state of one deployment. */
  private static final class AutoscaledDeployment {
    final DeploymentState deployment;
    final DeploymentAutoscaler scaling;
    @Nullable PolicySource source; // null when the load ratio decides
    @Nullable PolicyAnswer answer; // last one of the policy
    @Nullable String policyState;
    long askedNanos;
    long keptNanos;
    long failures; // of the policy, in total
    @Nullable PolicyAnswered told; // last event of the policy

    AutoscaledDeployment(DeploymentState deployment, HandleReports reports, long nowNanos) {
      this.deployment = deployment;
      this.scaling =
          new DeploymentAutoscaler(
              ScalingRules.of(deployment.target.settings()), reports, nowNanos);
      this.keptNanos = nowNanos;
      AutoscaledReplicaCount kept = deployment.application.autoscaled.get(deployment.id.name());
      this.policyState = kept == null ? null : kept.policyState();
      reports.of(deployment.id).forEach((node, said) -> take(scaling, node, said, nowNanos));
    }
  }

  private final Epoch epoch;
  private final HandleReports reports;
  private final Map<DeploymentId, AutoscaledDeployment> followed = new HashMap<>();
  // nodes lost before their first report, with the time
  private final Map<String, Long> unheard = new HashMap<>();

  AutoscaledDeployments(Epoch epoch, HandleReports reports) {
    this.epoch = epoch;
    this.reports = reports;
  }

  // --- reports ---

  /**
   * Records a batch of load reports.
   *
   * @param look receives each affected deployment and the time of its next decision
   * @return false for a stale batch
   */
  boolean record(HandleMetricBatch batch, long nowNanos, ObjLongConsumer<DeploymentState> look) {
    if (!reports.record(batch, nowNanos)) {
      return false;
    }
    batch.replicas().forEach(report -> takeStats(report, nowNanos));
    Stream<AutoscaledDeployment> told =
        // deployments that the batch omits may have reports of an earlier start
        reports.isNews(batch.node(), nowNanos)
            ? followed.values().stream()
            : batch.handles().stream().map(HandleMetricReport::deployment).flatMap(this::followed);
    told.forEach(
        each -> {
          HandleMetricReport said = reports.lastReport(batch.node(), each.deployment.id);
          take(each.scaling, batch.node(), said, nowNanos);
          ScalingDecision last = each.scaling.last();
          boolean cold = last == null || last.inputs().fleet().running() == 0;
          look.accept(each.deployment, cold ? nowNanos : nowNanos + LOOK_NANOS);
        });
    return true;
  }

  private void takeStats(HandleMetricReport report, long nowNanos) {
    AutoscaledDeployment of = followed.get(report.deployment());
    for (ReplicaStats told : report.stats()) {
      ReplicaRecord replica = of == null ? null : of.deployment.replicas.get(told.replicaId());
      if (replica != null) {
        replica.stats.add(told, of.scaling.rules(), nowNanos);
      }
    }
  }

  private Stream<AutoscaledDeployment> followed(DeploymentId deployment) {
    return Stream.ofNullable(followed.get(deployment));
  }

  private static void take(
      DeploymentAutoscaler scaling,
      String node,
      @Nullable HandleMetricReport report,
      long nowNanos) {
    if (report == null || report.last()) {
      scaling.end(node, nowNanos);
    } else {
      scaling.report(node, report.averageLoad(), report.averageReserved(), nowNanos);
    }
  }

  /** Registers live instances that have not reported yet. */
  void expect(Collection<String> nodes, long nowNanos) {
    reports.expect(nodes, nowNanos);
  }

  /** Removes a lost instance. The load of its callers is unknown for one look-back window. */
  void onNodeLost(String node, long nowNanos) {
    reports.forget(node);
    followed.values().forEach(each -> each.scaling.onInstanceLost(node, nowNanos));
  }

  /**
   * Removes an instance of an earlier controller that was lost before it reported to this one. Its
   * load is unknown for one look-back window, for each deployment that is followed from now on.
   */
  void onUnreportedNodeLost(String node, long nowNanos) {
    if (reports.forget(node)) {
      unheard.put(node, nowNanos);
    }
  }

  /** Removes an instance that left after its last report. */
  void onNodeLeft(String node, long nowNanos) {
    reports.forget(node);
    followed.values().forEach(each -> each.scaling.end(node, nowNanos));
  }

  /** Removes a deleted deployment. */
  void forget(DeploymentId deployment) {
    followed.remove(deployment);
    reports.forget(deployment);
  }

  // --- decisions ---

  /**
   * Decides the number of replicas of a deployment. A changed number is recorded and added to the
   * turn's actions.
   *
   * @return null when the deployment does not autoscale
   */
  @Nullable ScalingDecision decide(DeploymentState deployment, ReconcilePass turn) {
    if (deployment.deleting || !DeploymentConfig.autoscales(deployment.target.settings())) {
      if (followed.remove(deployment.id) != null
          | deployment.application.autoscaled.remove(deployment.id.name()) != null) {
        turn.add(new Rescale(epoch, deployment.id, null, null));
      }
      return null;
    }
    AutoscaledDeployment known =
        followed.computeIfAbsent(
            deployment.id,
            id -> {
              AutoscaledDeployment begun =
                  new AutoscaledDeployment(deployment, reports, turn.nowNanos);
              unheard.forEach(begun.scaling::recordUnreportedLoss);
              return begun;
            });
    known.scaling.rules(ScalingRules.of(deployment.target.settings()));
    consult(known, turn);
    ScalingDecision decision = known.scaling.decide(fleet(deployment), known.answer, turn.nowNanos);
    turn.add(
        new Decided(deployment.id, known.scaling.rules(), decision, known.failures, known.told));
    keep(known, decision, turn);
    return decision;
  }

  private void keep(AutoscaledDeployment known, ScalingDecision decision, ReconcilePass turn) {
    DeploymentState deployment = known.deployment;
    AutoscaledReplicaCount kept = deployment.application.autoscaled.get(deployment.id.name());
    boolean remembers =
        !Objects.equals(known.policyState, kept == null ? null : kept.policyState())
            && turn.nowNanos - known.keptNanos >= KEEP_STATE_NANOS
            && !decision.inputs().fleet().paused();
    if (decision.changes() || remembers) {
      AutoscaledReplicaCount now =
          new AutoscaledReplicaCount(decision.replicas(), false, known.policyState);
      known.keptNanos = turn.nowNanos;
      deployment.application.autoscaled.put(deployment.id.name(), now);
      turn.add(new Rescale(epoch, deployment.id, now, decision.changes() ? decision : null));
    }
  }

  // --- user-defined policies ---

  /**
   * Calls the policy of a deployment when its interval has passed; until the reply its last one
   * applies.
   */
  private void consult(AutoscaledDeployment known, ReconcilePass turn) {
    PolicySource source = PolicySource.of(known.deployment);
    if (!Objects.equals(source, known.source)) {
      known.source = source;
      known.told = null;
      known.answer = source == null ? null : PolicyAnswer.NOTHING;
      // after this interval all deployments of the policy are known
      known.askedNanos = turn.nowNanos;
    }
    if (source == null || turn.nowNanos - known.askedNanos < ASK_NANOS) {
      return;
    }
    List<Context> contexts = new ArrayList<>();
    for (DeploymentId id : known.deployment.application.deployments.keySet()) {
      AutoscaledDeployment each = followed.get(id);
      // this one, or all of the policy's application
      if (each != null && source.equals(each.source)) {
        each.askedNanos = turn.nowNanos;
        contexts.add(context(each, source, turn.nowNanos));
      }
    }
    turn.add(new AskPolicy(epoch, source, contexts));
  }

  /**
   * Returns the statistics that serving replicas reported, by replica id; replicas without
   * statistics are absent.
   */
  private Map<String, Map<String, Double>> stats(AutoscaledDeployment of, long nowNanos) {
    Map<String, Map<String, Double>> all = new TreeMap<>();
    for (ReplicaRecord each : of.deployment.replicas.values()) {
      Map<String, Double> told =
          each.stats.aggregate(of.scaling.rules(), reports.silentNanos, nowNanos);
      if (each.isServing() && !told.isEmpty()) {
        all.put(each.id, told);
      }
    }
    return all;
  }

  private Context context(AutoscaledDeployment of, PolicySource source, long nowNanos) {
    JsonObject kept = of.policyState == null ? new JsonObject() : new JsonObject(of.policyState);
    JsonObject own = kept.getJsonObject(source.className(), new JsonObject());
    ScalingRules rules = of.scaling.rules();
    ScalingInputs inputs = of.scaling.inputs(fleet(of.deployment), null, nowNanos);
    return new Context(
        of.deployment.id,
        inputs.fleet().running(),
        inputs.fleet().target(),
        rules.minReplicas(),
        rules.maxReplicas(),
        rules.target(),
        inputs.total(),
        inputs.latest(),
        stats(of, nowNanos),
        own.getMap());
  }

  /** Records the replies of a policy. Replies of an older build are ignored. */
  void onPolicyAnswered(PolicyAnswered event, ReconcilePass turn) {
    event
        .replies()
        .forEach(
            (id, reply) -> {
              AutoscaledDeployment each = followed.get(id);
              if (each != null && event.source().equals(each.source)) {
                each.told = event;
                each.answer = reply.answer();
                each.failures += reply.answer().failure() == null ? 0 : 1;
                each.policyState = reply.state() == null ? each.policyState : reply.state();
                turn.touch(each.deployment);
              }
            });
  }

  /** Returns the time of the next policy call; {@link Long#MAX_VALUE} without a policy. */
  long nextAskNanos(DeploymentState deployment) {
    AutoscaledDeployment known = followed.get(deployment.id);
    return known == null || known.source == null ? Long.MAX_VALUE : known.askedNanos + ASK_NANOS;
  }

  private static ReplicaCounts fleet(DeploymentState deployment) {
    return new ReplicaCounts(
        deployment.count(ReplicaRecord::isServing),
        deployment.count(ReplicaRecord::isStarting),
        deployment.target.settings().get(DeploymentConfig.NUM_REPLICAS),
        deployment.application.isPaused(deployment.target),
        !deployment.progress.frozen() && deployment.othersServe());
  }

  // --- view for operators ---

  /** Returns the autoscaling view of a deployment; null when the deployment does not autoscale. */
  @Nullable ScalingView view(DeploymentState deployment, long nowNanos, long nowMs) {
    AutoscaledDeployment known = followed.get(deployment.id);
    if (known == null) {
      return null;
    }
    DeploymentAutoscaler scaling = known.scaling;
    ScalingDecision now = scaling.look(fleet(deployment), known.answer, nowNanos);
    return new ScalingView(
        details(scaling, now, nowMs),
        now.inputs(),
        reports.load(deployment.id, nowNanos),
        stats(known, nowNanos),
        known.failures,
        scaling.decisions());
  }

  private static ScalingDetails details(
      DeploymentAutoscaler scaling, ScalingDecision now, long nowMs) {
    ScalingRules rules = scaling.rules();
    ScalingInputs inputs = now.inputs();
    long oldest = inputs.sources().stream().mapToLong(LoadSource::ageMs).max().orElse(-1);
    long left = TimeUnit.NANOSECONDS.toMillis(now.untilNanos() - now.atNanos());
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
        now.summary(),
        scaling.lastChange(),
        nowMs,
        now.untilNanos() == Long.MAX_VALUE ? null : nowMs + left,
        oldest < 0 ? null : oldest,
        inputs.unknown());
  }
}
