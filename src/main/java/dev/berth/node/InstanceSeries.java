package dev.berth.node;

import dev.berth.admin.LedgerRoutes.ReplicaLedger;
import dev.berth.api.DeploymentId;
import dev.berth.config.LimitOptions;
import dev.berth.config.MetricsOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.MetricSeries;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.MetricsPusher.ReportIntervals;
import dev.berth.node.loops.Identity;
import dev.berth.node.traffic.RouteRegistry;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.replica.BodyMemoryLimits;
import dev.berth.replica.ReplicaLoop;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.HandleCounters;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.reserve.ReservationCounters;
import dev.berth.routing.reserve.ReservationTable;
import dev.berth.routing.slots.InstanceQueueLimits;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Metric series of an instance: its routers, event loops, tokens and limits. */
final class InstanceSeries {
  private InstanceSeries() {}

  /** Creates the sender of the metrics batches. */
  static MetricsPusher pusher(ServeConfig config, Identity identity) {
    return new MetricsPusher(
        identity.node(),
        identity.incarnation(),
        new ReportIntervals(
            config.get(MetricsOptions.RECORD_INTERVAL_MS),
            config.get(MetricsOptions.PUSH_INTERVAL_MS)),
        new ReportIntervals(
            config.get(MetricsOptions.REPLICA_RECORD_INTERVAL_MS),
            config.get(MetricsOptions.REPLICA_PUSH_INTERVAL_MS)),
        MetricsPusher.DEFAULT_MAX_REPORT_BYTES,
        identity.nanoClock());
  }

  /** Returns the ledgers of the replicas on the instance. */
  static List<ReplicaLedger> ledgers(DataPlane plane) {
    return plane.host.replicas().stream()
        .map(
            replica -> new ReplicaLedger(replica.deployment(), replica.view(), replica.batchFill()))
        .toList();
  }

  /** Shows the totals of all routers and request bodies of the instance, with their limits. */
  static void show(DataPlane plane, Settings limits, MetricSeries into) {
    BodyMemoryLimits bodies = plane.limits.bodies();
    into.gauge("berth_body_stream_bytes", bodies.windows().inUse(), bodies.windows().most);
    into.gauge("berth_body_buffered_bytes", bodies.gathered().inUse(), bodies.gathered().most);
    InstanceQueueLimits bounds = plane.routers.bounds;
    into.gauge("berth_queued_requests", bounds.queued(), limits.get(LimitOptions.MAX_QUEUED_TOTAL));
    into.gauge(
        "berth_queued_bytes", bounds.queuedBytes(), limits.get(LimitOptions.MAX_QUEUED_BYTES));
    into.gauge(
        "berth_stream_bytes", bounds.streams.bytes(), limits.get(LimitOptions.STREAM_BYTES_TOTAL));
    into.gauge("berth_stream_grants_waiting", bounds.streams.waiting());
    into.counter("berth_stream_grants_waited", bounds.streams.waits.sum());
  }

  static void show(int index, DataPlane plane, int maxPending, MetricSeries unlabelled) {
    RouterLoop loop = plane.routers.loop(index);
    ReplicaLoop replicas = plane.replicas(index);
    MetricSeries into = unlabelled.with("loop", Integer.toString(index));
    into.gauge("berth_pending_requests", loop.pendingRequests(), maxPending);
    into.counter("berth_calls_recalled", loop.recalls.sum());
    into.gauge(
        "berth_cancels_repeated", loop.cancelsRepeated(), plane.limits.loop().cancelledCalls());
    into.counter("berth_cancels_not_repeated", loop.cancelsNotRepeated());
    into.gauge("berth_router_deadlines", loop.deadlines());
    into.counter("berth_late_answers_dropped", loop.lateAnswers.sum());
    into.counter("berth_duplicates_dropped", loop.duplicates.sum());
    into.gauge("berth_replica_peers", replicas.peers(), ReplicaLoop.MAX_PEERS);
    into.counter("berth_replica_duplicates_dropped", replicas.duplicates.sum());
    into.counter("berth_falsely_held_requests", replicas.falselyHeld.sum());
  }

  /** Shows the slots that tokens hold, but no token and no holder. */
  static void show(ReservationTable table, MetricSeries into) {
    into.gauge("berth_reservations_held", table.heldCount());
    into.gauge("berth_reservations_asked", table.permitsTaken(), table.limits.maxHeld());
    into.gauge("berth_reservations_caller_limit", table.limits.maxHeldPerCaller());
    into.gauge("berth_reservation_callers", table.callers());
    into.gauge("berth_reservations_remembered", table.remembered(), table.limits.maxEnded());
    into.gauge("berth_idempotency_keys", table.keys(), table.limits.maxKeys());
    into.counter("berth_idempotency_keys_forgotten", table.keysForgotten());
    ReservationCounters counters = table.counters;
    into.counter("berth_reservations_made", counters.made.sum());
    Map<String, ReservationProblem> ends =
        Map.of(
            "used", ReservationProblem.ALREADY_USED,
            "released", ReservationProblem.RELEASED,
            "expired", ReservationProblem.EXPIRED,
            "replica_gone", ReservationProblem.REPLICA_GONE);
    ends.forEach(
        (how, end) ->
            into.with("how", how).counter("berth_reservations_ended", counters.endedBy(end)));
    for (ReservationProblem problem : ReservationProblem.values()) {
      into.with("reason", problem.name().toLowerCase(Locale.ROOT))
          .counter("berth_reservations_refused", counters.refusedBy(problem));
    }
  }

  /**
   * Shows a deployment's router. All handles of an instance to one deployment share the router, so
   * Ray's {@code handle} and {@code actor_id} have nothing to distinguish here.
   *
   * @param routes has the route of the deployment's application
   */
  static void show(DeploymentRouter router, RouteRegistry routes, MetricSeries unlabelled) {
    DeploymentId id = router.deployment();
    MetricSeries into = unlabelled.with("deployment", id.name(), "application", id.application());
    HandleCounters counters = router.counters;
    MetricSeries routed = into.with("route", routes.prefixOf(id.application()));
    routed.counter("serve_handle_request_counter", counters.handleRequests());
    routed.counter("serve_num_router_requests", router.begunCount());
    into.gauge("serve_deployment_queued_queries", router.queuedRequests());
    if (router.settings().maxQueued() >= 0) {
      into.gauge("berth_queued_queries_limit", router.settings().maxQueued());
    }
    into.gauge("serve_num_ongoing_requests_at_replicas", router.running());
    into.gauge("serve_reserved_slots_active", router.reserved());
    into.histogram("serve_request_router_fulfillment_time_ms", router.fulfillmentTimes);
    into.histogram("serve_selection_dispatch_gap_ms", router.dispatchGaps);
    into.histogram("serve_health_check_latency_ms", List.of(router.healthCheckTimes));
    into.counter("serve_selections_released_without_dispatch", counters.undispatched.sum());
    into.counter("berth_selections_expired", counters.selectionsExpired.sum());
    into.gauge("berth_legs_waiting", router.legGate.size());
    into.counter("berth_legs_begun_anew", counters.collectedAnew.sum());
    into.counter("berth_back_pressured_requests", counters.backPressured.sum());
    into.counter("berth_request_retries", counters.retries.sum());
    into.counter("berth_fallback_requests", counters.fallbacks.sum());
    into.counter("berth_slot_hand_offs", router.handOffs());
    into.counter("berth_ranker_failures", router.ranker.failures.sum());
    router.forEachReplica(
        (replica, ongoing) ->
            into.with("replica_id", replica).gauge("serve_request_router_queue_len", ongoing));
  }
}
