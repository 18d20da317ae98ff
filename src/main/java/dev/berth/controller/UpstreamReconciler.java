package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.controller.Reconciler.ReconcileDecision;
import dev.berth.controller.RolloutProgress.RolloutTrial;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.view.ReplicaPhase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BinaryOperator;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Decides the next steps of a deployment whose replicas are upstreams: one replica for each key. A
 * plain function like {@link Reconciler}, and idempotent.
 *
 * <p><b>Bounds.</b> A key starts only while no replica of it exists in any phase, in any
 * deployment: two replicas would admit twice the maximum. So there is no surge, and no replica is
 * replaced: a changed target reconfigures it in place, also after a refusal, and a sick one stays.
 * Only a replica that must begin or cease to run batches drains, and the next one starts then. In a
 * cluster, an owner that does not reach its upstream is replaced on a node that does.
 *
 * <p><b>Order.</b> A replica that is no longer wanted drains once a wanted one serves, or another
 * deployment waits for its upstream. A controller that starts may find two of one key, as the owner
 * of the first has returned; the later one drains.
 *
 * <p><b>Failure.</b> After a failed start or a refused change, nothing starts or changes until the
 * backoff has passed. A failed version starts nothing; the keys of the last complete target do.
 */
final class UpstreamReconciler {
  /** Order of two replicas of one key: the first keeps it. */
  private static final Comparator<ReplicaRecord> FIRST =
      Comparator.comparing(ReplicaRecord::isStarting)
          .thenComparingLong(each -> each.startedMs)
          .thenComparing(each -> each.id);

  private final DeploymentState deployment;
  private final DeploymentTarget target;
  private final RolloutProgress before;
  private final @Nullable DeploymentTarget made; // target of new replicas
  private final UpstreamPlaces places;
  private final Map<String, String> wanted; // node by key; empty for any
  private final Map<String, ReplicaRecord> own = new LinkedHashMap<>(); // wanted and active, by key
  private final List<ReconcileStep> steps = new ArrayList<>();
  private final long nowNanos;
  private long wakeNanos = Long.MAX_VALUE;
  private String lacks;

  private UpstreamReconciler(DeploymentState deployment, UpstreamPlaces places, long nowNanos) {
    this.deployment = deployment;
    this.target = deployment.target;
    this.before = deployment.progress;
    this.made = deployment.startTarget();
    this.places = places;
    this.wanted = places.keys;
    this.lacks = places.lacks;
    this.nowNanos = nowNanos;
  }

  /**
   * Decides the next steps of a deployment that is not being deleted.
   *
   * @param placement for this decision only: each start is counted in it
   * @param isFree returns whether no replica of a key exists
   */
  static ReconcileDecision decide(
      DeploymentState deployment,
      Placement placement,
      UpstreamNames names,
      Predicate<String> isFree,
      long nowNanos) {
    UpstreamPlaces places = UpstreamPlaces.of(deployment, placement, names);
    return new UpstreamReconciler(deployment, places, nowNanos).decide(placement, isFree);
  }

  private ReconcileDecision decide(Placement placement, Predicate<String> isFree) {
    boolean waits = before.backoff().isWaiting(nowNanos);
    wakeNanos = waits ? before.backoff().untilNanos() : wakeNanos;
    stopUnwanted(placement, waits);
    wanted.forEach(
        (key, node) -> {
          if (!own.containsKey(key)) {
            start(key, node, waits, placement, isFree);
          }
        });
    own.values().stream()
        .filter(each -> each.phase == ReplicaPhase.RUNNING && isOutdated(each))
        .filter(each -> !waits && !before.frozen())
        .forEach(each -> steps.add(new ReconcileStep.ReconfigureStep(each, target)));
    RolloutProgress after = judge(); // may lower wakeNanos
    return new ReconcileDecision(List.copyOf(steps), after, wakeNanos, lacks, wanted.size());
  }

  private void start(
      String key, String node, boolean waits, Placement placement, Predicate<String> isFree) {
    if (!isFree.test(key) || deployment.count(each -> UpstreamPlaces.replaces(key, each)) > 0) {
      lacks = "upstream " + key + ": its last replica has not ended";
    } else if (placement.room() == 0) {
      lacks = placement.full();
    } else if (!waits && made != null) {
      if (node.isEmpty()) {
        String next = placement.nextOwner(ownersOf(key));
        steps.add(new ReconcileStep.StartStep(made, next, key));
      } else if (placement.take(node)) {
        steps.add(new ReconcileStep.StartStep(made, node, key));
      } else {
        lacks = "upstream " + key + ": the node has max_replicas_per_node replicas";
      }
    }
  }

  private Set<String> ownersOf(String key) {
    Set<String> nodes = new HashSet<>();
    String identity = UpstreamOptions.withoutPart(key);
    for (ReplicaRecord each : own.values()) {
      if (UpstreamOptions.withoutPart(each.upstream).equals(identity)) {
        nodes.add(each.node);
      }
    }
    for (ReconcileStep each : steps) {
      if (each instanceof ReconcileStep.StartStep start
          && UpstreamOptions.withoutPart(start.upstream()).equals(identity)) {
        nodes.add(start.node());
      }
    }
    return nodes;
  }

  private void stopUnwanted(Placement placement, boolean waits) {
    List<ReplicaRecord> unwanted = new ArrayList<>();
    List<ReplicaRecord> surplus = new ArrayList<>();
    for (ReplicaRecord replica : deployment.replicas.values()) {
      if (replica.isActive() && wanted.containsKey(replica.upstream)) {
        ReplicaRecord other = own.get(replica.upstream);
        ReplicaRecord first =
            other == null ? replica : BinaryOperator.minBy(FIRST).apply(replica, other);
        own.put(replica.upstream, first);
        if (other != null) {
          surplus.add(first == other ? replica : other);
        }
      } else if (replica.isActive()) {
        unwanted.add(replica);
      }
    }
    List<ReplicaRecord> leaving =
        own.values().stream()
            .filter(placement::leaves)
            .filter(each -> UpstreamPlaces.isOnNode(each) || placement.room() > 0)
            .toList();
    Duration grace = target.settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S);
    for (ReplicaRecord each : leaving) {
      own.remove(each.upstream);
      if (UpstreamPlaces.isOnNode(each)) {
        wanted.remove(each.upstream);
      }
      steps.add(new ReconcileStep.StopStep(each, grace, "its node is leaving", false));
    }
    for (ReplicaRecord each : List.copyOf(own.values())) {
      if (each.isServing() && !waits && placement.accepts(each.successor)) {
        own.remove(each.upstream);
        wanted.put(each.upstream, each.successor);
        String reason = "its upstream is reachable from " + Placement.nameOf(each.successor);
        steps.add(new ReconcileStep.StopStep(each, grace, reason, false));
      }
    }
    boolean batches = made != null && made.settings().find(DeploymentConfig.BATCH) != null;
    for (ReplicaRecord each : List.copyOf(own.values())) {
      ReplicaInfo info = each.info;
      if (each.isServing()
          && info != null
          && made != null
          && info.batches("") != batches
          && !waits) {
        own.remove(each.upstream);
        String reason = "berth.batch was " + (batches ? "added" : "removed");
        steps.add(new ReconcileStep.StopStep(each, grace, reason, false));
      }
    }
    surplus.stream()
        .map(each -> new ReconcileStep.StopStep(each, grace, "another has its upstream", false))
        .forEach(steps::add);
    boolean serves = own.values().stream().anyMatch(ReplicaRecord::isServing);
    unwanted.stream()
        .filter(each -> serves || each.isStarting() || isReplaced(each) || each.awaited)
        .map(each -> new ReconcileStep.StopStep(each, grace, "it is no longer wanted", false))
        .forEach(steps::add);
  }

  private boolean isReplaced(ReplicaRecord replica) {
    return wanted.keySet().stream().anyMatch(key -> UpstreamPlaces.replaces(key, replica));
  }

  private boolean isOutdated(ReplicaRecord replica) {
    return replica.refused || !deployment.isCurrent(replica);
  }

  private RolloutProgress judge() {
    boolean settled =
        steps.isEmpty()
            && !places.areUnknown()
            && own.size() == wanted.size()
            && own.size() == deployment.replicas.size()
            && own.values().stream()
                .allMatch(each -> each.phase == ReplicaPhase.RUNNING && !isOutdated(each));
    if (!settled) {
      return before;
    }
    RolloutProgress done = before.completed(target, nowNanos);
    RolloutTrial trial = done.trial();
    wakeNanos = trial == null ? wakeNanos : Math.min(wakeNanos, trial.endsNanos());
    return done.frozen() ? done : done.with(done.standing().healthy());
  }
}
