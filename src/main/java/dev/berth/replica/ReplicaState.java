package dev.berth.replica;

/**
 * The life of one replica incarnation on its instance.
 *
 * <pre>
 *   STARTING -> RUNNING -> DRAINING -> STOPPED
 *                 | ^          ^          ^
 *                 v |          |          |
 *              UNHEALTHY ------+----------+   gets no new requests while others are well
 * </pre>
 */
public enum ReplicaState {
  /** Its handler is being made. */
  STARTING,
  /** Takes requests. */
  RUNNING,
  /** Takes requests, but its health checks fail, or too many cancelled requests linger. */
  UNHEALTHY,
  /** Finishes what it accepted and the leases it granted. */
  DRAINING,
  /** Takes nothing; a killed one may still have handlers that have not settled. */
  STOPPED
}
