package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.Standing.Cause;
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

  private static final Comparator<ObservedReplica> LEAST_BUSY =
      Comparator.comparingInt(
          replica -> replica.ongoing() < 0 ? Integer.MAX_VALUE : replica.ongoing());

  private final DeploymentTarget target;
  private final boolean deleting;
  private final List<ObservedReplica> fleet;
  private final List<ObservedReplica> active = new ArrayList<>(); // without those told to go here
  private final Progress before;
  private final long nowNanos;
  private final int wanted;
  private final int surge;
  private final List<Step> steps = new ArrayList<>();
  private int scaledDown; // of these steps
  private long wakeNanos = Long.MAX_VALUE;

  private Reconciler(
      DeploymentTarget target,
      boolean deleting,
      List<ObservedReplica> fleet,
      Progress before,
      long nowNanos) {
    this.target = target;
    this.deleting = deleting;
    this.fleet = fleet;
    this.before = before;
    this.nowNanos = nowNanos;
    this.wanted = deleting ? 0 : target.settings().get(DeploymentConfig.NUM_REPLICAS);
    this.surge = surge(target.settings(), wanted);
    fleet.stream().filter(ObservedReplica::isActive).forEach(active::add);
  }

  /**
   * @param target what is wanted
   * @param deleting whether the deployment is to go
   * @param fleet its replicas, in the order they were started
   * @param progress as the last decision left it, with what happened since
   */
  static Decision decide(
      DeploymentTarget target,
      boolean deleting,
      List<ObservedReplica> fleet,
      Progress progress,
      long nowNanos) {
    return new Reconciler(target, deleting, fleet, progress, nowNanos).decide();
  }

  /** How many more replicas than wanted may be there during a rollout. */
  static int surge(Settings settings, int wanted) {
    return wanted == 0
        ? 0
        : (int) Math.ceil(settings.get(DeploymentConfig.MAX_SURGE_PERCENT) * wanted / 100);
  }

  /** How many replicas may be replaced at a time. */
  static int rollout(Settings settings) {
    return Math.max(
        1,
        (int)
            (settings.get(DeploymentConfig.ROLLING_UPDATE_PERCENTAGE)
                * settings.get(DeploymentConfig.NUM_REPLICAS)));
  }

  private Decision decide() {
    if (deleting) {
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

  private boolean isCurrent(ObservedReplica replica) {
    return replica.version().equals(target.version());
  }

  /** It can become current as it runs. */
  private boolean isConvertible(ObservedReplica replica) {
    return !replica.sick()
        && !isCurrent(replica)
        && !target.version().needsRestartFrom(replica.version());
  }

  /** It is to be replaced by one that is current. While the rollout is frozen, none is. */
  private boolean isOutdated(ObservedReplica replica) {
    return !before.frozen() && !isCurrent(replica) && !isConvertible(replica);
  }

  private static boolean servesWell(ObservedReplica replica) {
    return replica.isServing() && !replica.sick();
  }

  private int serving() {
    return (int) active.stream().filter(Reconciler::servesWell).count();
  }

  // --- steps ---

  /** One for each that serves in its place: many at once may be sick of what is not their fault. */
  private void stopSick() {
    long spare = active.stream().filter(ObservedReplica::isServing).count() - wanted;
    for (ObservedReplica replica : List.copyOf(active)) {
      if (replica.sick() && (spare > 0 || wanted == 0)) {
        stop(replica, "it is unhealthy and is replaced", false);
        spare--;
      }
    }
  }

  /** Nothing is lost with them. */
  private void stopOutdatedThatStart() {
    boolean givenUp = before.frozen() && before.complete() != null;
    for (ObservedReplica replica : List.copyOf(active)) {
      if (replica.isStarting() && givenUp && isCurrent(replica)) {
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
      List<ObservedReplica> victims =
          new ArrayList<>(active.stream().filter(each -> wanted == 0 || !each.sick()).toList());
      Collections.reverse(victims); // the newest first; the sort keeps it among equals
      victims.sort(
          Comparator.comparing(ObservedReplica::isServing)
              .thenComparing(each -> kept != null && each.version().equals(kept.version()))
              .thenComparing(LEAST_BUSY));
      victims.subList(0, excess).forEach(each -> stop(each, "fewer are wanted", true));
      excess = excess();
    }
  }

  /** Fewer may be wanted by now than when replacements of sick ones were started. */
  private void keepBound() {
    List<ObservedReplica> last = new ArrayList<>(active);
    Collections.reverse(last);
    last.sort(Comparator.comparing(ObservedReplica::isServing)); // what starts goes first
    for (ObservedReplica replica : last) {
      boolean over = active.size() > wanted + Math.max(surge, 1);
      if (over && (replica.isStarting() || replica.sick())) {
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
    for (ObservedReplica replica : active) {
      if (!replica.sick()) {
        good++;
        stay += isOutdated(replica) ? 0 : 1;
      }
    }
    return good - wanted - (stay < good ? Math.min(surge, stay) : 0);
  }

  /** Old ones that were too many anyway still drain: the rollout waits for them. */
  private boolean isScalingDown() {
    return scaledDown > 0
        || fleet.stream()
            .anyMatch(
                each ->
                    each.scaledDown()
                        && !each.isActive()
                        && target.version().needsRestartFrom(each.version()));
  }

  private void stopOutdated() {
    List<ObservedReplica> outdated =
        new ArrayList<>(active.stream().filter(this::isOutdated).toList());
    if (outdated.isEmpty()) {
      return;
    }
    int rollout = rollout(target.settings());
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
        || active.stream().anyMatch(ObservedReplica::sick)
        || (failing && serving() < wanted)) {
      return; // the next one waits until what failed is made up for
    }
    List<ObservedReplica> due =
        active.stream()
            .filter(each -> each.phase() == ReplicaPhase.RUNNING && isConvertible(each))
            .toList();
    if (due.isEmpty()) {
      return;
    }
    if (before.backoff().isWaiting(nowNanos)) {
      wakeNanos = before.backoff().untilNanos();
      return;
    }
    long room =
        rollout(target.settings())
            - active.stream().filter(each -> each.phase() == ReplicaPhase.UPDATING).count();
    for (ObservedReplica replica : due) {
      boolean calls =
          !replica
              .target()
              .settings()
              .get(DeploymentConfig.USER_CONFIG)
              .equals(target.settings().get(DeploymentConfig.USER_CONFIG));
      if (!calls || room > 0) {
        room -= calls ? 1 : 0;
        steps.add(new Step.Reconfigure(replica.id(), target));
      }
    }
  }

  private void start() {
    DeploymentTarget made = before.frozen() ? before.complete() : target;
    if (made == null) {
      return;
    }
    int outdated = (int) active.stream().filter(this::isOutdated).count();
    int sick = (int) active.stream().filter(ObservedReplica::sick).count();
    int good = (int) active.stream().filter(each -> !each.sick() && !isOutdated(each)).count();
    int beyond = 0;
    if (sick > 0) {
      beyond = Math.max(surge, 1);
    } else if (outdated > 0 && !isScalingDown()) {
      beyond = surge;
    }
    int count = Math.min(wanted - good, wanted + beyond - active.size());
    if (count <= 0) {
      return;
    }
    if (before.backoff().isWaiting(nowNanos)) {
      wakeNanos = before.backoff().untilNanos();
      return;
    }
    for (int i = 0; i < count; i++) {
      steps.add(new Step.Start(made));
    }
  }

  private void stop(ObservedReplica replica, String reason, boolean fewer) {
    active.remove(replica);
    scaledDown += fewer && !isCurrent(replica) ? 1 : 0;
    Duration grace =
        replica.isStarting()
            ? Duration.ZERO
            : target.settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S);
    steps.add(new Step.Stop(replica.id(), grace, reason, fewer));
  }

  // --- where it stands ---

  private Progress judge() {
    boolean settled =
        steps.stream().noneMatch(Step.Start.class::isInstance)
            && active.size() == wanted
            && active.stream()
                .allMatch(
                    each ->
                        each.phase() == ReplicaPhase.RUNNING && !each.sick() && isCurrent(each));
    if (!settled || steps.stream().anyMatch(Step.Reconfigure.class::isInstance)) {
      return before;
    }
    Progress done = before.completed(target, nowNanos);
    Progress.Trial trial = done.trial();
    if (trial != null) {
      wakeNanos = Math.min(wakeNanos, trial.endsNanos());
    }
    boolean nothingLeaves = active.size() == fleet.size() && steps.isEmpty();
    return nothingLeaves && !done.frozen()
        ? done.with(done.standing().on(Cause.HEALTHY, ""))
        : done;
  }
}
