package dev.berth.config.keys;

/** The part of the system that uses the value of a key, which determines the effect of a change. */
public enum ChangeReach {
  /** The instance, from its start to its end: a change requires a restart. */
  INSTANCE,
  /** The controller: a change does not affect replicas. */
  CONTROLLER,
  /** The routers: a change does not affect replicas. */
  ROUTER,
  /** New and running replicas: a change is sent to running replicas. */
  REPLICA_LIVE,
  /** New replicas only: a change requires new replicas. */
  REPLICA_RECREATE,
  /** The reader of the file only. */
  NOTHING
}
