package dev.berth.controller;

import dev.berth.view.DeploymentStatus;
import dev.berth.view.StatusTrigger;

/**
 * Where a deployment stands, and how it comes from there to elsewhere. What is not named here
 * changes nothing.
 *
 * <p>Source: Ray Serve's {@code DeploymentStatusInfo}.
 *
 * @param message why, for people, one line; may be empty
 */
record Standing(DeploymentStatus status, StatusTrigger trigger, String message) {

  /** Another version or configuration is wanted: at first, and whenever it changes. */
  static final Standing UPDATING =
      new Standing(DeploymentStatus.UPDATING, StatusTrigger.CONFIG_UPDATE_STARTED, "");

  /** It is to go. */
  static final Standing DELETING =
      new Standing(DeploymentStatus.UPDATING, StatusTrigger.DELETING, "");

  /** Nothing but another number of replicas is wanted: while it is updated, that is part of it. */
  Standing scaling(boolean up) {
    return switch (status) {
      case UPSCALING, DOWNSCALING, HEALTHY ->
          new Standing(
              up ? DeploymentStatus.UPSCALING : DeploymentStatus.DOWNSCALING,
              StatusTrigger.CONFIG_UPDATE_STARTED,
              "");
      case UPDATING, UNHEALTHY, DEPLOY_FAILED -> this;
    };
  }

  /** The same, when it was its load that asked for another number of replicas. */
  Standing byLoad() {
    boolean scales = status == DeploymentStatus.UPSCALING || status == DeploymentStatus.DOWNSCALING;
    return scales ? new Standing(status, StatusTrigger.AUTOSCALING, message) : this;
  }

  /** As many as wanted run, all as wanted, and nothing is under way. */
  Standing healthy() {
    StatusTrigger by =
        switch (status) {
          case UPDATING -> StatusTrigger.CONFIG_UPDATE_COMPLETED;
          case UPSCALING -> StatusTrigger.UPSCALE_COMPLETED;
          case DOWNSCALING -> StatusTrigger.DOWNSCALE_COMPLETED;
          case UNHEALTHY, DEPLOY_FAILED -> StatusTrigger.UNSPECIFIED;
          case HEALTHY -> trigger;
        };
    return status == DeploymentStatus.HEALTHY
        ? this
        : new Standing(DeploymentStatus.HEALTHY, by, "");
  }

  /**
   * A replica of the wanted version became unhealthy or died, or replicas of it failed to start too
   * often.
   *
   * @param how HEALTH_CHECK_FAILED or REPLICA_STARTUP_FAILED
   */
  Standing failing(StatusTrigger how, String why) {
    return switch (status) {
      case UPDATING, DEPLOY_FAILED -> givenUp(how, why);
      case UPSCALING, DOWNSCALING, UNHEALTHY -> new Standing(DeploymentStatus.UNHEALTHY, how, why);
      case HEALTHY -> // what only does not start is no worse for it
          how == StatusTrigger.REPLICA_STARTUP_FAILED
              ? this
              : new Standing(DeploymentStatus.UNHEALTHY, how, why);
    };
  }

  /** Replicas are gone, for which no version can be blamed. */
  Standing lacking(String why) {
    return switch (status) {
      case HEALTHY, UPSCALING, DOWNSCALING, UNHEALTHY ->
          new Standing(DeploymentStatus.UNHEALTHY, StatusTrigger.HEALTH_CHECK_FAILED, why);
      case UPDATING, DEPLOY_FAILED -> this;
    };
  }

  /** The wanted version is tried no more, however it stood before. */
  static Standing givenUp(StatusTrigger how, String why) {
    return new Standing(DeploymentStatus.DEPLOY_FAILED, how, why);
  }
}
