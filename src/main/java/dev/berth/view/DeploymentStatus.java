package dev.berth.view;

/** The state of a deployment. Source: Ray Serve's words and meanings. */
public enum DeploymentStatus {
  /** On its way to another version or configuration; also at its first start, and when deleted. */
  UPDATING,
  /** As many replicas as wanted run, all of the wanted version. */
  HEALTHY,
  /** It was as wanted, and replicas of it have failed since. */
  UNHEALTHY,
  /** The wanted version does not start, or does not stay healthy; what ran before serves on. */
  DEPLOY_FAILED,
  /** More replicas of the wanted version are being started. */
  UPSCALING,
  /** Replicas are being stopped, since fewer are wanted. */
  DOWNSCALING
}
