package dev.berth.protocol.port;

/** What a replica knows of an attempt. */
public enum AttemptState {
  /** It has a slot or had one: its request runs, or ran. */
  GRANTED,
  /** It was refused when it came: its request did not run and never will. */
  REFUSED,
  /** It asked for a lease and got one, whatever became of that. */
  LEASED,
  /** It was released or recalled before it came: it never runs. */
  REVOKED,
  /** It has not come. */
  NEVER,
  /** It is so old that what became of it may be forgotten: it is granted nothing any more. */
  FORGOTTEN
}
