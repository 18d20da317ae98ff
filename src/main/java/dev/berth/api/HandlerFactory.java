package dev.berth.api;

/** Factory for the handlers of a deployment's replicas. */
@FunctionalInterface
public interface HandlerFactory {

  /**
   * Creates a handler. Called once per replica, or once per replica and event loop when the
   * deployment is spread, before the replica accepts requests. Runs in a context that may block:
   * load models here.
   *
   * @throws Exception the replica does not start; the cause is reported
   */
  ReplicaHandler create(ReplicaContext replica) throws Exception;
}
