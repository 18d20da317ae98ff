package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.LedgerView;
import io.prometheus.metrics.model.snapshots.Labels;

/**
 * What one replica shows. Ray's {@code route} is that of the application, which has one at most.
 */
final class ReplicaSeries {
  private ReplicaSeries() {}

  static void collect(ReplicaMetricSource replica, Families into) {
    LedgerView ledger = replica.ledger();
    DeploymentId id = replica.deployment();
    Labels labels =
        Labels.of(
            "deployment", id.name(),
            "replica", ledger.replicaId(),
            "application", id.application());
    requests(replica, labels.add("route", replica.route()), into);
    state(replica, ledger, labels, into);
    slots(ledger, labels, into);
    bounds(replica, ledger, labels, into);
  }

  private static void requests(ReplicaMetricSource replica, Labels labels, Families into) {
    into.counter(
        "serve_deployment_request_counter",
        "Requests a replica's handler answered.",
        labels,
        replica.requests());
    replica
        .errors()
        .forEach(
            (type, count) ->
                into.counter(
                    "serve_deployment_error_counter",
                    "Requests a replica's handler failed, by the class of the failure.",
                    labels.add("exception_type", type),
                    count));
    for (LatencyBuckets loop : replica.processingTimes()) {
      into.histogram(
          "serve_deployment_processing_latency_ms",
          "Time from a request's start at the replica to its end.",
          labels,
          loop);
    }
    into.gauge(
        "serve_deployment_max_processing_latency_ms",
        "Longest time of a request at the replica, of those that ended in the last 60 s.",
        labels,
        replica.maxProcessingNanos() / 1e6);
    into.counter(
        "berth_replica_timeouts",
        "Requests whose deadline passed while they ran.",
        labels,
        replica.timeouts());
  }

  private static void state(
      ReplicaMetricSource replica, LedgerView ledger, Labels labels, Families into) {
    into.counter("serve_deployment_replica_starts", "Starts of a replica.", labels, 1);
    into.gauge(
        "serve_deployment_replica_healthy",
        "1 when a replica is healthy, else 0.",
        labels,
        replica.healthy() ? 1 : 0);
    into.gauge(
        "berth_replica_suspect",
        "1 while a replica gives nothing but failures, else 0.",
        labels,
        replica.suspect() ? 1 : 0);
    into.counter(
        "serve_health_check_failures",
        "Health checks of a replica that failed or took too long.",
        labels,
        replica.healthCheckFailures());
    into.histogram(
        "serve_health_check_latency_ms",
        "Time of a health check of a replica.",
        labels,
        replica.healthCheckTimes());
    into.gauge(
        "serve_replica_processing_queries",
        "Requests a replica is running.",
        labels,
        ledger.running());
    into.gauge(
        "serve_replica_utilization_percent",
        "Slots in use over the last 600 s, of the slots there were.",
        labels,
        100 * replica.utilization());
    into.gauge(
        "serve_zombie_requests",
        "Cancelled requests whose handlers did not settle within their grace.",
        labels,
        ledger.zombies());
  }

  private static void slots(LedgerView ledger, Labels labels, Families into) {
    into.gauge("berth_replica_slots", "Slots of a replica.", labels, ledger.maxOngoing());
    into.gauge("berth_replica_reserved_slots", "Slots held by leases.", labels, ledger.reserved());
    into.counter("berth_slots_granted", "Slots granted.", labels, ledger.granted());
    into.counter("berth_lease_expiries", "Leases that ran out.", labels, ledger.expired());
    into.gauge(
        "berth_audit_mismatches",
        "1 when a ledger's counts contradict one another: a defect.",
        labels,
        ledger.audit() == LedgerView.Audit.MISMATCH ? 1 : 0);
  }

  private static void bounds(
      ReplicaMetricSource replica, LedgerView ledger, Labels labels, Families into) {
    into.gauge(
        "berth_zombie_requests_limit",
        "Most zombie requests of a replica before it counts as unhealthy.",
        labels,
        replica.maxZombies());
    into.gauge(
        "berth_remembered_attempts",
        "Attempts and tokens a replica's ledger remembers, active leases included.",
        labels,
        replica.remembered());
    into.gauge(
        "berth_remembered_attempts_limit",
        "Most ended attempts and tokens remembered; the oldest is then forgotten.",
        labels,
        replica.maxRemembered());
    into.gauge(
        "berth_noted_routers",
        "Routers elsewhere that a replica refused and tells of the next free slot.",
        labels,
        replica.notedRouters());
    into.gauge(
        "berth_noted_routers_limit", "Most noted routers.", labels, replica.maxNotedRouters());
  }
}
