package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.RouteMeters.RouteLabels;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All meters of one instance. Owners count on their own, and a scrape reads their counters.
 * Requests therefore push nothing, and gauges cannot drift from their source. Registration and
 * scrapes are thread-safe.
 *
 * <p>Series with Ray Serve's names have Ray's meaning; names with {@code berth_} are additional.
 * Counters end in {@code _total}, as the exposition format requires. All other metrics (the JVM,
 * Vert.x, user code) use the Micrometer {@link #registry}.
 *
 * <p>Source: names, labels and latency buckets of Ray Serve's metrics. A Micrometer timer per route
 * would look up its tags, or allocate, on each request.
 */
public final class Meters {
  private static final Logger LOG = LoggerFactory.getLogger(Meters.class);
  private static final String NODE_ID = "node_id";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final String prefix;
  private final String[] nodeLabels;
  private final Labels everywhere;
  final List<HttpMeters> ingress = new CopyOnWriteArrayList<>();
  final List<LoopLag> loops = new CopyOnWriteArrayList<>();
  private final Set<Consumer<MetricSeries>> sources = ConcurrentHashMap.newKeySet();
  private final Set<Consumer<MetricSeries>> reported = ConcurrentHashMap.newKeySet();

  /**
   * @param nodeId name of the instance
   * @param nodeAddress address of the instance
   * @param prefix prepended to Ray Serve's names, {@code serve_…}; dashboards for Ray expect {@code
   *     ray_}
   * @param ofSeveral whether the instance is a cluster node, whose name is then a label of every
   *     series
   */
  public Meters(String nodeId, String nodeAddress, String prefix, boolean ofSeveral) {
    this.prefix = prefix;
    this.nodeLabels = new String[] {NODE_ID, nodeId, "node_ip_address", nodeAddress};
    this.everywhere = ofSeveral ? Labels.of(NODE_ID, nodeId) : Labels.EMPTY;
    if (ofSeveral) {
      registry.config().commonTags(NODE_ID, nodeId);
    }
    MultiCollector collector = this::collect;
    registry.getPrometheusRegistry().register(collector);
  }

  /** Returns the registry for metrics that are not counted here. */
  public MeterRegistry registry() {
    return registry;
  }

  /**
   * Returns the exposition of all meters.
   *
   * @param contentType Prometheus text or OpenMetrics
   */
  public String scrape(String contentType) {
    return registry.scrape(contentType);
  }

  /** Creates the meters of one ingress loop, which only this loop may write. */
  public HttpMeters addIngressLoop() {
    HttpMeters meters = new HttpMeters();
    ingress.add(meters);
    add(into -> meters.collect(into, into.with(nodeLabels)));
    return meters;
  }

  /** Adds the latency of an event loop. */
  public void addLoop(LoopLag lag) {
    loops.add(lag);
    add(lag::collect);
  }

  /** Returns the results of requests to one of a route's deployments. */
  public TrafficTargetCounts side(String route, DeploymentId deployment) {
    return TrafficTargetCounts.of(
        ingress.stream()
            .flatMap(loop -> loop.routes.values().stream())
            .filter(each -> each.leads.with("").equals(RouteLabels.of(route, deployment)))
            .flatMap(each -> Stream.of(each.cells))
            .toList());
  }

  /** Returns the results of copies of a route's requests to a deployment. */
  public Map<ShadowMeters.ShadowEvent, Long> shadow(String route, DeploymentId deployment) {
    Map<ShadowMeters.ShadowEvent, Long> counts = new EnumMap<>(ShadowMeters.ShadowEvent.class);
    counted(loop -> loop.shadows.get(RouteLabels.of(route, deployment)))
        .forEach(each -> each.addTo(counts));
    return counts;
  }

  private <T> Stream<T> counted(Function<HttpMeters, @Nullable T> by) {
    return ingress.stream().map(by).flatMap(Stream::ofNullable);
  }

  /** Adds a source of series. Each scrape calls it, on any thread. */
  public MeterRegistration add(Consumer<MetricSeries> owner) {
    Consumer<MetricSeries> source = owner::accept; // a distinct object per registration
    sources.add(source);
    return () -> {
      sources.remove(source);
      reported.remove(source);
    };
  }

  /** Adds a counter of this instance. Each scrape reads it; its value never decreases. */
  public MeterRegistration addCounter(String name, DoubleSupplier value) {
    return add(into -> into.counter(name, value.getAsDouble()));
  }

  /** Adds a gauge, labelled with the instance's name and address. Each scrape reads it. */
  public MeterRegistration addNodeGauge(String name, DoubleSupplier value) {
    return add(into -> into.with(nodeLabels).gauge(name, value.getAsDouble()));
  }

  private MetricSnapshots collect() {
    MetricFamilies families = new MetricFamilies(prefix, everywhere);
    MetricSeries all = new MetricSeries(families, Labels.EMPTY);
    for (Consumer<MetricSeries> source : sources) {
      try {
        source.accept(all);
      } catch (RuntimeException broken) {
        // A broken source must not hide the other meters. Log it once.
        if (reported.add(source)) {
          LOG.warn("source of meters not readable: {}", broken.toString());
        }
      }
    }
    all.gauge("berth_metrics_not_read", reported.size());
    return families.snapshots();
  }
}
