package dev.berth.api;

/** Makes the handler of a replica. */
@FunctionalInterface
public interface HandlerFactory {

  /**
   * Called once per replica (per replica and loop when spread) before it takes requests, in a
   * context that may block: load models here.
   *
   * @throws Exception the replica does not start; the cause is reported
   */
  ReplicaHandler create(ReplicaContext replica) throws Exception;
}
