package dev.berth.replica;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.MetricSeries;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.view.LedgerView;
import java.util.List;
import java.util.Map;

/**
 * Metrics of a replica. An instance may have thousands of idle replicas, so an idle one has few
 * series: a counter appears with its first count, and gauges that no Ray dashboard reads per
 * replica are summed over the replicas of a deployment.
 */
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
    MetricSeries sums = unlabelled.with("deployment", id.name(), "application", id.application());
    MetricSeries into = sums.with("replica", ledger.replicaId());
    MetricSeries routed = into.with("route", route);
    long processed = replica.processedRequests();
    if (processed > 0) {
      routed.counter("serve_deployment_request_counter", processed);
      routed.histogram("serve_deployment_processing_latency_ms", replica.processingTimes());
      routed.gauge(
          "serve_deployment_max_processing_latency_ms", replica.maxProcessingNanos() / 1e6);
    }
    count(routed, "serve_deployment_error_counter", "exception_type", replica.errors());
    count(routed, "berth_replica_timeouts", replica.timeouts.sum());
    count(routed, "berth_failures_unlogged", replica.failures.unlogged.sum());
    ReplicaState state = replica.state();
    boolean healthy = state == ReplicaState.RUNNING || state == ReplicaState.DRAINING;
    into.counter("serve_deployment_replica_starts", 1);
    into.gauge("serve_deployment_replica_healthy", healthy ? 1 : 0);
    sums.gauge("berth_replica_suspect", replica.passive.suspect ? 1 : 0);
    count(into, "serve_health_check_failures", replica.healthCheckFailures());
    AutoscalingStats stats = replica.stats();
    if (stats != null) {
      into.histogram("serve_user_autoscaling_stats_latency_ms", List.of(stats.times));
      count(into, "serve_record_autoscaling_stats_failed", "exception_name", stats.failures());
    }
    into.gauge("serve_replica_processing_queries", ledger.running());
    into.gauge("serve_replica_utilization_percent", 100 * replica.utilization());
    sums.gauge("serve_zombie_requests", ledger.zombies());
    sums.gauge("berth_zombie_requests_limit", replica.limits().maxZombieRequests());
    into.gauge("berth_replica_slots", ledger.maxOngoing());
    into.gauge("berth_replica_reserved_slots", ledger.reserved());
    count(into, "berth_slots_granted", ledger.granted());
    count(into, "berth_lease_expiries", ledger.expired());
    sums.gauge("berth_audit_mismatches", ledger.audit() == LedgerView.Audit.MISMATCH ? 1 : 0);
    SlotLedger slots = replica.slots();
    LedgerLimits limits = replica.ledgerLimits;
    sums.gauge("berth_remembered_attempts", slots.rememberedAttempts(), limits.attemptsMax());
    sums.gauge("berth_remembered_leases", slots.rememberedLeases(), limits.rememberedMax());
    count(into, "berth_attempts_forgotten_early", slots.forgottenEarly());
    SlotLedger slotless = replica.slotless();
    if (slotless != null) {
      sums.gauge("berth_slotless_requests", slotless.ongoing(), slotless.maxOngoing());
    }
    BatchRunner batches = replica.batches;
    if (batches != null) {
      into.gauge("serve_batch_queue_length", batches.table.waiting());
      batches.table.meters.forEach(
          (method, meters) ->
              meters.show(into.with("function_name", method.isEmpty() ? "handle" : method)));
    }
    if (replica.isUpstream) {
      boolean isOpen = state == ReplicaState.RUNNING && replica.gate.text().isEmpty();
      sums.gauge("berth_upstreams", 1);
      sums.gauge("berth_upstreams_open", isOpen ? 1 : 0);
    }
    sums.gauge("berth_noted_routers", replica.refused.waiting(), replica.limits().refusedRouters());
  }

  /** Reports a counter for each class of failures. */
  private static void count(
      MetricSeries into, String name, String label, Map<String, Long> counts) {
    counts.forEach((type, count) -> into.with(label, type).counter(name, count));
  }

  /** Reports a counter that is not 0. */
  private static void count(MetricSeries into, String name, long value) {
    if (value > 0) {
      into.counter(name, value);
    }
  }
}
