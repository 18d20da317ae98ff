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
 * What to do next with the replicas of one deployment: a plain function of what is wanted, of what
 * is there and of the time. Deciding twice without anything having changed asks for nothing the
 * second time.
 *
 * <p>Rules: never more replicas than wanted and the surge, of those that were not told to go; an
 * old replica that serves goes only when enough others do; a version that failed is started no
 * more, and what it lacks is made up for by the last one that was complete. Where no more have room
 * than are there, one goes before its successor starts; but not for the sake of an instance that is
 * to be left.
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
   * @param lacks why fewer are there than are to be, when no time brings them; empty otherwise
   */
  record Decision(List<Step> steps, Progress progress, long wakeNanos, String lacks) {}

  private static final Comparator<ReplicaRecord> LEAST_BUSY =
      Comparator.comparingInt(replica -> replica.ongoing < 0 ? Integer.MAX_VALUE : replica.ongoing);

  private final DeploymentState deployment;
  private final DeploymentTarget target;
  private final List<ReplicaRecord> active = new ArrayList<>(); // without those told to go here
  private final Progress before;
  private final Placement placement;
  private final long nowNanos;
  private final int asked; // of replicas
  private final int wanted; // of those asked for, that there are places for
  private final int surge;
  private final boolean moves; // some of them, to another node
  private final List<Step> steps = new ArrayList<>();
  private int scaledDown; // of these steps
  private long wakeNanos = Long.MAX_VALUE;
  private String lacks = "";

  private Reconciler(DeploymentState deployment, Placement placement, long nowNanos) {
    this.deployment = deployment;
    this.target = deployment.target;
    this.before = deployment.progress;
    this.placement = placement;
    this.nowNanos = nowNanos;
    deployment.replicas.values().stream().filter(ReplicaRecord::isActive).forEach(active::add);
    long places = (long) deployment.replicas.size() + placement.room(); // of who goes, too
    asked = deployment.deleting ? 0 : target.settings().get(DeploymentConfig.NUM_REPLICAS);
    wanted = (int) Math.min(asked, places);
    int beyond = Progress.surge(target.settings(), wanted);
    moves = active.stream().anyMatch(placement::leaves);
    surge = (int) Math.min(moves ? Math.max(beyond, 1) : beyond, places - wanted);
  }

  /**
   * @param deployment as it is; nothing of it is changed
   * @param placement as it is, for this one decision
   */
  static Decision decide(DeploymentState deployment, Placement placement, long nowNanos) {
    return new Reconciler(deployment, placement, nowNanos).decide();
  }

  private Decision decide() {
    if (deployment.deleting) {
      List.copyOf(active).forEach(each -> stop(each, "its deployment is deleted", false));
      return new Decision(steps, before, Long.MAX_VALUE, "");
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
    return new Decision(List.copyOf(steps), after, wakeNanos, lacks);
  }

  // --- who is who ---

  /** It can become current as it runs. */
  private boolean isConvertible(ReplicaRecord replica) {
    return !replica.isSick()
        && !deployment.isCurrent(replica)
        && !placement.leaves(replica)
        && !target.version().needsRestartFrom(replica.version());
  }

  /** It is to be replaced, by one that is current or that is elsewhere. */
  private boolean isOutdated(ReplicaRecord replica) {
    return isOfOldVersion(replica) || placement.leaves(replica);
  }

  /** While the rollout is frozen, none is. */
  private boolean isOfOldVersion(ReplicaRecord replica) {
    return !before.frozen() && !deployment.isCurrent(replica) && !isConvertible(replica);
  }

  private String whyOutdated(ReplicaRecord replica) {
    return isOfOldVersion(replica) ? "another version is wanted" : "its node is to be left";
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
      boolean first = replica.isSick() && spare <= 0 && isToGoFirst(replica);
      if (replica.isSick() && (spare > 0 || wanted == 0 || first)) {
        stop(replica, "it is unhealthy and is replaced", false);
        spare--;
      }
    }
  }

  /** Nothing else is under way, and what takes its place can start nowhere before. */
  private boolean isToGoFirst(ReplicaRecord replica) {
    return isFull()
        && placement.givesRoom(replica)
        && active.stream().noneMatch(ReplicaRecord::isStarting)
        && made() != null
        && !waits();
  }

  /** Nothing is lost with them. */
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

  /** Until nothing is left to give: who goes can make what a rollout may have beyond it less. */
  private void scaleDown() {
    int excess = excess();
    while (excess > 0) {
      DeploymentTarget kept = made();
      List<ReplicaRecord> victims =
          new ArrayList<>(active.stream().filter(each -> wanted == 0 || !each.isSick()).toList());
      Collections.reverse(victims); // the newest first; the sorts keep it among equals
      Comparator<ReplicaRecord> rank =
          Comparator.comparing(ReplicaRecord::isServing)
              .thenComparing(each -> kept != null && each.version().equals(kept.version()))
              .thenComparing(each -> !placement.leaves(each));
      victims.sort(rank.thenComparing(LEAST_BUSY));
      Map<ReplicaRecord, Integer> left = leftBehind(victims);
      victims.sort(rank.thenComparing(each -> -left.get(each)));
      victims.subList(0, excess).forEach(each -> stop(each, "fewer are wanted", true));
      excess = excess();
    }
  }

  /** How many would be left on the node of each, were they stopped in this order. */
  private Map<ReplicaRecord, Integer> leftBehind(List<ReplicaRecord> victims) {
    Map<String, Integer> there = new HashMap<>();
    active.forEach(each -> there.merge(each.node, 1, Integer::sum));
    Map<ReplicaRecord, Integer> left = new HashMap<>();
    victims.forEach(each -> left.put(each, there.merge(each.node, -1, Integer::sum)));
    return left;
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
    Predicate<ReplicaRecord> goes = surge > 0 ? this::isOutdated : this::isOfOldVersion;
    List<ReplicaRecord> outdated = new ArrayList<>(active.stream().filter(goes).toList());
    if (outdated.isEmpty()) {
      return;
    }
    int rollout = Progress.rollout(target.settings());
    int most;
    if (surge > 0) {
      most = Math.min(rollout, serving() - wanted);
    } else {
      long current = active.stream().filter(goes.negate().and(ReplicaRecord::isServing)).count();
      most = rollout - (int) (wanted - current - outdated.size());
    }
    outdated.sort(LEAST_BUSY);
    int free = placement.room() - Math.max(0, wanted - active.size());
    for (ReplicaRecord each : outdated) {
      // What goes first leaves its place to its successor, if that may start there.
      boolean hasRoom = surge > 0 || placement.givesRoom(each) || free-- > 0;
      if (hasRoom && most-- > 0) {
        stop(each, whyOutdated(each), false);
      }
    }
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

  /** There is room for no more, nor will there be soon. */
  private boolean isFull() {
    return placement.room() == 0 && active.size() == deployment.replicas.size();
  }

  /** What is started; null when nothing that is known can be. */
  private @Nullable DeploymentTarget made() {
    return before.frozen() ? before.complete() : target;
  }

  private void start() {
    DeploymentTarget made = made();
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
      steps.add(new Step.Start(made, placement.next()));
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
            && active.size() == asked
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
