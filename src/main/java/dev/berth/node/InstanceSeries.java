package dev.berth.node;

import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.Series;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.replica.BodyBounds;
import dev.berth.replica.ReplicaLoop;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.reserve.ReservationCounters;
import dev.berth.routing.reserve.ReservationTable;
import dev.berth.routing.slots.InstanceBounds;
import java.util.Locale;
import java.util.Map;

/** What the event loops, the pusher, the tokens and the bounds of the whole instance show. */
final class InstanceSeries {
  private InstanceSeries() {}

  /** What the request bodies of the instance hold together, and how much they may. */
  static void show(BodyBounds bodies, Series into) {
    into.gauge("berth_body_stream_bytes", bodies.windows().taken());
    into.gauge("berth_body_stream_bytes_limit", bodies.windows().most());
    into.gauge("berth_body_buffered_bytes", bodies.gathered().taken());
    into.gauge("berth_body_buffered_bytes_limit", bodies.gathered().most());
  }

  /** What all routers of the instance hold together, and how much they may. */
  static void show(InstanceBounds bounds, Settings limits, Series into) {
    into.gauge("berth_queued_requests", bounds.queued());
    into.gauge("berth_queued_requests_limit", limits.get(LimitOptions.MAX_QUEUED_TOTAL));
    into.gauge("berth_queued_bytes", bounds.queuedBytes());
    into.gauge("berth_queued_bytes_limit", limits.get(LimitOptions.MAX_QUEUED_BYTES));
    into.gauge("berth_stream_bytes", bounds.streams().bytes());
    into.gauge("berth_stream_bytes_limit", limits.get(LimitOptions.STREAM_BYTES_TOTAL));
    into.gauge("berth_stream_grants_waiting", bounds.streams().waiting());
    into.counter("berth_stream_grants_waited", bounds.streams().waits());
  }

  static void show(int index, DataPlane plane, int maxPending, Series unlabelled) {
    RouterLoop loop = plane.routers().loop(index);
    ReplicaLoop replicas = plane.replicas(index);
    Series into = unlabelled.with("loop", Integer.toString(index));
    into.gauge("berth_pending_requests", loop.pendingRequests());
    into.gauge("berth_pending_requests_limit", maxPending);
    into.gauge("berth_router_deadlines", loop.deadlines());
    into.counter("berth_late_answers_dropped", loop.lateAnswers());
    into.counter("berth_duplicates_dropped", loop.duplicates());
    into.gauge("berth_replica_peers", replicas.peers());
    into.gauge("berth_replica_peers_limit", ReplicaLoop.MAX_PEERS);
    into.counter("berth_replica_duplicates_dropped", replicas.duplicates());
    into.counter("berth_falsely_held_requests", replicas.falselyHeld());
  }

  /** What is shown of the slots that are held by tokens; never a token, nor who holds it. */
  static void show(ReservationTable table, Series into) {
    into.gauge("berth_reservations_held", table.held());
    into.gauge("berth_reservations_asked", table.permitsTaken());
    into.gauge("berth_reservations_asked_limit", table.limits().maxHeld());
    into.gauge("berth_reservations_caller_limit", table.limits().maxHeldPerCaller());
    into.gauge("berth_reservation_callers", table.callers());
    into.gauge("berth_reservations_remembered", table.remembered());
    into.gauge("berth_reservations_remembered_limit", table.limits().maxEnded());
    into.gauge("berth_idempotency_keys", table.keys());
    into.gauge("berth_idempotency_keys_limit", table.limits().maxKeys());
    into.counter("berth_idempotency_keys_forgotten", table.keysForgotten());
    ReservationCounters counters = table.counters();
    into.counter("berth_reservations_made", counters.made());
    Map<String, Problem> ends =
        Map.of(
            "used", Problem.ALREADY_USED,
            "released", Problem.RELEASED,
            "expired", Problem.EXPIRED,
            "replica_gone", Problem.REPLICA_GONE);
    ends.forEach(
        (how, end) ->
            into.with("how", how).counter("berth_reservations_ended", counters.endedBy(end)));
    for (Problem problem : Problem.values()) {
      into.with("reason", problem.name().toLowerCase(Locale.ROOT))
          .counter("berth_reservations_refused", counters.refusedBy(problem));
    }
  }

  static void show(MetricsPusher pusher, Series into) {
    into.counter("berth_metrics_batches", pusher.batches());
    into.counter("berth_metrics_pushes_skipped", pusher.skipped());
    into.counter("berth_metrics_pushes_failed", (double) pusher.failed() + pusher.expired());
    into.counter("berth_metrics_unreadable_samples", pusher.unreadable());
    into.gauge("berth_metrics_handles", pusher.handles());
  }
}
