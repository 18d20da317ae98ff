package dev.berth.view;

/** The state of a replica as the controller knows it. Source: Ray Serve's words. */
public enum ReplicaPhase {
  /** Commanded to start. */
  STARTING,
  /** Runs, and takes another configuration; requests go on meanwhile. */
  UPDATING,
  /** Takes requests. */
  RUNNING,
  /** Found by a controller that started after it; not yet heard of. */
  RECOVERING,
  /** Grants nothing more; finishes what it accepted. */
  DRAINING,
  /** Commanded to stop. */
  STOPPING,
  /** Nothing of it is left. */
  STOPPED
}
