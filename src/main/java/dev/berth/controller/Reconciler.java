package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import dev.berth.view.ReplicaPhase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Decides the next steps for the replicas of one deployment. The decision is a plain function of
 * the desired state, the observed state and the time. It is idempotent: repeated without any change
 * it returns no steps.
 *
 * <p><b>State.</b> An instance serves one decision. It works on a copy of the active replicas and
 * changes nothing of the deployment; the caller executes the steps and stores the progress.
 *
 * <p><b>Bounds.</b> Active replicas never exceed the wanted number plus the surge; replicas with a
 * stop command do not count. While sick or leaving replicas are replaced, the surge counts as at
 * least one. An old replica that serves stops only when enough others serve; without a surge it
 * stops at the pace of the rollout.
 *
 * <p><b>Failure.</b> A failed version is not started again. Replicas of the last complete target
 * replace its missing ones. After a failure no replica starts until the backoff has passed.
 *
 * <p><b>Full nodes.</b> When no node can host another replica, a replica stops before its successor
 * starts. This exception does not apply to replicas that only leave their node.
 *
 * <p>Source: Ray Serve's {@code DeploymentState}. Berth differs in four points: it surges by
 * default, keeps replicas routable while they are reconfigured, always freezes a failing rollout,
 * and stops the least busy replica first.
 */
final class Reconciler {

  /**
   * The result of one decision.
   *
   * @param steps to execute, in order
   * @param progress to carry to the next decision
   * @param wakeNanos time of the next decision without an event; {@code Long.MAX_VALUE} for never
   * @param lacks why replicas are missing, when waiting does not help; empty otherwise
   * @param wanted number of replicas; negative for that of the settings
   */
  record ReconcileDecision(
      List<ReconcileStep> steps,
      RolloutProgress progress,
      long wakeNanos,
      String lacks,
      int wanted) {}

  private static final Comparator<ReplicaRecord> BY_ONGOING =
      Comparator.comparingInt(replica -> replica.ongoing < 0 ? Integer.MAX_VALUE : replica.ongoing);

  private final DeploymentState deployment;
  private final DeploymentTarget target;
  // without those that this decision stops
  private final List<ReplicaRecord> active = new ArrayList<>();
  private final RolloutProgress before;
  private final Placement placement;
  private final long nowNanos;
  private final int asked; // number of replicas in the target
  private final int wanted; // of those asked for, the number that nodes can host
  private final int surge;
  private final boolean moves; // whether replicas must move to another node
  private final List<ReconcileStep> steps = new ArrayList<>();
  private int scaledDown; // replicas stopped by this decision
  private long wakeNanos = Long.MAX_VALUE;
  private String lacks = "";

  private Reconciler(DeploymentState deployment, Placement placement, long nowNanos) {
    this.deployment = deployment;
    this.target = deployment.target;
    this.before = deployment.progress;
    this.placement = placement;
    this.nowNanos = nowNanos;
    deployment.replicas.values().stream().filter(ReplicaRecord::isActive).forEach(active::add);
    // stopping ones occupy nodes too
    long places = (long) deployment.replicas.size() + placement.room();
    asked = deployment.deleting ? 0 : target.settings().get(DeploymentConfig.NUM_REPLICAS);
    wanted = (int) Math.min(asked, places);
    int beyond = RolloutProgress.surge(target.settings(), wanted);
    moves = active.stream().anyMatch(placement::leaves);
    surge = (int) Math.min(moves ? Math.max(beyond, 1) : beyond, places - wanted);
  }

  /**
   * Decides the next steps of a deployment.
   *
   * @param deployment its present state, which is not changed
   * @param placement for this decision only: each start is counted in it
   */
  static ReconcileDecision decide(DeploymentState deployment, Placement placement, long nowNanos) {
    return new Reconciler(deployment, placement, nowNanos).decide();
  }

  private ReconcileDecision decide() {
    if (deployment.deleting) {
      List.copyOf(active).forEach(each -> stop(each, "its deployment is deleted", false));
      return new ReconcileDecision(steps, before, Long.MAX_VALUE, "", -1);
    }
    stopSick();
    stopOutdatedThatStart();
    scaleDown();
    keepBound();
    if (!isScalingDown()) {
      stopOutdated();
    }
    reconfigure();
    start();
    RolloutProgress after = judge(); // may lower wakeNanos
    return new ReconcileDecision(List.copyOf(steps), after, wakeNanos, lacks, -1);
  }

  // --- classification ---

  /** Returns whether a replica can reach the wanted version while it runs. */
  private boolean isConvertible(ReplicaRecord replica) {
    return !replica.isSick()
        && !deployment.isCurrent(replica)
        && !placement.leaves(replica)
        && replica.upstream.isEmpty() // else its entry is not of the target
        && !target.version().needsRestartFrom(replica.version());
  }

  /** Returns whether a replica must be replaced by a current one or by one on another node. */
  private boolean isOutdated(ReplicaRecord replica) {
    return isOfOldVersion(replica) || placement.leaves(replica);
  }

  /**
   * Returns whether a replica's version must be replaced; false for all while the rollout is
   * frozen.
   */
  private boolean isOfOldVersion(ReplicaRecord replica) {
    return !before.frozen() && !deployment.isCurrent(replica) && !isConvertible(replica);
  }

  private String whyOutdated(ReplicaRecord replica) {
    return isOfOldVersion(replica) ? "another version is wanted" : "its node is drained";
  }

  private static boolean servesWell(ReplicaRecord replica) {
    return replica.isServing() && !replica.isSick();
  }

  private int serving() {
    return (int) active.stream().filter(Reconciler::servesWell).count();
  }

  // --- steps ---

  /**
   * Stops one sick replica for each spare one that serves: many sick at once may have an external
   * cause.
   */
  private void stopSick() {
    long spare = active.stream().filter(ReplicaRecord::isServing).count() - wanted;
    for (ReplicaRecord replica : List.copyOf(active)) {
      boolean first = replica.isSick() && spare <= 0 && isToGoFirst(replica);
      if (replica.isSick() && (spare > 0 || wanted == 0 || first)) {
        stop(replica, "it is unhealthy and is replaced", false);
        spare--;
      }
    }
  }

  /**
   * Returns whether a sick replica must stop before its successor starts: no node has capacity, no
   * replica starts and no backoff runs.
   */
  private boolean isToGoFirst(ReplicaRecord replica) {
    return isFull()
        && placement.givesRoom(replica)
        && active.stream().noneMatch(ReplicaRecord::isStarting)
        && targetToStart() != null
        && !waits();
  }

  /** Stops starting replicas that are outdated or failed; they serve no requests yet. */
  private void stopOutdatedThatStart() {
    boolean givenUp = before.frozen() && before.complete() != null;
    for (ReplicaRecord replica : List.copyOf(active)) {
      if (replica.isStarting() && givenUp && deployment.isCurrent(replica)) {
        stop(replica, "its version has failed", false);
      } else if (replica.isStarting() && isOutdated(replica)) {
        stop(replica, whyOutdated(replica), false);
      }
    }
  }

  /**
   * Stops surplus replicas. The loop repeats, as stopped replicas can also reduce the surge that a
   * rollout may use.
   */
  private void scaleDown() {
    int excess = excess();
    while (excess > 0) {
      DeploymentTarget kept = targetToStart();
      List<ReplicaRecord> victims =
          new ArrayList<>(active.stream().filter(each -> wanted == 0 || !each.isSick()).toList());
      Collections.reverse(victims); // newest first; the stable sorts keep that order
      Comparator<ReplicaRecord> rank =
          Comparator.comparing(ReplicaRecord::isServing)
              .thenComparing(each -> kept != null && each.version().equals(kept.version()))
              .thenComparing(each -> !placement.leaves(each));
      victims.sort(rank.thenComparing(BY_ONGOING));
      Map<ReplicaRecord, Integer> left = leftBehind(victims);
      victims.sort(rank.thenComparing(each -> -left.get(each)));
      victims.subList(0, excess).forEach(each -> stop(each, "fewer are wanted", true));
      excess = excess();
    }
  }

  /** Returns the replicas left on each victim's node if the victims stopped in this order. */
  private Map<ReplicaRecord, Integer> leftBehind(List<ReplicaRecord> victims) {
    Map<String, Integer> there = new HashMap<>();
    active.forEach(each -> there.merge(each.node, 1, Integer::sum));
    Map<ReplicaRecord, Integer> left = new HashMap<>();
    victims.forEach(each -> left.put(each, there.merge(each.node, -1, Integer::sum)));
    return left;
  }

  /**
   * Stops replacements of sick replicas that became surplus, as fewer replicas are wanted since
   * their start.
   */
  private void keepBound() {
    List<ReplicaRecord> last = new ArrayList<>(active);
    Collections.reverse(last);
    last.sort(Comparator.comparing(ReplicaRecord::isServing)); // starting ones stop first
    for (ReplicaRecord replica : last) {
      boolean over = active.size() > wanted + Math.max(surge, 1);
      if (over && (replica.isStarting() || replica.isSick())) {
        stop(replica, "fewer are wanted", true);
      }
    }
  }

  private int excess() {
    if (wanted == 0) {
      return active.size();
    }
    int good = 0;
    int stay = 0;
    for (ReplicaRecord replica : active) {
      if (!replica.isSick()) {
        good++;
        stay += isOutdated(replica) ? 0 : 1;
      }
    }
    return good - wanted - (stay < good ? Math.min(surge, stay) : 0);
  }

  /**
   * Returns whether surplus replicas of an older version still drain; the rollout waits for them.
   */
  private boolean isScalingDown() {
    return scaledDown > 0
        || deployment.replicas.values().stream()
            .anyMatch(
                each ->
                    each.scaledDown
                        && !each.isActive()
                        && target.version().needsRestartFrom(each.version()));
  }

  private void stopOutdated() {
    Predicate<ReplicaRecord> goes = surge > 0 ? this::isOutdated : this::isOfOldVersion;
    List<ReplicaRecord> outdated = new ArrayList<>(active.stream().filter(goes).toList());
    if (outdated.isEmpty()) {
      return;
    }
    int rollout = RolloutProgress.rollout(target.settings());
    int most;
    if (surge > 0) {
      most = Math.min(rollout, serving() - wanted);
    } else {
      long current = active.stream().filter(goes.negate().and(ReplicaRecord::isServing)).count();
      most = rollout - (int) (wanted - current - outdated.size());
    }
    outdated.sort(BY_ONGOING);
    int free = placement.room() - Math.max(0, wanted - active.size());
    for (ReplicaRecord each : outdated) {
      // A stopped replica frees its node for its successor, if that one may start there.
      boolean hasRoom = surge > 0 || placement.givesRoom(each) || free-- > 0;
      if (hasRoom && most-- > 0) {
        stop(each, whyOutdated(each), false);
      }
    }
  }

  /**
   * Reconfigures replicas; those whose user_config changes at the pace of a rollout, as the hook
   * may fail or take long.
   */
  private void reconfigure() {
    boolean failing = before.failures() > 0 && !before.isComplete(target);
    if (before.frozen()
        || active.stream().anyMatch(ReplicaRecord::isSick)
        || (failing && serving() < wanted)) {
      return; // the next one waits until the failed one is replaced
    }
    List<ReplicaRecord> due =
        active.stream()
            .filter(each -> each.phase == ReplicaPhase.RUNNING && isConvertible(each))
            .toList();
    if (due.isEmpty() || waits()) {
      return;
    }
    long room =
        RolloutProgress.rollout(target.settings())
            - active.stream().filter(each -> each.phase == ReplicaPhase.UPDATING).count();
    for (ReplicaRecord replica : due) {
      boolean calls =
          !replica
              .target
              .settings()
              .get(DeploymentConfig.USER_CONFIG)
              .equals(target.settings().get(DeploymentConfig.USER_CONFIG));
      if (!calls || room > 0) {
        room -= calls ? 1 : 0;
        steps.add(new ReconcileStep.ReconfigureStep(replica, target));
      }
    }
  }

  /** Returns whether no node has capacity and no replica is stopping. */
  private boolean isFull() {
    return placement.room() == 0 && active.size() == deployment.replicas.size();
  }

  /** Returns the target of new replicas; null when no known target can start. */
  private @Nullable DeploymentTarget targetToStart() {
    return before.frozen() ? before.complete() : target;
  }

  private void start() {
    DeploymentTarget made = targetToStart();
    if (made == null) {
      return;
    }
    int outdated = (int) active.stream().filter(this::isOutdated).count();
    int sick = (int) active.stream().filter(ReplicaRecord::isSick).count();
    int good = (int) active.stream().filter(each -> !each.isSick() && !isOutdated(each)).count();
    int beyond = 0;
    if (sick > 0) {
      beyond = Math.max(surge, 1);
    } else if (outdated > 0 && !isScalingDown()) {
      beyond = surge;
    }
    int count = Math.min(wanted - good, wanted + beyond - active.size());
    if (wanted < asked || (moves && isFull())) {
      lacks = placement.full();
    }
    count = Math.min(count, placement.room());
    if (count <= 0 || waits()) {
      return;
    }
    for (int i = 0; i < count; i++) {
      steps.add(new ReconcileStep.StartStep(made, placement.next(), ""));
    }
  }

  /** Returns whether the backoff of a failure runs; the next decision then follows at its end. */
  private boolean waits() {
    boolean waits = before.backoff().isWaiting(nowNanos);
    wakeNanos = waits ? before.backoff().untilNanos() : wakeNanos;
    return waits;
  }

  private void stop(ReplicaRecord replica, String reason, boolean fewer) {
    active.remove(replica);
    scaledDown += fewer && !deployment.isCurrent(replica) ? 1 : 0;
    Duration grace =
        replica.isStarting()
            ? Duration.ZERO
            : target.settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S);
    steps.add(new ReconcileStep.StopStep(replica, grace, reason, fewer));
  }

  // --- progress ---

  private RolloutProgress judge() {
    boolean settled =
        steps.stream().noneMatch(ReconcileStep.StartStep.class::isInstance)
            && active.size() == asked
            && active.stream()
                .allMatch(
                    each ->
                        each.phase == ReplicaPhase.RUNNING
                            && !each.isSick()
                            && deployment.isCurrent(each));
    if (!settled || steps.stream().anyMatch(ReconcileStep.ReconfigureStep.class::isInstance)) {
      return before;
    }
    RolloutProgress done = before.completed(target, nowNanos);
    RolloutProgress.RolloutTrial trial = done.trial();
    if (trial != null) {
      wakeNanos = Math.min(wakeNanos, trial.endsNanos());
    }
    boolean nothingLeaves = active.size() == deployment.replicas.size() && steps.isEmpty();
    return nothingLeaves && !done.frozen() ? done.with(done.standing().healthy()) : done;
  }
}
