package dev.berth.web;

import dev.berth.api.ReplicaContext;

/** User code that declares the routes of one replica. */
@FunctionalInterface
public interface RouteSetup {

  /**
   * Declares the routes. Called once per replica, or once per replica and event loop when the
   * deployment is spread, in a context that may block.
   *
   * @throws Exception the replica does not start; the cause is reported
   */
  void declare(TypedRoutes routes, ReplicaContext replica) throws Exception;
}
