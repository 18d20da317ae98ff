package dev.berth.view;

/** State of a replica known to the controller. Source: Ray Serve's names. */
public enum ReplicaPhase {
  /** The controller has sent the start command. */
  STARTING,
  /** The replica runs and applies another configuration, while it serves requests. */
  UPDATING,
  /** The replica accepts requests. */
  RUNNING,
  /** A restarted controller found the replica, and has no report from it yet. */
  RECOVERING,
  /** The replica grants no slots, and finishes accepted requests. */
  DRAINING,
  /** The controller has sent the stop command. */
  STOPPING,
  /** The replica has ended and holds no resources. */
  STOPPED
}
