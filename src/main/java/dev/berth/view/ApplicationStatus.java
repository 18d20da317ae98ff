package dev.berth.view;

/** State of an application. Source: names and meanings of Ray Serve. */
public enum ApplicationStatus {
  /** No part of the application exists yet, or any longer. */
  NOT_STARTED,
  /** The code is being read, or the deployments approach their desired state. */
  DEPLOYING,
  /**
   * The code could not be built, or a deployment failed to deploy. Earlier replicas still serve.
   */
  DEPLOY_FAILED,
  /** All deployments are healthy and match their desired state. */
  RUNNING,
  /** The application ran, and a deployment is now unhealthy. */
  UNHEALTHY,
  /** The replicas drain and stop. */
  DELETING
}
