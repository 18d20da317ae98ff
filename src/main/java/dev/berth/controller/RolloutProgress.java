package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.view.StatusTrigger;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The state that a deployment carries from one decision to the next.
 *
 * @param complete last target whose replicas all ran and stayed healthy for their trial: the
 *     fallback of a failing target. Before there is one, the first target with any running replica;
 *     null when there is none
 * @param trial of the wanted version, once all of its replicas run; null before and afterwards
 * @param proven whether a replica of the wanted version has run
 * @param failures of the wanted version: in total until it is complete, consecutive afterwards
 * @param frozen whether the wanted version has failed: it is not started again until the next
 *     deploy
 */
record RolloutProgress(
    DeploymentCondition standing,
    @Nullable DeploymentTarget complete,
    @Nullable RolloutTrial trial,
    boolean proven,
    int failures,
    boolean frozen,
    Backoff backoff) {

  /**
   * The watch period of a version whose replicas all run. A version may start well and fail its
   * checks a little later; without a trial the previous version would be removed by then.
   */
  record RolloutTrial(DeploymentTarget target, long endsNanos) {
    /** Length of a trial in health check periods: one more than a failure takes. */
    static final int PERIODS = 4;

    static final long MIN_DURATION_NANOS = TimeUnit.SECONDS.toNanos(10);
    static final long MAX_DURATION_NANOS = TimeUnit.SECONDS.toNanos(60);

    static RolloutTrial of(DeploymentTarget target, long nowNanos) {
      Duration period = target.settings().get(DeploymentConfig.HEALTH_CHECK_PERIOD_S);
      long lasts = Math.max(MIN_DURATION_NANOS, period.multipliedBy(PERIODS).toNanos());
      return new RolloutTrial(target, nowNanos + Math.min(MAX_DURATION_NANOS, lasts));
    }

    boolean isOver(long nowNanos) {
      return endsNanos - nowNanos <= 0;
    }
  }

  /** Tolerated failed starts per replica. Source: Ray Serve. */
  static final int START_FAILURES_PER_REPLICA = 3;

  /** The kind of a replica's failure. */
  enum ReplicaFailure {
    /** The replica did not start. */
    START("failed to start", StatusTrigger.REPLICA_STARTUP_FAILED),
    /** The running replica refused a configuration. */
    RECONFIGURE("failed to reconfigure", StatusTrigger.REPLICA_STARTUP_FAILED),
    /** The replica ran, then became unhealthy or died. */
    HEALTH("did not stay healthy", StatusTrigger.HEALTH_CHECK_FAILED);

    private final String did;
    private final StatusTrigger trigger;

    ReplicaFailure(String did, StatusTrigger trigger) {
      this.did = did;
      this.trigger = trigger;
    }
  }

  static final RolloutProgress FIRST =
      new RolloutProgress(DeploymentCondition.UPDATING, null, null, false, 0, false, Backoff.NONE);

  /**
   * Returns the failures of an incomplete version that make it fail: three for each replica that is
   * tried. A first version tries all of them. A rollout tries a few at a time, so that a bad
   * version fails in seconds rather than minutes.
   */
  static int threshold(DeploymentTarget target, boolean rollout) {
    Settings settings = target.settings();
    int tried = settings.get(DeploymentConfig.NUM_REPLICAS);
    if (rollout) {
      int surge = surge(settings, tried);
      tried = Math.min(tried, surge > 0 ? surge : rollout(settings));
    }
    int most = settings.get(DeploymentConfig.MAX_CONSTRUCTOR_RETRY_COUNT);
    return Math.max(1, (int) Math.min(most, (long) tried * START_FAILURES_PER_REPLICA));
  }

  /** Returns the replicas that may exist beyond the wanted number during a rollout. */
  static int surge(Settings settings, int wanted) {
    return wanted == 0
        ? 0
        : (int) Math.ceil(settings.get(DeploymentConfig.MAX_SURGE_PERCENT) * wanted / 100);
  }

  /** Returns the number of replicas that may be replaced at a time. */
  static int rollout(Settings settings) {
    return Math.max(
        1,
        (int)
            (settings.get(DeploymentConfig.ROLLING_UPDATE_PERCENTAGE)
                * settings.get(DeploymentConfig.NUM_REPLICAS)));
  }

  boolean isComplete(DeploymentTarget target) {
    return complete != null && complete.version().equals(target.version());
  }

  /**
   * Returns the progress under another target. A failed version is retried when it is deployed
   * again, and after its number of replicas was zero.
   *
   * @param deployed whether it was deployed; false when only the number of replicas was set
   */
  RolloutProgress retarget(DeploymentTarget before, DeploymentTarget after, boolean deployed) {
    boolean other = !before.version().equals(after.version());
    boolean anew = deployed || isAtZero(after);
    if (other || (anew && frozen)) {
      DeploymentTarget kept = other && complete == null && proven ? before : complete;
      return new RolloutProgress(
          DeploymentCondition.UPDATING, kept, null, isComplete(after), 0, false, Backoff.NONE);
    }
    int fewer = before.settings().get(DeploymentConfig.NUM_REPLICAS);
    int more = after.settings().get(DeploymentConfig.NUM_REPLICAS);
    if (!DeploymentConfig.withReplicas(before.settings(), more).equals(after.settings())) {
      return with(DeploymentCondition.UPDATING);
    }
    return fewer == more ? this : with(standing.scaling(more > fewer));
  }

  /** Returns the progress with the target that was complete under an earlier controller. */
  RolloutProgress recalled(DeploymentTarget before, DeploymentTarget target) {
    boolean same = before.version().equals(target.version());
    return new RolloutProgress(standing, before, trial, proven || same, failures, frozen, backoff);
  }

  /**
   * Returns the progress of a deleted deployment: it has no fallback, so its builds may be
   * discarded.
   */
  RolloutProgress deleted() {
    return new RolloutProgress(
        DeploymentCondition.DELETING, null, null, proven, failures, frozen, backoff);
  }

  /** Returns the progress after a replica of the target, or of an earlier one, has started. */
  RolloutProgress afterStart(DeploymentTarget runs, DeploymentTarget target, boolean othersServe) {
    if (!runs.version().equals(target.version())) {
      return complete == null ? recalled(runs, target) : this;
    }
    // Some replicas of a first version may fail for good while a slow one still starts: then it
    // continues.
    boolean stillFrozen = frozen && (othersServe || hasFallback(target));
    return new RolloutProgress(
        standing, complete, trial, true, isComplete(target) ? 0 : failures, stillFrozen, backoff);
  }

  /**
   * Returns the progress after a replica has failed.
   *
   * @param version of that replica
   * @param othersServe whether replicas of other versions are active
   * @param chance random number from 0 to 1, for the wait
   */
  RolloutProgress afterFailure(
      ReplicaFailure how,
      DeploymentVersion version,
      DeploymentTarget target,
      boolean othersServe,
      String reason,
      long nowNanos,
      double chance) {
    Backoff next = backoff.after(how != ReplicaFailure.START, nowNanos, chance);
    if (frozen || !version.equals(target.version())) {
      return new RolloutProgress(standing, complete, trial, proven, failures, frozen, next);
    }
    int count = failures + 1;
    boolean rollout = !isComplete(target) && (othersServe || hasFallback(target));
    boolean tooOften = count >= threshold(target, rollout);
    boolean freezes = tooOften && (rollout || (!proven && !isComplete(target)));
    DeploymentCondition now = standing;
    if (freezes) {
      now = DeploymentCondition.givenUp(how.trigger, givenUp(how, count, target, rollout, reason));
    } else if (how == ReplicaFailure.HEALTH) {
      now = now.failing(how.trigger, "a replica failed and is replaced: " + reason);
    } else if (tooOften && isComplete(target)) {
      now =
          now.failing(
              how.trigger, "a replica failed to start " + count + " times, retrying: " + reason);
    }
    return new RolloutProgress(now, complete, null, proven, count, freezes, next);
  }

  private static String givenUp(
      ReplicaFailure how, int count, DeploymentTarget target, boolean rollout, String reason) {
    String failures = count == 1 ? " failure" : " failures";
    String then = rollout ? "; its rollout is frozen and the previous version serves" : "";
    return "version %s %s, %s%s%s: %s"
        .formatted(target.version(), how.did, count, failures, then, reason);
  }

  /** Returns whether an earlier target can replace this one. */
  private boolean hasFallback(DeploymentTarget target) {
    return complete != null && !complete.version().equals(target.version());
  }

  /** Returns whether the target has zero replicas, which prove nothing about it. */
  static boolean isAtZero(DeploymentTarget target) {
    return target.settings().get(DeploymentConfig.NUM_REPLICAS) == 0;
  }

  /**
   * Returns the progress once all replicas of the target run. A version that replaces another one
   * starts its trial first. A target of zero replicas proves nothing: the earlier one stays its
   * fallback.
   */
  RolloutProgress completed(DeploymentTarget target, long nowNanos) {
    if (isComplete(target)) {
      return new RolloutProgress(standing, target, null, proven, failures, false, backoff);
    }
    if (isAtZero(target)) {
      return new RolloutProgress(standing, complete, null, proven, 0, frozen, backoff);
    }
    RolloutTrial now = trial;
    if (complete != null && (now == null || !now.target().version().equals(target.version()))) {
      now = RolloutTrial.of(target, nowNanos);
    }
    if (complete != null && now != null && !now.isOver(nowNanos)) {
      return new RolloutProgress(standing, complete, now, proven, failures, frozen, backoff);
    }
    return new RolloutProgress(standing, target, null, proven, 0, false, backoff);
  }

  RolloutProgress with(DeploymentCondition other) {
    return new RolloutProgress(other, complete, trial, proven, failures, frozen, backoff);
  }
}
