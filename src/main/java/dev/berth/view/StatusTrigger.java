package dev.berth.view;

/** Cause of a deployment's status. Source: Ray Serve's names. */
public enum StatusTrigger {
  UNSPECIFIED,
  CONFIG_UPDATE_STARTED,
  CONFIG_UPDATE_COMPLETED,
  UPSCALE_COMPLETED,
  DOWNSCALE_COMPLETED,
  AUTOSCALING,
  REPLICA_STARTUP_FAILED,
  HEALTH_CHECK_FAILED,
  INTERNAL_ERROR,
  DELETING
}
