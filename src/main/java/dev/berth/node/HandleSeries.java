package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.Series;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.HandleCounters;

/**
 * What the router of a deployment shows. All handles of an instance to one deployment share that
 * router, so Ray's {@code handle} and {@code actor_id} have nothing to tell apart here.
 */
final class HandleSeries {
  private HandleSeries() {}

  /**
   * @param route of the deployment's application; empty when it has none
   */
  static void show(DeploymentRouter router, String route, Series unlabelled) {
    DeploymentId id = router.deployment();
    Series into = unlabelled.with("deployment", id.name(), "application", id.application());
    HandleCounters counters = router.counters();
    Series routed = into.with("route", route);
    routed.counter("serve_handle_request_counter", counters.handleRequests());
    routed.counter("serve_num_router_requests", router.requests());
    into.gauge("serve_deployment_queued_queries", router.queued());
    if (router.settings().maxQueued() >= 0) {
      into.gauge("berth_queued_queries_limit", router.settings().maxQueued());
    }
    into.gauge("serve_num_ongoing_requests_at_replicas", router.running());
    into.gauge("serve_reserved_slots_active", router.reserved());
    into.histogram("serve_request_router_fulfillment_time_ms", router.fulfillmentTimes());
    into.histogram("serve_selection_dispatch_gap_ms", router.dispatchGaps());
    into.counter("serve_selections_released_without_dispatch", counters.releasedWithoutDispatch());
    into.counter("berth_selections_expired", counters.selectionsExpired());
    into.gauge("berth_legs_waiting", router.legGate().size());
    into.counter("berth_legs_begun_anew", counters.collectedAnew());
    into.counter("berth_back_pressured_requests", counters.backPressured());
    into.counter("berth_request_retries", counters.retries());
    into.counter("berth_slot_hand_offs", router.handOffs());
    into.counter("berth_ranker_failures", router.rankerFailures());
    router.forEachReplica(
        (replica, ongoing) ->
            into.with("replica_id", replica).gauge("serve_request_router_queue_len", ongoing));
  }
}
