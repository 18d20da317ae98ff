package dev.berth.view;

/** What brought a deployment to its status. Source: Ray Serve's words. */
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
