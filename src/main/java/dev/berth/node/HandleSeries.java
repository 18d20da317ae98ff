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
    routed.counter(
        "serve_handle_request_counter",
        "Requests sent on their way: calls, and selections once they are dispatched.",
        counters.handleRequests());
    routed.counter(
        "serve_num_router_requests",
        "Requests a router took: calls and choices.",
        router.requests());
    showState(router, into);
    showSelections(router, counters, into);
    showOutcomes(router, counters, into);
    router.forEachReplica(
        (replica, ongoing) ->
            into.with("replica_id", replica)
                .gauge(
                    "serve_request_router_queue_len",
                    "Requests running or reserved at a replica, as the router sees it.",
                    ongoing));
  }

  private static void showState(DeploymentRouter router, Series into) {
    into.gauge("serve_deployment_queued_queries", "Requests waiting for a slot.", router.queued());
    if (router.settings().maxQueued() >= 0) {
      into.gauge(
          "berth_queued_queries_limit",
          "Requests that may wait for a slot of a deployment; absent for no limit of its own.",
          router.settings().maxQueued());
    }
    into.gauge(
        "serve_num_ongoing_requests_at_replicas",
        "Requests sent to replicas and unanswered.",
        router.running());
    into.gauge("serve_reserved_slots_active", "Slots held by selections.", router.reserved());
  }

  private static void showSelections(
      DeploymentRouter router, HandleCounters counters, Series into) {
    into.histogram(
        "serve_request_router_fulfillment_time_ms",
        "Time a request waited until it had its replica; 0 when a slot was free at once.",
        router.fulfillmentTimes());
    into.histogram(
        "serve_selection_dispatch_gap_ms",
        "Time from the making of a selection to its dispatch.",
        router.dispatchGaps());
    into.counter(
        "serve_selections_released_without_dispatch",
        "Selections closed or expired without a dispatch.",
        counters.releasedWithoutDispatch());
    into.counter(
        "berth_selections_expired",
        "Selections whose lease ran out without a dispatch.",
        counters.selectionsExpired());
    into.gauge(
        "berth_legs_waiting",
        "Requests for several slots of a deployment that wait while another collects its own.",
        router.waitingToCollect());
    into.counter(
        "berth_legs_begun_anew",
        "Requests for several slots that lost one while they waited for the rest.",
        counters.collectedAnew());
  }

  private static void showOutcomes(DeploymentRouter router, HandleCounters counters, Series into) {
    into.counter(
        "berth_back_pressured_requests",
        "Requests refused because a bound was reached.",
        counters.backPressured());
    into.counter(
        "berth_request_retries",
        "Requests that waited again after a replica refused them.",
        counters.retries());
    into.counter(
        "berth_slot_hand_offs",
        "Slots that went from a completed request to a waiter in one step.",
        router.handOffs());
    into.counter(
        "berth_ranker_failures",
        "Rankings that threw; the request was routed all the same.",
        router.rankerFailures());
  }
}
