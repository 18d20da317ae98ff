package dev.berth.controller;

/** The state of an application. Source: Ray Serve's words and meanings, those in use so far. */
public enum ApplicationStatus {
  /** Its replicas are being started. */
  DEPLOYING,
  /** Every deployment has had all its replicas running. */
  RUNNING,
  /** A replica could not start. */
  DEPLOY_FAILED,
  /** Its replicas drain and stop. */
  DELETING,
  /** Nothing of it is left. */
  NOT_STARTED
}
