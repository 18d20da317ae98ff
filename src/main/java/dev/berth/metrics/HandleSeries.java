package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import io.prometheus.metrics.model.snapshots.Labels;

/**
 * What the router of a deployment shows. All handles of an instance to one deployment share that
 * router, so Ray's {@code handle} and {@code actor_id} have nothing to tell apart here.
 */
final class HandleSeries {
  private HandleSeries() {}

  static void collect(HandleMeterSource handle, Families into) {
    DeploymentId id = handle.deployment();
    Labels labels = Labels.of("deployment", id.name(), "application", id.application());
    Labels routed =
        Labels.of(
            "deployment", id.name(),
            "route", handle.route(),
            "application", id.application());
    into.counter(
        "serve_handle_request_counter",
        "Requests sent on their way: calls, and selections once they are dispatched.",
        routed,
        handle.handleRequests());
    into.counter(
        "serve_num_router_requests",
        "Requests a router took: calls and choices.",
        routed,
        handle.requests());
    state(handle, labels, into);
    selections(handle, labels, into);
    outcomes(handle, labels, into);
    handle.forEachReplica(
        (replica, ongoing) ->
            into.gauge(
                "serve_request_router_queue_len",
                "Requests running or reserved at a replica, as the router sees it.",
                Labels.of(
                    "deployment", id.name(),
                    "replica_id", replica,
                    "application", id.application()),
                ongoing));
  }

  private static void state(HandleMeterSource handle, Labels labels, Families into) {
    into.gauge(
        "serve_deployment_queued_queries",
        "Requests waiting for a slot.",
        labels,
        Math.max(0, handle.queued()));
    if (handle.maxQueued() < Integer.MAX_VALUE) {
      into.gauge(
          "berth_queued_queries_limit",
          "Requests that may wait for a slot of a deployment; absent for no limit of its own.",
          labels,
          handle.maxQueued());
    }
    into.gauge(
        "serve_num_ongoing_requests_at_replicas",
        "Requests sent to replicas and unanswered.",
        labels,
        Math.max(0, handle.running()));
    into.gauge(
        "serve_reserved_slots_active",
        "Slots held by selections.",
        labels,
        Math.max(0, handle.reserved()));
  }

  private static void selections(HandleMeterSource handle, Labels labels, Families into) {
    for (LatencyBuckets loop : handle.fulfillmentTimes()) {
      into.histogram(
          "serve_request_router_fulfillment_time_ms",
          "Time a request waited until it had its replica; 0 when a slot was free at once.",
          labels,
          loop);
    }
    for (LatencyBuckets loop : handle.dispatchGaps()) {
      into.histogram(
          "serve_selection_dispatch_gap_ms",
          "Time from the making of a selection to its dispatch.",
          labels,
          loop);
    }
    into.counter(
        "serve_selections_released_without_dispatch",
        "Selections closed or expired without a dispatch.",
        labels,
        handle.releasedWithoutDispatch());
    into.counter(
        "berth_selections_expired",
        "Selections whose lease ran out without a dispatch.",
        labels,
        handle.selectionsExpired());
    into.gauge(
        "berth_legs_waiting",
        "Requests for several slots of a deployment that wait while another collects its own.",
        labels,
        handle.waitingToCollect());
    into.counter(
        "berth_legs_begun_anew",
        "Requests for several slots that lost one while they waited for the rest.",
        labels,
        handle.collectedAnew());
  }

  private static void outcomes(HandleMeterSource handle, Labels labels, Families into) {
    into.counter(
        "berth_back_pressured_requests",
        "Requests refused because a bound was reached.",
        labels,
        handle.backPressured());
    into.counter(
        "berth_request_retries",
        "Requests that waited again after a replica refused them.",
        labels,
        handle.retries());
    into.counter(
        "berth_slot_hand_offs",
        "Slots that went from a completed request to a waiter in one step.",
        labels,
        handle.handOffs());
    into.counter(
        "berth_ranker_failures",
        "Rankings that threw; the request was routed all the same.",
        labels,
        handle.rankerFailures());
  }
}
