package dev.berth.protocol;

/**
 * The reason why a replica did not run a request or grant a lease. A refusal guarantees that the
 * request did not run, so the router may try another replica. The ordinal is the wire form: new
 * reasons are appended.
 */
public enum Refusal {
  /** No free slot. */
  FULL,
  /** The replica grants nothing new. */
  DRAINING,
  /** The replica has no such token, or forgot it because of its age. */
  UNKNOWN_TOKEN,
  /** The lease expired before its use. */
  EXPIRED,
  /** The lease was consumed before. */
  ALREADY_USED,
  /** The lease was released before. */
  RELEASED,
  /** The token or address names another incarnation of the replica. */
  FOREIGN_EPOCH,
  /** The loop has no such replica: it stopped, or never ran there. */
  UNKNOWN_REPLICA,
  /** The attempt was released before it arrived, or is a duplicate: it must not run. */
  REVOKED,
  /** The accept time had passed on arrival, or the message was never sent. */
  TOO_LATE,
  /** A bounded table of the receiver was full. */
  OVERLOADED,
  /** The receiver cannot read the message, which has another version. */
  UNREADABLE,
  /** The attempt was recalled before it arrived or after it was refused: it never runs there. */
  RECALLED,
  /** The reservation is for another deployment. */
  OTHER_DEPLOYMENT,
  /** The replica sent the request to its upstream, where it certainly did not run. */
  NOT_RUN
}
