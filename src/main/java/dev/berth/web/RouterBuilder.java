package dev.berth.web;

import io.vertx.ext.web.Router;

/** Callback that adds the routes of a {@link WebDeployment#router} to its Router. */
@FunctionalInterface
public interface RouterBuilder {
  /**
   * Adds the routes. Called once per replica, or once per replica and event loop when the
   * deployment is spread, before the replica accepts requests. Runs in a context that may block.
   *
   * @throws Exception the replica does not start; the cause is reported
   */
  void build(Router router, WebReplica replica) throws Exception;
}
