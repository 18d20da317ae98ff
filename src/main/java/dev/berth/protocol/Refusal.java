package dev.berth.protocol;

/**
 * Why a replica would not run or hold something. A refusal is a promise that the request did not
 * run, so the router may try elsewhere. The ordinal crosses the bus: new reasons go last.
 */
public enum Refusal {
  /** No free slot. */
  FULL,
  /** The replica grants nothing new. */
  DRAINING,
  /** No such token here, or one too old to remember. */
  UNKNOWN_TOKEN,
  /** The lease ran out first. */
  EXPIRED,
  /** The lease was consumed before. */
  ALREADY_USED,
  /** The lease was released before. */
  RELEASED,
  /** The token or address names another incarnation of the replica. */
  FOREIGN_EPOCH,
  /** No such replica on this loop: stopped, or never there. */
  UNKNOWN_REPLICA,
  /** The attempt was released before it arrived, or came twice: it must not run. */
  REVOKED,
  /** The time the caller allowed for acceptance had passed on arrival; or it never left. */
  TOO_LATE,
  /** A bounded table of the receiver was full. */
  OVERLOADED,
  /** The receiver cannot read the message: it is of another version. */
  UNREADABLE,
  /** It was recalled, and has not come or was refused when it came: it never runs there. */
  RECALLED,
  /** The reservation is for another deployment. */
  OTHER_DEPLOYMENT
}
