package dev.berth.replica;

/**
 * The life of one replica incarnation on its instance.
 *
 * <pre>
 *   STARTING -> RUNNING -> DRAINING -> STOPPED
 *                  |           ^          ^
 *                  +-> UNHEALTHY ---------+   too many zombies: serves on until told otherwise
 * </pre>
 */
public enum ReplicaState {
  /** Its handler is being made. */
  STARTING,
  /** Takes requests. */
  RUNNING,
  /** Takes requests, but too many cancelled ones have not settled. */
  UNHEALTHY,
  /** Finishes what it accepted and the leases it granted. */
  DRAINING,
  /** Takes nothing; a killed one may still have handlers that have not settled. */
  STOPPED
}
