package dev.berth.replica;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.MetricSeries;
import dev.berth.view.LedgerView;
import java.util.List;

/** Metrics of a replica. */
public final class ReplicaSeries {
  private ReplicaSeries() {}

  /**
   * Reports the metrics of one replica. Ray's {@code route} is that of the application, which has
   * at most one.
   *
   * @param route route of the deployment's application; empty when it has none
   */
  public static void show(Replica replica, String route, MetricSeries unlabelled) {
    LedgerView ledger = replica.view();
    DeploymentId id = replica.deployment();
    MetricSeries into =
        unlabelled.with(
            "deployment", id.name(),
            "replica", ledger.replicaId(),
            "application", id.application());
    MetricSeries routed = into.with("route", route);
    routed.counter("serve_deployment_request_counter", replica.processedRequests());
    replica
        .errors()
        .forEach(
            (type, count) ->
                routed
                    .with("exception_type", type)
                    .counter("serve_deployment_error_counter", count));
    routed.histogram("serve_deployment_processing_latency_ms", replica.processingTimes());
    routed.gauge("serve_deployment_max_processing_latency_ms", replica.maxProcessingNanos() / 1e6);
    routed.counter("berth_replica_timeouts", replica.timeouts.sum());
    routed.counter("berth_failures_unlogged", replica.failures.unlogged.sum());
    ReplicaState state = replica.state();
    boolean healthy = state == ReplicaState.RUNNING || state == ReplicaState.DRAINING;
    into.counter("serve_deployment_replica_starts", 1);
    into.gauge("serve_deployment_replica_healthy", healthy ? 1 : 0);
    into.gauge("berth_replica_suspect", replica.passive.suspect ? 1 : 0);
    into.counter("serve_health_check_failures", replica.healthCheckFailures());
    into.histogram("serve_health_check_latency_ms", List.of(replica.health.latencies));
    AutoscalingStats stats = replica.stats();
    if (stats != null) {
      into.histogram("serve_user_autoscaling_stats_latency_ms", List.of(stats.times));
      stats
          .failures()
          .forEach(
              (type, count) ->
                  into.with("exception_name", type)
                      .counter("serve_record_autoscaling_stats_failed", count));
    }
    into.gauge("serve_replica_processing_queries", ledger.running());
    into.gauge("serve_replica_utilization_percent", 100 * replica.utilization());
    into.gauge("serve_zombie_requests", ledger.zombies());
    into.gauge("berth_replica_slots", ledger.maxOngoing());
    into.gauge("berth_replica_reserved_slots", ledger.reserved());
    into.counter("berth_slots_granted", ledger.granted());
    into.counter("berth_lease_expiries", ledger.expired());
    into.gauge("berth_audit_mismatches", ledger.audit() == LedgerView.Audit.MISMATCH ? 1 : 0);
    into.gauge("berth_zombie_requests_limit", replica.limits().maxZombieRequests());
    into.gauge(
        "berth_remembered_attempts",
        replica.slots().rememberedAttempts(),
        replica.ledgerLimits.attemptsMax());
    into.counter("berth_attempts_forgotten_early", replica.slots().forgottenEarly());
    into.gauge(
        "berth_remembered_leases",
        replica.slots().rememberedLeases(),
        replica.ledgerLimits.rememberedMax());
    into.gauge("berth_noted_routers", replica.refused.waiting(), replica.limits().refusedRouters());
  }
}
