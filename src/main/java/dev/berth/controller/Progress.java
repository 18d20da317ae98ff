package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.view.StatusTrigger;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a deployment remembers from one decision to the next.
 *
 * @param complete the last target of which every replica ran, and stayed well for its trial: what a
 *     failing one is made up for by. Before there has been one, the first of which any ran; null
 *     when there has been none
 * @param trial of the wanted version, once every replica of it runs; null before, and afterwards
 * @param proven whether a replica of the wanted version has run
 * @param failures of the wanted version: all of them until it is complete, in a row afterwards
 * @param frozen the wanted version has failed: it is started no more until the next deploy
 */
record Progress(
    Standing standing,
    @Nullable DeploymentTarget complete,
    @Nullable Trial trial,
    boolean proven,
    int failures,
    boolean frozen,
    Backoff backoff) {

  /**
   * A version of which every replica runs, and that is still watched: a version may start well and
   * fail its checks a little later, when the one before it would else be gone.
   */
  record Trial(DeploymentTarget target, long endsNanos) {
    /** Periods of health checks that it lasts: as many as it takes to fail, and one. */
    static final int PERIODS = 4;

    static final long SHORTEST_NANOS = TimeUnit.SECONDS.toNanos(10);
    static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(60);

    static Trial of(DeploymentTarget target, long nowNanos) {
      Duration period = target.settings().get(DeploymentConfig.HEALTH_CHECK_PERIOD_S);
      long lasts = Math.max(SHORTEST_NANOS, period.multipliedBy(PERIODS).toNanos());
      return new Trial(target, nowNanos + Math.min(LONGEST_NANOS, lasts));
    }

    boolean isOver(long nowNanos) {
      return endsNanos - nowNanos <= 0;
    }
  }

  /** Failed starts of one replica that are put up with. Source: Ray Serve. */
  static final int START_FAILURES_PER_REPLICA = 3;

  /** How a replica failed. */
  enum Failure {
    /** It did not start. */
    START("failed to start", StatusTrigger.REPLICA_STARTUP_FAILED),
    /** It did not take a configuration while it ran. */
    RECONFIGURE("did not take its configuration", StatusTrigger.REPLICA_STARTUP_FAILED),
    /** It ran, and became unhealthy or died. */
    HEALTH("did not stay healthy", StatusTrigger.HEALTH_CHECK_FAILED);

    private final String did;
    private final StatusTrigger trigger;

    Failure(String did, StatusTrigger trigger) {
      this.did = did;
      this.trigger = trigger;
    }
  }

  static final Progress FIRST =
      new Progress(Standing.UPDATING, null, null, false, 0, false, Backoff.NONE);

  /**
   * Failures of one version before it is complete that mean that it cannot be: three for each
   * replica that is tried. At first these are all of them; a rollout tries a few at a time, and is
   * not to try for minutes what fails each time.
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

  boolean isComplete(DeploymentTarget target) {
    return complete != null && complete.version().equals(target.version());
  }

  /**
   * Another target is wanted. One that failed is tried anew when it is deployed again, and when
   * there were none of it meanwhile.
   *
   * @param deployed whether someone deployed it; false when only the number of replicas was set
   */
  Progress retarget(DeploymentTarget before, DeploymentTarget after, boolean deployed) {
    boolean other = !before.version().equals(after.version());
    boolean anew = deployed || isAtZero(after);
    if (other || (anew && frozen)) {
      DeploymentTarget kept = other && complete == null && proven ? before : complete;
      return new Progress(Standing.UPDATING, kept, null, isComplete(after), 0, false, Backoff.NONE);
    }
    int fewer = before.settings().get(DeploymentConfig.NUM_REPLICAS);
    int more = after.settings().get(DeploymentConfig.NUM_REPLICAS);
    if (!DeploymentConfig.withReplicas(before.settings(), more).equals(after.settings())) {
      return with(Standing.UPDATING);
    }
    if (fewer == more) {
      return this;
    }
    return with(standing.scaling(more > fewer));
  }

  /** What was complete before this controller is known by now. */
  Progress recalled(DeploymentTarget before, DeploymentTarget target) {
    boolean same = before.version().equals(target.version());
    return new Progress(standing, before, trial, proven || same, failures, frozen, backoff);
  }

  /** It is to go: nothing is gone back to, and its code may go too. */
  Progress deleted() {
    return new Progress(Standing.DELETING, null, null, proven, failures, frozen, backoff);
  }

  /** A replica runs: of the target, or of an earlier one. */
  Progress started(DeploymentTarget runs, DeploymentTarget target, boolean othersServe) {
    if (!runs.version().equals(target.version())) {
      return complete == null ? recalled(runs, target) : this;
    }
    // Of a first version some may fail for good and a slow one run after all: then it goes on.
    boolean stillFrozen = frozen && (othersServe || hasFallback(target));
    return new Progress(
        standing, complete, trial, true, isComplete(target) ? 0 : failures, stillFrozen, backoff);
  }

  /**
   * A replica failed.
   *
   * @param version of that replica
   * @param othersServe whether replicas of other versions are there
   * @param chance from 0 to 1, for the wait
   */
  Progress failed(
      Failure how,
      DeploymentVersion version,
      DeploymentTarget target,
      boolean othersServe,
      String reason,
      long nowNanos,
      double chance) {
    Backoff next = backoff.after(how != Failure.START, nowNanos, chance);
    if (frozen || !version.equals(target.version())) {
      return new Progress(standing, complete, trial, proven, failures, frozen, next);
    }
    int count = failures + 1;
    boolean rollout = !isComplete(target) && (othersServe || hasFallback(target));
    boolean tooOften = count >= threshold(target, rollout);
    boolean freezes = tooOften && (rollout || (!proven && !isComplete(target)));
    Standing now = standing;
    if (freezes) {
      now = Standing.givenUp(how.trigger, givenUp(how, count, target, rollout, reason));
    } else if (how == Failure.HEALTH) {
      now = now.failing(how.trigger, "a replica failed and is replaced: " + reason);
    } else if (tooOften && isComplete(target)) {
      now =
          now.failing(
              how.trigger,
              "a replica failed to start " + count + " times, and is tried again: " + reason);
    }
    return new Progress(now, complete, null, proven, count, freezes, next);
  }

  private static String givenUp(
      Failure how, int count, DeploymentTarget target, boolean rollout, String reason) {
    String failures = count == 1 ? " failure" : " failures";
    String then = rollout ? "; its rollout is frozen and what ran before serves on" : "";
    return "version %s %s, %s%s%s: %s"
        .formatted(target.version(), how.did, count, failures, then, reason);
  }

  /** Whether an earlier target can make up for this one. */
  private boolean hasFallback(DeploymentTarget target) {
    return complete != null && !complete.version().equals(target.version());
  }

  /** Whether none of it is wanted: nothing then shows that it would run. */
  static boolean isAtZero(DeploymentTarget target) {
    return target.settings().get(DeploymentConfig.NUM_REPLICAS) == 0;
  }

  /**
   * Every replica of the target runs. What replaces another version is on trial first; none at all
   * prove nothing, and what they would replace stays what makes up for them.
   */
  Progress completed(DeploymentTarget target, long nowNanos) {
    if (isComplete(target)) {
      return new Progress(standing, target, null, proven, failures, false, backoff);
    }
    if (isAtZero(target)) {
      return new Progress(standing, complete, null, proven, 0, frozen, backoff);
    }
    Trial now = trial;
    if (complete != null && (now == null || !now.target().version().equals(target.version()))) {
      now = Trial.of(target, nowNanos);
    }
    if (complete != null && now != null && !now.isOver(nowNanos)) {
      return new Progress(standing, complete, now, proven, failures, frozen, backoff);
    }
    return new Progress(standing, target, null, proven, 0, false, backoff);
  }

  Progress with(Standing other) {
    return new Progress(other, complete, trial, proven, failures, frozen, backoff);
  }
}
