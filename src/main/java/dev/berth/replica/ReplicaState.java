package dev.berth.replica;

/**
 * Lifecycle of one replica incarnation on its instance.
 *
 * <pre>
 *   STARTING -> RUNNING -> DRAINING -> STOPPED
 *                 | ^          ^          ^
 *                 v |          |          |
 *              UNHEALTHY ------+----------+   no new requests while other replicas are healthy
 * </pre>
 */
public enum ReplicaState {
  /** Creates and starts its handlers. */
  STARTING,
  /** Accepts requests. */
  RUNNING,
  /**
   * Accepts requests, although health checks fail, zombies exceed their maximum, or its only loop
   * is blocked.
   */
  UNHEALTHY,
  /** Finishes the accepted requests and granted leases. */
  DRAINING,
  /** Accepts nothing. Handlers of a killed replica may not have settled. */
  STOPPED
}
