package dev.berth.protocol.port;

/** A replica's record of an attempt. */
public enum AttemptState {
  /** The attempt acquired a slot: its request runs, or ran. */
  GRANTED,
  /** The attempt was refused on arrival: its request did not run and never will. */
  REFUSED,
  /** The attempt was granted a lease, which may have ended since. */
  LEASED,
  /** The attempt was released or recalled before it arrived: it never runs. */
  REVOKED,
  /** The attempt has not arrived. */
  NEVER,
  /** The attempt is so old that its state may be forgotten: it is granted nothing. */
  FORGOTTEN
}
