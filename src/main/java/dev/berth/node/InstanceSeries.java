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
    into.gauge(
        "berth_body_stream_bytes",
        "Bytes that request bodies may have under way now.",
        bodies.streamBytes());
    into.gauge(
        "berth_body_stream_bytes_limit",
        "Most bytes of request bodies under way.",
        bodies.maxStreamBytes());
    into.gauge(
        "berth_body_buffered_bytes",
        "Bytes of bodies gathered for handlers that take them whole.",
        bodies.bufferedBytes());
    into.gauge(
        "berth_body_buffered_bytes_limit",
        "Most bytes of gathered bodies.",
        bodies.maxBufferedBytes());
  }

  /** What all routers of the instance hold together, and how much they may. */
  static void show(InstanceBounds bounds, Settings limits, Series into) {
    into.gauge(
        "berth_queued_requests", "Requests waiting for a slot, all deployments.", bounds.queued());
    into.gauge(
        "berth_queued_requests_limit",
        "Most waiting requests.",
        limits.get(LimitOptions.MAX_QUEUED_TOTAL));
    into.gauge(
        "berth_queued_bytes", "Bytes of the bodies of waiting requests.", bounds.queuedBytes());
    into.gauge(
        "berth_queued_bytes_limit",
        "Most bytes of waiting requests.",
        limits.get(LimitOptions.MAX_QUEUED_BYTES));
    into.gauge(
        "berth_stream_bytes",
        "Bytes that answers hold now: granted to streams and not taken by their clients, whole"
            + " answers not taken, and what writers hold for want of a grant.",
        bounds.streamBytes());
    into.gauge(
        "berth_stream_bytes_limit",
        "Bytes of answers beyond which the next grants of streams wait.",
        limits.get(LimitOptions.STREAM_BYTES_TOTAL));
    into.gauge(
        "berth_stream_grants_waiting",
        "Streams whose next grant waits for room now.",
        bounds.streams().waiting());
    into.counter(
        "berth_stream_grants_waited",
        "Grants to streams that had to wait for room.",
        bounds.streams().waits());
  }

  static void show(int index, DataPlane plane, int maxPending, Series unlabelled) {
    RouterLoop loop = plane.routers().loop(index);
    ReplicaLoop replicas = plane.replicas(index);
    Series into = unlabelled.with("loop", Integer.toString(index));
    into.gauge(
        "berth_pending_requests",
        "Requests sent by an event loop and unanswered.",
        loop.pendingRequests());
    into.gauge("berth_pending_requests_limit", "Most pending requests.", maxPending);
    into.gauge(
        "berth_router_deadlines",
        "Deadlines an event loop's router watches: at most one for each request and selection.",
        loop.deadlines());
    into.counter(
        "berth_late_answers_dropped", "Answers no one waited for any more.", loop.lateAnswers());
    into.counter(
        "berth_duplicates_dropped",
        "Messages to a router that it had seen before.",
        loop.duplicates());
    into.gauge(
        "berth_replica_peers",
        "Routers of other instances that an event loop's replicas keep tables for.",
        replicas.peers());
    into.gauge("berth_replica_peers_limit", "Most of these routers.", ReplicaLoop.maxPeers());
    into.counter(
        "berth_replica_duplicates_dropped",
        "Requests an event loop's replicas dropped: their attempt was seen or released before.",
        replicas.duplicates());
    into.counter(
        "berth_falsely_held_requests",
        "Requests from elsewhere that claimed to hold a slot here.",
        replicas.falselyHeld());
  }

  static void show(MetricsPusher pusher, Series into) {
    into.counter("berth_metrics_batches", "Batches made.", pusher.batches());
    into.counter(
        "berth_metrics_pushes_skipped",
        "Push intervals passed over with a batch in flight.",
        pusher.skipped());
    into.counter(
        "berth_metrics_pushes_failed",
        "Batches the controller did not take, or did not answer.",
        (double) pusher.failed() + pusher.expired());
    into.counter(
        "berth_metrics_unreadable_samples",
        "Samples lost because a source threw.",
        pusher.unreadable());
    into.gauge("berth_metrics_handles", "Deployments reported.", pusher.handles());
  }
}
