package dev.berth.controller;

import dev.berth.protocol.DeploymentStatus;
import dev.berth.protocol.StatusTrigger;

/**
 * Where a deployment stands, and how it comes from there to elsewhere. What is not named here
 * changes nothing.
 *
 * <p>Source: Ray Serve's {@code DeploymentStatusInfo}.
 *
 * @param message why, for people, one line; may be empty
 */
record Standing(DeploymentStatus status, StatusTrigger trigger, String message) {

  /** What happened to it. */
  enum Cause {
    /** As many as wanted run, all as wanted, and nothing is under way. */
    HEALTHY,
    /** Another version or configuration is wanted. */
    CONFIG_UPDATE,
    /** Nothing but more replicas are wanted. */
    MORE_WANTED,
    /** Nothing but fewer replicas are wanted. */
    FEWER_WANTED,
    /** Replicas of the wanted version failed to start, or to be reconfigured, too often. */
    STARTUP_FAILED,
    /** A replica of the wanted version became unhealthy or died. */
    HEALTH_CHECK_FAILED,
    /** It is to go. */
    DELETE
  }

  /** Of a deployment that is declared for the first time. */
  static final Standing FIRST =
      new Standing(DeploymentStatus.UPDATING, StatusTrigger.CONFIG_UPDATE_STARTED, "");

  Standing on(Cause cause, String why) {
    return switch (cause) {
      case DELETE -> new Standing(DeploymentStatus.UPDATING, StatusTrigger.DELETING, why);
      case CONFIG_UPDATE ->
          new Standing(DeploymentStatus.UPDATING, StatusTrigger.CONFIG_UPDATE_STARTED, why);
      case MORE_WANTED -> scales(DeploymentStatus.UPSCALING, why);
      case FEWER_WANTED -> scales(DeploymentStatus.DOWNSCALING, why);
      case HEALTHY -> healthy(why);
      case STARTUP_FAILED, HEALTH_CHECK_FAILED -> fails(cause, why);
    };
  }

  /** While it is updated, another number of replicas is part of that. */
  private Standing scales(DeploymentStatus to, String why) {
    return switch (status) {
      case UPSCALING, DOWNSCALING, HEALTHY ->
          new Standing(to, StatusTrigger.CONFIG_UPDATE_STARTED, why);
      case UPDATING, UNHEALTHY, DEPLOY_FAILED -> this;
    };
  }

  /** The same, when it was its load that asked for another number of replicas. */
  Standing byLoad() {
    boolean scales = status == DeploymentStatus.UPSCALING || status == DeploymentStatus.DOWNSCALING;
    return scales ? new Standing(status, StatusTrigger.AUTOSCALING, message) : this;
  }

  private Standing healthy(String why) {
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
        : new Standing(DeploymentStatus.HEALTHY, by, why);
  }

  private Standing fails(Cause cause, String why) {
    return switch (status) {
      case UPDATING, DEPLOY_FAILED -> givenUp(cause, why);
      case UPSCALING, DOWNSCALING, UNHEALTHY -> failed(cause, DeploymentStatus.UNHEALTHY, why);
      case HEALTHY -> // what only does not start is no worse for it
          cause == Cause.STARTUP_FAILED ? this : failed(cause, DeploymentStatus.UNHEALTHY, why);
    };
  }

  /** The wanted version is tried no more, however it stood before. */
  static Standing givenUp(Cause cause, String why) {
    return failed(cause, DeploymentStatus.DEPLOY_FAILED, why);
  }

  private static Standing failed(Cause cause, DeploymentStatus failure, String why) {
    return new Standing(
        failure,
        cause == Cause.STARTUP_FAILED
            ? StatusTrigger.REPLICA_STARTUP_FAILED
            : StatusTrigger.HEALTH_CHECK_FAILED,
        why);
  }
}
