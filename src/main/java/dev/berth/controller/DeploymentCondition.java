package dev.berth.controller;

import dev.berth.view.DeploymentStatus;
import dev.berth.view.StatusTrigger;

/**
 * The condition of a deployment and its transitions. Transitions without an entry here change
 * nothing.
 *
 * <p>Source: Ray Serve's {@code DeploymentStatusInfo}.
 *
 * @param message reason, for people, one line; may be empty
 */
record DeploymentCondition(DeploymentStatus status, StatusTrigger trigger, String message) {

  /** Condition while another version or configuration is wanted: at first and after each change. */
  static final DeploymentCondition UPDATING =
      new DeploymentCondition(DeploymentStatus.UPDATING, StatusTrigger.CONFIG_UPDATE_STARTED, "");

  /** Condition of a deployment that is being deleted. */
  static final DeploymentCondition DELETING =
      new DeploymentCondition(DeploymentStatus.UPDATING, StatusTrigger.DELETING, "");

  /**
   * Returns the condition after a change of the number of replicas alone; during an update it
   * stays.
   */
  DeploymentCondition scaling(boolean up) {
    return switch (status) {
      case UPSCALING, DOWNSCALING, HEALTHY ->
          new DeploymentCondition(
              up ? DeploymentStatus.UPSCALING : DeploymentStatus.DOWNSCALING,
              StatusTrigger.CONFIG_UPDATE_STARTED,
              "");
      case UPDATING, UNHEALTHY, DEPLOY_FAILED -> this;
    };
  }

  /** Returns the condition when the load caused the change of the number of replicas. */
  DeploymentCondition byLoad() {
    boolean scales = status == DeploymentStatus.UPSCALING || status == DeploymentStatus.DOWNSCALING;
    return scales ? new DeploymentCondition(status, StatusTrigger.AUTOSCALING, message) : this;
  }

  /**
   * Returns the condition once all wanted replicas run in the wanted version and no change is in
   * progress.
   */
  DeploymentCondition healthy() {
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
        : new DeploymentCondition(DeploymentStatus.HEALTHY, by, "");
  }

  /**
   * Returns the condition after a replica of the wanted version became unhealthy or died, or after
   * too many failed starts.
   *
   * @param how HEALTH_CHECK_FAILED or REPLICA_STARTUP_FAILED
   */
  DeploymentCondition failing(StatusTrigger how, String why) {
    return switch (status) {
      case UPDATING, DEPLOY_FAILED -> givenUp(how, why);
      case UPSCALING, DOWNSCALING, UNHEALTHY ->
          new DeploymentCondition(DeploymentStatus.UNHEALTHY, how, why);
      case HEALTHY -> // a failed start alone does no harm
          how == StatusTrigger.REPLICA_STARTUP_FAILED
              ? this
              : new DeploymentCondition(DeploymentStatus.UNHEALTHY, how, why);
    };
  }

  /** Returns the condition after replicas were lost through no fault of a version. */
  DeploymentCondition lacking(String why) {
    return switch (status) {
      case HEALTHY, UPSCALING, DOWNSCALING, UNHEALTHY ->
          new DeploymentCondition(
              DeploymentStatus.UNHEALTHY, StatusTrigger.HEALTH_CHECK_FAILED, why);
      case UPDATING, DEPLOY_FAILED -> this;
    };
  }

  /** Returns the condition of a wanted version that has failed and is not retried. */
  static DeploymentCondition givenUp(StatusTrigger how, String why) {
    return new DeploymentCondition(DeploymentStatus.DEPLOY_FAILED, how, why);
  }
}
