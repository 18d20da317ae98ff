package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import dev.berth.protocol.ReplicaPhase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/**
 * What to do next with the replicas of one deployment: a plain function of what is wanted, of what
 * is there and of the time. Deciding twice without anything having changed asks for nothing the
 * second time.
 *
 * <p>Rules: never more replicas than wanted and the surge, of those that were not told to go; an
 * old replica that serves goes only when enough others do; a version that failed is started no
 * more, and what it lacks is made up for by the last one that was complete.
 *
 * <p>Source: Ray Serve's {@code DeploymentState}. It differs in that Berth surges by default, keeps
 * replicas routable while they are reconfigured, always freezes a rollout that fails, and stops the
 * least busy first.
 */
final class Reconciler {

  /**
   * @param steps to take, in order
   * @param progress to remember
   * @param wakeNanos when to decide again though nothing happens; {@code Long.MAX_VALUE} for never
   */
  record Decision(List<Step> steps, Progress progress, long wakeNanos) {}

  private static final Comparator<ReplicaRecord> LEAST_BUSY =
      Comparator.comparingInt(replica -> replica.ongoing < 0 ? Integer.MAX_VALUE : replica.ongoing);

  private final DeploymentState deployment;
  private final DeploymentTarget target;
  private final List<ReplicaRecord> active = new ArrayList<>(); // without those told to go here
  private final Progress before;
  private final long nowNanos;
  private final int wanted;
  private final int surge;
  private final List<Step> steps = new ArrayList<>();
  private int scaledDown; // of these steps
  private long wakeNanos = Long.MAX_VALUE;

  private Reconciler(DeploymentState deployment, long nowNanos) {
    this.deployment = deployment;
    this.target = deployment.target;
    this.before = deployment.progress;
    this.nowNanos = nowNanos;
    this.wanted = deployment.deleting ? 0 : target.settings().get(DeploymentConfig.NUM_REPLICAS);
    this.surge = Progress.surge(target.settings(), wanted);
    deployment.replicas.values().stream().filter(ReplicaRecord::isActive).forEach(active::add);
  }

  /**
   * @param deployment as it is; nothing of it is changed
   */
  static Decision decide(DeploymentState deployment, long nowNanos) {
    return new Reconciler(deployment, nowNanos).decide();
  }

  private Decision decide() {
    if (deployment.deleting) {
      List.copyOf(active).forEach(each -> stop(each, "its deployment is deleted", false));
      return new Decision(steps, before, Long.MAX_VALUE);
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
    Progress after = judge(); // may have something to wake for
    return new Decision(List.copyOf(steps), after, wakeNanos);
  }

  // --- who is who ---

  /** It can become current as it runs. */
  private boolean isConvertible(ReplicaRecord replica) {
    return !replica.isSick()
        && !deployment.isCurrent(replica)
        && !target.version().needsRestartFrom(replica.version());
  }

  /** It is to be replaced by one that is current. While the rollout is frozen, none is. */
  private boolean isOutdated(ReplicaRecord replica) {
    return !before.frozen() && !deployment.isCurrent(replica) && !isConvertible(replica);
  }

  private static boolean servesWell(ReplicaRecord replica) {
    return replica.isServing() && !replica.isSick();
  }

  private int serving() {
    return (int) active.stream().filter(Reconciler::servesWell).count();
  }

  // --- steps ---

  /** One for each that serves in its place: many at once may be sick of what is not their fault. */
  private void stopSick() {
    long spare = active.stream().filter(ReplicaRecord::isServing).count() - wanted;
    for (ReplicaRecord replica : List.copyOf(active)) {
      if (replica.isSick() && (spare > 0 || wanted == 0)) {
        stop(replica, "it is unhealthy and is replaced", false);
        spare--;
      }
    }
  }

  /** Nothing is lost with them. */
  private void stopOutdatedThatStart() {
    boolean givenUp = before.frozen() && before.complete() != null;
    for (ReplicaRecord replica : List.copyOf(active)) {
      if (replica.isStarting() && givenUp && deployment.isCurrent(replica)) {
        stop(replica, "its version has failed", false);
      } else if (replica.isStarting() && isOutdated(replica)) {
        stop(replica, "another version is wanted", false);
      }
    }
  }

  /** Until nothing is left to give: who goes can make what a rollout may have beyond it less. */
  private void scaleDown() {
    int excess = excess();
    while (excess > 0) {
      DeploymentTarget kept = before.frozen() ? before.complete() : target;
      List<ReplicaRecord> victims =
          new ArrayList<>(active.stream().filter(each -> wanted == 0 || !each.isSick()).toList());
      Collections.reverse(victims); // the newest first; the sort keeps it among equals
      victims.sort(
          Comparator.comparing(ReplicaRecord::isServing)
              .thenComparing(each -> kept != null && each.version().equals(kept.version()))
              .thenComparing(LEAST_BUSY));
      victims.subList(0, excess).forEach(each -> stop(each, "fewer are wanted", true));
      excess = excess();
    }
  }

  /** Fewer may be wanted by now than when replacements of sick ones were started. */
  private void keepBound() {
    List<ReplicaRecord> last = new ArrayList<>(active);
    Collections.reverse(last);
    last.sort(Comparator.comparing(ReplicaRecord::isServing)); // what starts goes first
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

  /** Old ones that were too many anyway still drain: the rollout waits for them. */
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
    List<ReplicaRecord> outdated =
        new ArrayList<>(active.stream().filter(this::isOutdated).toList());
    if (outdated.isEmpty()) {
      return;
    }
    int rollout = Progress.rollout(target.settings());
    int most;
    if (surge > 0) {
      most = Math.min(rollout, serving() - wanted);
    } else {
      long current = active.stream().filter(each -> !isOutdated(each) && each.isServing()).count();
      most = rollout - (int) (wanted - current - outdated.size());
    }
    outdated.sort(LEAST_BUSY);
    outdated.stream()
        .limit(Math.max(0, most))
        .forEach(each -> stop(each, "another version is wanted", false));
  }

  /** Those whose user_config changes at the pace of a rollout: the hook may fail, or take long. */
  private void reconfigure() {
    boolean failing = before.failures() > 0 && !before.isComplete(target);
    if (before.frozen()
        || active.stream().anyMatch(ReplicaRecord::isSick)
        || (failing && serving() < wanted)) {
      return; // the next one waits until what failed is made up for
    }
    List<ReplicaRecord> due =
        active.stream()
            .filter(each -> each.phase == ReplicaPhase.RUNNING && isConvertible(each))
            .toList();
    if (due.isEmpty() || waits()) {
      return;
    }
    long room =
        Progress.rollout(target.settings())
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
        steps.add(new Step.Reconfigure(replica, target));
      }
    }
  }

  private void start() {
    DeploymentTarget made = before.frozen() ? before.complete() : target;
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
    if (count <= 0 || waits()) {
      return;
    }
    for (int i = 0; i < count; i++) {
      steps.add(new Step.Start(made));
    }
  }

  /** After a failure nothing is tried for a while, at whose end it decides again. */
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
    steps.add(new Step.Stop(replica, grace, reason, fewer));
  }

  // --- where it stands ---

  private Progress judge() {
    boolean settled =
        steps.stream().noneMatch(Step.Start.class::isInstance)
            && active.size() == wanted
            && active.stream()
                .allMatch(
                    each ->
                        each.phase == ReplicaPhase.RUNNING
                            && !each.isSick()
                            && deployment.isCurrent(each));
    if (!settled || steps.stream().anyMatch(Step.Reconfigure.class::isInstance)) {
      return before;
    }
    Progress done = before.completed(target, nowNanos);
    Progress.Trial trial = done.trial();
    if (trial != null) {
      wakeNanos = Math.min(wakeNanos, trial.endsNanos());
    }
    boolean nothingLeaves = active.size() == deployment.replicas.size() && steps.isEmpty();
    return nothingLeaves && !done.frozen() ? done.with(done.standing().healthy()) : done;
  }
}
