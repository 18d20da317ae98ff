package dev.berth.metrics;

import io.prometheus.metrics.model.snapshots.Labels;

/** What the event loops and the pusher show. */
final class InstanceSeries {
  private InstanceSeries() {}

  static void collect(LoopMetricSource loop, Families into) {
    Labels labels = Labels.of("loop", Integer.toString(loop.loop()));
    into.gauge(
        "berth_pending_requests",
        "Requests sent by an event loop and unanswered.",
        labels,
        loop.pending());
    into.gauge("berth_pending_requests_limit", "Most pending requests.", labels, loop.maxPending());
    into.gauge(
        "berth_router_deadlines",
        "Deadlines an event loop's router watches: at most one for each request and selection.",
        labels,
        loop.deadlines());
    into.counter(
        "berth_late_answers_dropped",
        "Answers no one waited for any more.",
        labels,
        loop.lateAnswersDropped());
    into.counter(
        "berth_duplicates_dropped",
        "Messages to a router that it had seen before.",
        labels,
        loop.duplicatesDropped());
    into.gauge(
        "berth_replica_peers",
        "Routers of other instances that an event loop's replicas keep tables for.",
        labels,
        loop.peers());
    into.gauge("berth_replica_peers_limit", "Most of these routers.", labels, loop.maxPeers());
    into.counter(
        "berth_replica_duplicates_dropped",
        "Requests an event loop's replicas dropped: their attempt was seen or released before.",
        labels,
        loop.replicaDuplicatesDropped());
    into.counter(
        "berth_falsely_held_requests",
        "Requests from elsewhere that claimed to hold a slot here.",
        labels,
        loop.falselyHeld());
  }

  static void collect(MetricsPusher pusher, Families into) {
    into.counter("berth_metrics_batches", "Batches made.", Labels.EMPTY, pusher.batches());
    into.counter(
        "berth_metrics_pushes_skipped",
        "Push intervals passed over with a batch in flight.",
        Labels.EMPTY,
        pusher.skipped());
    into.counter(
        "berth_metrics_pushes_failed",
        "Batches the controller did not take, or did not answer.",
        Labels.EMPTY,
        (double) pusher.failed() + pusher.expired());
    into.counter(
        "berth_metrics_unreadable_samples",
        "Samples lost because a source threw.",
        Labels.EMPTY,
        pusher.unreadable());
    into.gauge("berth_metrics_handles", "Deployments reported.", Labels.EMPTY, pusher.handles());
  }
}
