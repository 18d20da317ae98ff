package dev.berth.view;

/** The state of an application. Source: Ray Serve's words and meanings. */
public enum ApplicationStatus {
  /** Nothing of it is there yet, or any more. */
  NOT_STARTED,
  /** Its code is being read, or its deployments are on their way to what was declared. */
  DEPLOYING,
  /** Its code could not be built, or a deployment failed to deploy; what ran before serves on. */
  DEPLOY_FAILED,
  /** Every deployment is as declared and healthy. */
  RUNNING,
  /** It ran, and a deployment is unhealthy now. */
  UNHEALTHY,
  /** Its replicas drain and stop. */
  DELETING
}
