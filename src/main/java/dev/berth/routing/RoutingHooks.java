package dev.berth.routing;

/**
 * Told of requests that really went to a replica, in pairs: each routed is followed by exactly one
 * completed, whatever the request came to, and a selection that was never dispatched is no request.
 * Called on router loops; must not block.
 *
 * <p>Source: Ray's on_request_routed and on_request_completed, paired as the review of #63254
 * asked.
 */
public interface RoutingHooks {
  /** Listens to nothing. */
  RoutingHooks NONE =
      new RoutingHooks() {
        @Override
        public void onRequestRouted(String replicaId, String requestId) {}

        @Override
        public void onRequestCompleted(String replicaId, String requestId) {}
      };

  void onRequestRouted(String replicaId, String requestId);

  void onRequestCompleted(String replicaId, String requestId);
}
