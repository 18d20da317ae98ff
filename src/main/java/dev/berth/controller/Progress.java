package dev.berth.controller;

import dev.berth.controller.Standing.Cause;
import org.jspecify.annotations.Nullable;

/**
 * What a deployment remembers from one decision to the next.
 *
 * @param complete the last target of which every replica ran: what a failing one is made up for by;
 *     null when there has been none
 * @param proven whether a replica of the wanted version has run
 * @param failures of the wanted version: all of them until it is complete, in a row afterwards
 * @param frozen the wanted version has failed: it is started no more until the next deploy
 */
record Progress(
    Standing standing,
    @Nullable DeploymentTarget complete,
    boolean proven,
    int failures,
    boolean frozen,
    Backoff backoff) {

  /** Failed starts of one replica that are put up with. Source: Ray Serve. */
  static final int START_FAILURES_PER_REPLICA = 3;

  /** How a replica failed. */
  enum Failure {
    /** It did not start. */
    START,
    /** It did not take a configuration while it ran. */
    RECONFIGURE,
    /** It ran, and became unhealthy or died. */
    HEALTH
  }

  static final Progress FIRST = new Progress(Standing.FIRST, null, false, 0, false, Backoff.NONE);

  /** Failures of one version before it is complete that mean that it cannot be. */
  static int threshold(DeploymentTarget target) {
    int replicas = target.settings().numReplicas();
    int most = target.settings().rollout().maxStartFailures();
    return Math.max(1, (int) Math.min(most, (long) replicas * START_FAILURES_PER_REPLICA));
  }

  boolean isComplete(DeploymentTarget target) {
    return complete != null && complete.version().equals(target.version());
  }

  /**
   * Another target is wanted.
   *
   * @param deployed whether someone deployed it; false when only the number of replicas was set
   */
  Progress retarget(DeploymentTarget before, DeploymentTarget after, boolean deployed) {
    if (!before.version().equals(after.version()) || (deployed && frozen)) {
      return new Progress(
          standing.on(Cause.CONFIG_UPDATE, ""),
          complete,
          isComplete(after),
          0,
          false,
          Backoff.NONE);
    }
    int fewer = before.settings().numReplicas();
    int more = after.settings().numReplicas();
    if (!before.settings().withReplicas(more).equals(after.settings())) {
      return with(standing.on(Cause.CONFIG_UPDATE, ""));
    }
    if (fewer == more) {
      return this;
    }
    return with(standing.on(more > fewer ? Cause.MORE_WANTED : Cause.FEWER_WANTED, ""));
  }

  /** It is to be there again after it was to go. */
  Progress revived() {
    return new Progress(Standing.FIRST, complete, proven, 0, false, Backoff.NONE);
  }

  /** A replica of a version runs. */
  Progress started(DeploymentVersion version, DeploymentTarget target, boolean othersServe) {
    if (!version.equals(target.version())) {
      return this;
    }
    // Of a first version some may fail for good and a slow one run after all: then it goes on.
    boolean stillFrozen = frozen && (othersServe || hasFallback(target));
    return new Progress(
        standing, complete, true, isComplete(target) ? 0 : failures, stillFrozen, backoff);
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
      return new Progress(standing, complete, proven, failures, frozen, next);
    }
    int count = failures + 1;
    boolean rollout = !isComplete(target) && (othersServe || hasFallback(target));
    boolean tooOften = count >= threshold(target);
    boolean freezes = tooOften && (rollout || (!proven && !isComplete(target)));
    Standing now = standing;
    if (freezes) {
      now = now.on(cause(how), givenUp(how, count, target, rollout, reason));
    } else if (how == Failure.HEALTH) {
      now = now.on(Cause.HEALTH_CHECK_FAILED, "a replica failed and is replaced: " + reason);
    } else if (tooOften && isComplete(target)) {
      now =
          now.on(
              Cause.STARTUP_FAILED,
              "a replica failed to start " + count + " times, and is tried again: " + reason);
    }
    return new Progress(now, complete, proven, count, freezes, next);
  }

  private static Cause cause(Failure how) {
    return how == Failure.HEALTH ? Cause.HEALTH_CHECK_FAILED : Cause.STARTUP_FAILED;
  }

  private static String givenUp(
      Failure how, int count, DeploymentTarget target, boolean rollout, String reason) {
    String what =
        switch (how) {
          case START -> "failed to start";
          case RECONFIGURE -> "did not take its configuration";
          case HEALTH -> "did not stay healthy";
        };
    return "version "
        + target.version()
        + " "
        + what
        + ", "
        + count
        + (count == 1 ? " failure" : " failures")
        + (rollout ? "; its rollout is frozen and what ran before serves on" : "")
        + ": "
        + reason;
  }

  /** Whether an earlier target can make up for this one. */
  private boolean hasFallback(DeploymentTarget target) {
    return complete != null && !complete.version().equals(target.version());
  }

  /** Every replica of the target runs. */
  Progress completed(DeploymentTarget target) {
    boolean first = !isComplete(target);
    return new Progress(standing, target, proven, first ? 0 : failures, false, backoff);
  }

  Progress with(Standing other) {
    return new Progress(other, complete, proven, failures, frozen, backoff);
  }
}
