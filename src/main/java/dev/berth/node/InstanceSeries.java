package dev.berth.node;

import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.Series;
import dev.berth.replica.BodyBounds;
import dev.berth.replica.ReplicaLoop;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.slots.InstanceBounds;

/** What the event loops, the pusher and the bounds of the whole instance show. */
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

  static void show(MetricsPusher pusher, Series into) {
    into.counter("berth_metrics_batches", pusher.batches());
    into.counter("berth_metrics_signals", pusher.signalled());
    into.counter("berth_metrics_pushes_skipped", pusher.skipped());
    into.counter("berth_metrics_pushes_failed", (double) pusher.failed() + pusher.expired());
    into.counter("berth_metrics_unreadable_samples", pusher.unreadable());
    into.gauge("berth_metrics_handles", pusher.handles());
  }
}
