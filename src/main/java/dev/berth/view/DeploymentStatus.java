package dev.berth.view;

/** State of a deployment. Source: names and meanings of Ray Serve. */
public enum DeploymentStatus {
  /**
   * The deployment changes its version or configuration. Also the state during the first start and
   * the deletion.
   */
  UPDATING,
  /** The desired number of replicas runs, all of the desired version. */
  HEALTHY,
  /** Replicas failed after the deployment had been healthy. */
  UNHEALTHY,
  /** The desired version does not start, or does not stay healthy. Earlier replicas still serve. */
  DEPLOY_FAILED,
  /** More replicas of the desired version are starting. */
  UPSCALING,
  /** Replicas are stopping, since fewer are desired. */
  DOWNSCALING
}
