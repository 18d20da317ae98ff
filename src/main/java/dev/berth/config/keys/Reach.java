package dev.berth.config.keys;

/** What a key reaches, and with it what a change of its value needs. */
public enum Reach {
  /** The instance, from its start to its end: a change needs a restart. */
  INSTANCE,
  /** The controller: a change needs nothing of a replica. */
  CONTROLLER,
  /** The routers: a change needs nothing of a replica. */
  ROUTER,
  /** Replicas, those that run too: a change is given to them. */
  REPLICA_LIVE,
  /** Replicas that start: a change needs new ones. */
  REPLICA_ANEW,
  /** Nothing but the reading of the file. */
  NOTHING
}
