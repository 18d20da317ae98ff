package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.RouteMeters.Route;
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
  private static final String NODE_ID = "node_id";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final String prefix;
  private final String[] nodeLabels;
  private final Labels everywhere;
  private final List<HttpMeters> ingress = new CopyOnWriteArrayList<>();
  private final Set<Consumer<Series>> sources = ConcurrentHashMap.newKeySet();
  private final Set<Consumer<Series>> reported = ConcurrentHashMap.newKeySet();

  /**
   * @param nodeId the instance's name
   * @param nodeAddress the address it is reached at
   * @param prefix put before Ray Serve's names, {@code serve_…}; dashboards made for Ray want
   *     {@code ray_}
   */
  public Meters(String nodeId, String nodeAddress, String prefix) {
    this(nodeId, nodeAddress, prefix, false);
  }

  /**
   * As the other.
   *
   * @param ofSeveral whether the instance is a node of a cluster: then every series says of which
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
    ingress.add(meters);
    add(into -> meters.collect(into, into.with(nodeLabels)));
    return meters;
  }

  /** What became of the requests of one of a route's deployments. */
  public SideCounts side(String route, DeploymentId deployment) {
    return SideCounts.of(
        counted(loop -> loop.routes.get(Route.of(route, deployment)))
            .flatMap(RouteMeters::cells)
            .toList());
  }

  /** What became of the copies that a deployment got of a route's requests. */
  public Map<ShadowMeters.Event, Long> shadow(String route, DeploymentId deployment) {
    Map<ShadowMeters.Event, Long> counts = new EnumMap<>(ShadowMeters.Event.class);
    counted(loop -> loop.shadows.get(Route.of(route, deployment)))
        .forEach(each -> each.addTo(counts));
    return counts;
  }

  private <T> Stream<T> counted(Function<HttpMeters, @Nullable T> by) {
    return ingress.stream().map(by).flatMap(Stream::ofNullable);
  }

  /** Shows what an owner of counts says of itself at each scrape, on any thread. */
  public Registration add(Consumer<Series> owner) {
    Consumer<Series> source = owner::accept; // another one each time
    sources.add(source);
    return () -> {
      sources.remove(source);
      reported.remove(source);
    };
  }

  /** A counter of this instance's, read at each scrape; never falls. */
  public Registration addCounter(String name, DoubleSupplier value, String... labelNamesAndValues) {
    return add(into -> into.with(labelNamesAndValues).counter(name, value.getAsDouble()));
  }

  /** A gauge of this instance's, read at each scrape. */
  public Registration addGauge(String name, DoubleSupplier value, String... labelNamesAndValues) {
    return add(into -> into.with(labelNamesAndValues).gauge(name, value.getAsDouble()));
  }

  /** As {@link #addGauge}, labelled with this instance's name and address. */
  public Registration addNodeGauge(String name, DoubleSupplier value) {
    return addGauge(name, value, nodeLabels);
  }

  private MetricSnapshots collect() {
    Families families = new Families(prefix, everywhere);
    Series all = new Series(families, Labels.EMPTY);
    for (Consumer<Series> source : sources) {
      try {
        source.accept(all);
      } catch (RuntimeException broken) {
        // One broken source must not take the other meters away; say it once.
        if (reported.add(source)) {
          LOG.warn("a source of meters cannot be read: {}", broken.toString());
        }
      }
    }
    all.gauge("berth_metrics_not_read", reported.size());
    return families.snapshots();
  }
}
