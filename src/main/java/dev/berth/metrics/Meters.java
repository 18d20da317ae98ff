package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.LedgerView;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All meters of one instance. Their owners count for themselves and are read here when Prometheus
 * asks: a request pushes nothing, and a gauge cannot drift from what it shows. Any thread may
 * register, and any thread scrape.
 *
 * <p>Series with Ray Serve's names mean what Ray's do; the ones that begin with {@code berth_} are
 * ours. Counters end in {@code _total}, as the exposition format wants. Everything else (the JVM,
 * Vert.x, user code) goes through the Micrometer {@link #registry}.
 *
 * <p>Source: names, labels and latency buckets of Ray Serve's metrics; a Micrometer timer per route
 * would look its tags up, or allocate, on each request.
 */
public final class Meters {
  private static final Logger LOG = LoggerFactory.getLogger(Meters.class);

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Labels nodeLabels;
  private final List<HttpMeters> http = new CopyOnWriteArrayList<>();
  private final Set<Consumer<Families>> sources = ConcurrentHashMap.newKeySet();
  private final Set<Consumer<Families>> reported = ConcurrentHashMap.newKeySet();

  /**
   * @param nodeId the instance's name
   * @param nodeAddress the address it is reached at
   */
  public Meters(String nodeId, String nodeAddress) {
    this.nodeLabels = Labels.of("node_id", nodeId, "node_ip_address", nodeAddress);
    MultiCollector collector = this::collect;
    registry.getPrometheusRegistry().register(collector);
  }

  /** Where everything that is not counted here is registered. */
  public MeterRegistry registry() {
    return registry;
  }

  /**
   * The exposition of every meter.
   *
   * @param contentType the format: Prometheus text or OpenMetrics
   */
  public String scrape(String contentType) {
    return registry.scrape(contentType);
  }

  /** Meters of one ingress loop, which alone may write them. */
  public HttpMeters addIngressLoop() {
    HttpMeters meters = new HttpMeters();
    http.add(meters);
    return meters;
  }

  /** Shows a deployment's router. */
  public Registration addHandle(HandleMetricSource handle) {
    return add(into -> collect(handle, into));
  }

  /** Shows a replica of this instance. */
  public Registration addReplica(ReplicaMetricSource replica) {
    return add(into -> collect(replica, into));
  }

  /** Shows the tables of one event loop's router. */
  public Registration addLoop(LoopMetricSource loop) {
    return add(into -> collect(loop, into));
  }

  /** Shows how late an event loop runs its tasks. */
  public Registration addLag(LoopLag lag) {
    return add(lag::collect);
  }

  /** Shows the pusher. */
  public Registration addPusher(MetricsPusher pusher) {
    return add(into -> collect(pusher, into));
  }

  /** A counter of this instance's, read at each scrape; never falls. */
  public Registration addCounter(
      String name, String help, DoubleSupplier value, String... labelNamesAndValues) {
    Labels labels = Labels.of(labelNamesAndValues);
    return add(into -> into.counter(name, help, labels, value.getAsDouble()));
  }

  /** A gauge of this instance's, read at each scrape. */
  public Registration addGauge(
      String name, String help, DoubleSupplier value, String... labelNamesAndValues) {
    Labels labels = Labels.of(labelNamesAndValues);
    return add(into -> into.gauge(name, help, labels, value.getAsDouble()));
  }

  private Registration add(Consumer<Families> source) {
    sources.add(source);
    return () -> {
      sources.remove(source);
      reported.remove(source);
    };
  }

  private MetricSnapshots collect() {
    Families families = new Families();
    collectHttp(families);
    for (Consumer<Families> source : sources) {
      try {
        source.accept(families);
      } catch (RuntimeException broken) {
        // One broken source must not take the other meters away; say it once.
        if (reported.add(source)) {
          LOG.warn("a source of meters cannot be read: {}", broken.toString());
        }
      }
    }
    return families.snapshots();
  }

  private void collectHttp(Families into) {
    long ongoing = 0;
    Map<RouteKey, Totals> totals = new LinkedHashMap<>();
    for (HttpMeters loop : http) {
      ongoing += loop.ongoing();
      for (RouteMeters route : loop.routes()) {
        for (RouteMeters.Cell cell : route.cells()) {
          totals
              .computeIfAbsent(
                  new RouteKey(
                      route.route(),
                      route.application(),
                      route.deployment(),
                      cell.method,
                      cell.status),
                  key -> new Totals())
              .add(cell.latencies);
        }
      }
    }
    into.gauge("serve_num_ongoing_http_requests", "HTTP requests under way.", nodeLabels, ongoing);
    totals.forEach((key, total) -> collect(key, total, into));
  }

  private static void collect(RouteKey key, Totals total, Families into) {
    String status = Integer.toString(key.status);
    Labels labels =
        Labels.of(
            "route", key.route,
            "method", key.method,
            "application", key.application,
            "status_code", status);
    double count = total.count();
    into.counter("serve_num_http_requests", "HTTP requests answered.", labels, count);
    into.histogram(
        "serve_http_request_latency_ms",
        "Time from a request's arrival to the end of its answer.",
        labels,
        total.counts,
        total.sumNanos / 1e6);
    if (key.status >= 400) {
      into.counter(
          "serve_num_http_error_requests",
          "HTTP requests answered with 400 or above, or left by their client (499).",
          Labels.of(
              "route", key.route,
              "method", key.method,
              "application", key.application,
              "error_code", status),
          count);
      if (!key.deployment.isEmpty()) {
        into.counter(
            "serve_num_deployment_http_error_requests",
            "The same, by the deployment that answers the route.",
            Labels.of(
                "deployment", key.deployment,
                "route", key.route,
                "method", key.method,
                "application", key.application,
                "error_code", status),
            count);
      }
    }
  }

  private static void collect(HandleMetricSource handle, Families into) {
    Labels labels = labels(handle.deployment());
    into.counter(
        "serve_num_router_requests", "Requests a router accepted.", labels, handle.requests());
    into.gauge(
        "serve_deployment_queued_queries",
        "Requests waiting for a slot.",
        labels,
        Math.max(0, handle.queued()));
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
    if (handle.maxQueued() < Integer.MAX_VALUE) {
      into.gauge(
          "berth_queued_queries_limit",
          "Requests that may wait for a slot.",
          labels,
          handle.maxQueued());
    }
  }

  private static void collect(ReplicaMetricSource replica, Families into) {
    LedgerView ledger = replica.ledger();
    DeploymentId deployment = replica.deployment();
    Labels labels =
        Labels.of(
            "deployment", deployment.name(),
            "replica", ledger.replicaId(),
            "application", deployment.application());
    into.counter(
        "serve_deployment_request_counter",
        "Requests a replica's handler answered.",
        labels,
        replica.requests());
    into.counter(
        "serve_deployment_error_counter",
        "Requests a replica's handler failed.",
        labels,
        replica.errors());
    into.gauge(
        "serve_replica_processing_queries",
        "Requests a replica is running.",
        labels,
        ledger.running());
    into.gauge(
        "serve_zombie_requests",
        "Cancelled requests whose handlers did not settle within their grace.",
        labels,
        ledger.zombies());
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

  private static void collect(LoopMetricSource loop, Families into) {
    Labels labels = Labels.of("loop", Integer.toString(loop.loop()));
    into.gauge(
        "berth_pending_requests",
        "Requests sent by an event loop and unanswered.",
        labels,
        loop.pending());
    into.gauge("berth_pending_requests_limit", "The most there may be.", labels, loop.maxPending());
    into.counter(
        "berth_late_answers_dropped",
        "Answers no one waited for any more.",
        labels,
        loop.lateAnswersDropped());
    into.counter(
        "berth_duplicates_dropped", "Messages seen before.", labels, loop.duplicatesDropped());
  }

  private static void collect(MetricsPusher pusher, Families into) {
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

  private static Labels labels(DeploymentId deployment) {
    return Labels.of("deployment", deployment.name(), "application", deployment.application());
  }

  private record RouteKey(
      String route, String application, String deployment, String method, int status) {}

  /** The counts of one series over all loops. */
  private static final class Totals {
    final long[] counts = new long[LatencyBuckets.COUNT];
    long sumNanos;

    void add(LatencyBuckets latencies) {
      sumNanos += latencies.addTo(counts);
    }

    long count() {
      long count = 0;
      for (long each : counts) {
        count += each;
      }
      return count;
    }
  }
}
