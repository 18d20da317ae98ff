package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.Series;
import dev.berth.protocol.port.LedgerView;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaState;
import java.util.List;

/**
 * What one replica shows. Ray's {@code route} is that of the application, which has one at most.
 */
final class ReplicaSeries {
  private ReplicaSeries() {}

  /**
   * @param route of the deployment's application; empty when it has none
   */
  static void show(Replica replica, String route, Series unlabelled) {
    LedgerView ledger = replica.view();
    DeploymentId id = replica.deployment();
    Series into =
        unlabelled.with(
            "deployment", id.name(),
            "replica", ledger.replicaId(),
            "application", id.application());
    showRequests(replica, into.with("route", route));
    showState(replica, ledger, into);
    showSlots(ledger, into);
    showBounds(replica, into);
  }

  private static void showRequests(Replica replica, Series into) {
    into.counter(
        "serve_deployment_request_counter",
        "Requests a replica's handler answered.",
        replica.processedRequests());
    replica
        .errors()
        .forEach(
            (type, count) ->
                into.with("exception_type", type)
                    .counter(
                        "serve_deployment_error_counter",
                        "Requests a replica's handler failed, by the class of the failure.",
                        count));
    into.histogram(
        "serve_deployment_processing_latency_ms",
        "Time from a request's start at the replica to its end.",
        replica.processingTimes());
    into.gauge(
        "serve_deployment_max_processing_latency_ms",
        "Longest time of a request at the replica, of those that ended in the last 60 s.",
        replica.maxProcessingNanos() / 1e6);
    into.counter(
        "berth_replica_timeouts",
        "Requests whose deadline passed while they ran.",
        replica.timeouts());
  }

  private static void showState(Replica replica, LedgerView ledger, Series into) {
    ReplicaState state = replica.state();
    boolean healthy = state == ReplicaState.RUNNING || state == ReplicaState.DRAINING;
    into.counter("serve_deployment_replica_starts", "Starts of a replica.", 1);
    into.gauge(
        "serve_deployment_replica_healthy",
        "1 when a replica is healthy, else 0.",
        healthy ? 1 : 0);
    into.gauge(
        "berth_replica_suspect",
        "1 while a replica gives nothing but failures, else 0.",
        replica.suspect() ? 1 : 0);
    into.counter(
        "serve_health_check_failures",
        "Health checks of a replica that failed or took too long.",
        replica.healthCheckFailures());
    into.histogram(
        "serve_health_check_latency_ms",
        "Time of a health check of a replica.",
        List.of(replica.healthCheckTimes()));
    into.gauge(
        "serve_replica_processing_queries", "Requests a replica is running.", ledger.running());
    into.gauge(
        "serve_replica_utilization_percent",
        "Slots in use over the last 600 s, of the slots there were.",
        100 * replica.utilization());
    into.gauge(
        "serve_zombie_requests",
        "Cancelled requests whose handlers did not settle within their grace.",
        ledger.zombies());
  }

  private static void showSlots(LedgerView ledger, Series into) {
    into.gauge("berth_replica_slots", "Slots of a replica.", ledger.maxOngoing());
    into.gauge("berth_replica_reserved_slots", "Slots held by leases.", ledger.reserved());
    into.counter("berth_slots_granted", "Slots granted.", ledger.granted());
    into.counter("berth_lease_expiries", "Leases that ran out.", ledger.expired());
    into.gauge(
        "berth_audit_mismatches",
        "1 when a ledger's counts contradict one another: a defect.",
        ledger.audit() == LedgerView.Audit.MISMATCH ? 1 : 0);
  }

  private static void showBounds(Replica replica, Series into) {
    into.gauge(
        "berth_zombie_requests_limit",
        "Most zombie requests of a replica before it counts as unhealthy.",
        replica.limits().maxZombieRequests());
    into.gauge(
        "berth_remembered_attempts",
        "Attempts and tokens a replica's ledger remembers, active leases included.",
        replica.slots().remembered());
    into.gauge(
        "berth_remembered_attempts_limit",
        "Most ended attempts and tokens remembered; the oldest is then forgotten.",
        replica.maxRemembered());
    into.gauge(
        "berth_noted_routers",
        "Routers elsewhere that a replica refused and tells of the next free slot.",
        replica.notedRouters());
    into.gauge(
        "berth_noted_routers_limit", "Most noted routers.", replica.limits().refusedRouters());
  }
}
