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
    if (cause == Cause.DELETE) {
      return new Standing(DeploymentStatus.UPDATING, StatusTrigger.DELETING, why);
    }
    if (cause == Cause.CONFIG_UPDATE) {
      return new Standing(DeploymentStatus.UPDATING, StatusTrigger.CONFIG_UPDATE_STARTED, why);
    }
    return switch (status) {
      case UPDATING -> whileUpdating(cause, why);
      case UPSCALING, DOWNSCALING -> whileScaling(cause, why);
      case HEALTHY -> whileHealthy(cause, why);
      case UNHEALTHY -> afterFailure(cause, DeploymentStatus.UNHEALTHY, why);
      case DEPLOY_FAILED -> afterFailure(cause, DeploymentStatus.DEPLOY_FAILED, why);
    };
  }

  /** The same, when it was its load that asked for another number of replicas. */
  Standing byLoad() {
    boolean scales = status == DeploymentStatus.UPSCALING || status == DeploymentStatus.DOWNSCALING;
    return scales ? new Standing(status, StatusTrigger.AUTOSCALING, message) : this;
  }

  private Standing whileUpdating(Cause cause, String why) {
    return switch (cause) {
      case HEALTHY ->
          new Standing(DeploymentStatus.HEALTHY, StatusTrigger.CONFIG_UPDATE_COMPLETED, why);
      case STARTUP_FAILED, HEALTH_CHECK_FAILED ->
          failed(cause, DeploymentStatus.DEPLOY_FAILED, why);
      default -> this; // another number of replicas is part of the update
    };
  }

  private Standing whileScaling(Cause cause, String why) {
    return switch (cause) {
      case HEALTHY ->
          new Standing(
              DeploymentStatus.HEALTHY,
              status == DeploymentStatus.UPSCALING
                  ? StatusTrigger.UPSCALE_COMPLETED
                  : StatusTrigger.DOWNSCALE_COMPLETED,
              why);
      case STARTUP_FAILED, HEALTH_CHECK_FAILED -> failed(cause, DeploymentStatus.UNHEALTHY, why);
      default -> scaled(cause, why);
    };
  }

  private Standing whileHealthy(Cause cause, String why) {
    return switch (cause) {
      case HEALTH_CHECK_FAILED -> failed(cause, DeploymentStatus.UNHEALTHY, why);
      case MORE_WANTED, FEWER_WANTED -> scaled(cause, why);
      default -> this;
    };
  }

  private Standing afterFailure(Cause cause, DeploymentStatus failure, String why) {
    return switch (cause) {
      case HEALTHY -> new Standing(DeploymentStatus.HEALTHY, StatusTrigger.UNSPECIFIED, why);
      case STARTUP_FAILED, HEALTH_CHECK_FAILED -> failed(cause, failure, why);
      default -> this;
    };
  }

  private Standing scaled(Cause cause, String why) {
    return switch (cause) {
      case MORE_WANTED ->
          new Standing(DeploymentStatus.UPSCALING, StatusTrigger.CONFIG_UPDATE_STARTED, why);
      case FEWER_WANTED ->
          new Standing(DeploymentStatus.DOWNSCALING, StatusTrigger.CONFIG_UPDATE_STARTED, why);
      default -> this;
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
