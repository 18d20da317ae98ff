package dev.berth.metrics;

import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricMetadata;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.function.BiFunction;

/**
 * Series of one scrape, grouped by name, since the format requires all series of a name in one
 * block. Two owners of the same labels are shown as their sum.
 */
final class MetricFamilies {
  private static final String RAYS = "serve_";
  private static final String OURS = "berth_";

  /** Descriptions of Berth's metrics by name, read once at the first scrape. */
  private static final Properties MEANINGS = meanings();

  private final Map<String, MetricFamily> byName = new LinkedHashMap<>();
  private final Map<String, String> helps = new HashMap<>(); // of user metrics
  private final String prefix;
  private final Labels everywhere;

  /**
   * @param prefix prepended to names that Ray Serve also uses; Ray itself exports with {@code ray_}
   * @param everywhere labels of every series, except series that already have the first of them
   */
  MetricFamilies(String prefix, Labels everywhere) {
    this.prefix = prefix;
    this.everywhere = everywhere;
  }

  /** Sets the description of a user metric. The first text counts. */
  void help(String name, String text) {
    helps.putIfAbsent(name, text);
  }

  /** Adds a counter or gauge. The exposition appends {@code _total} to the name of a counter. */
  void number(MetricKind kind, String name, Labels labels, double value) {
    add(kind, name, labels, new SeriesTotals(new double[0], new long[0], value));
  }

  /** Adds a histogram, whose last bound is infinite. */
  void histogram(String name, Labels labels, double[] bounds, long[] counts, double sum) {
    add(MetricKind.HISTOGRAM, name, labels, new SeriesTotals(bounds, counts, sum));
  }

  MetricSnapshots snapshots() {
    return new MetricSnapshots(byName.values().stream().map(each -> each.snapshot(helps)).toList());
  }

  private void add(MetricKind kind, String ownName, Labels own, SeriesTotals more) {
    boolean whole = everywhere.isEmpty() || own.contains(everywhere.getName(0));
    Labels labels = whole ? own : own.merge(everywhere);
    String name = ownName.startsWith(RAYS) ? prefix + ownName : ownName;
    MetricFamily family =
        byName.computeIfAbsent(
            name, each -> new MetricFamily(kind, name, help(ownName), new LinkedHashMap<>()));
    if (family.kind != kind) {
      throw new IllegalArgumentException(name + ": " + kind + " (expected: " + family.kind + ")");
    }
    family.series.merge(labels, more, SeriesTotals::plus);
  }

  private static String help(String name) {
    boolean ofUsers = !name.startsWith(RAYS) && !name.startsWith(OURS);
    String meaning = MEANINGS.getProperty(name, ofUsers ? "A meter of user code." : "");
    if (meaning.isEmpty()) {
      throw new IllegalArgumentException(
          name + ": unknown (expected: a name of metrics.properties)");
    }
    return meaning;
  }

  private static Properties meanings() {
    Properties meanings = new Properties();
    try (InputStream in = MetricFamilies.class.getResourceAsStream("metrics.properties")) {
      meanings.load(new InputStreamReader(Objects.requireNonNull(in), StandardCharsets.UTF_8));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    return meanings;
  }

  enum MetricKind {
    COUNTER,
    GAUGE,
    HISTOGRAM
  }

  private record MetricFamily(
      MetricKind kind, String name, String help, Map<Labels, SeriesTotals> series) {
    MetricSnapshot snapshot(Map<String, String> helps) {
      MetricMetadata metadata = new MetricMetadata(name, helps.getOrDefault(name, help));
      return switch (kind) {
        case COUNTER -> new CounterSnapshot(metadata, each(SeriesTotals::counter));
        case GAUGE -> new GaugeSnapshot(metadata, each(SeriesTotals::gauge));
        case HISTOGRAM -> new HistogramSnapshot(metadata, each(SeriesTotals::histogram));
      };
    }

    private <T> List<T> each(BiFunction<SeriesTotals, Labels, T> dataPoint) {
      return series.entrySet().stream()
          .map(each -> dataPoint.apply(each.getValue(), each.getKey()))
          .toList();
    }
  }

  /** Sum over all owners of one series; for a histogram, also its buckets. */
  private record SeriesTotals(double[] bounds, long[] counts, double sum) {
    SeriesTotals plus(SeriesTotals other) {
      Arrays.setAll(counts, bucket -> counts[bucket] + other.counts[bucket]);
      return new SeriesTotals(bounds, counts, sum + other.sum);
    }

    CounterDataPointSnapshot counter(Labels labels) {
      return new CounterDataPointSnapshot(sum, labels, null, 0);
    }

    GaugeDataPointSnapshot gauge(Labels labels) {
      return new GaugeDataPointSnapshot(sum, labels, null);
    }

    HistogramDataPointSnapshot histogram(Labels labels) {
      return HistogramDataPointSnapshot.builder()
          .labels(labels)
          .classicHistogramBuckets(ClassicHistogramBuckets.of(bounds, counts))
          .sum(sum)
          .build();
    }
  }
}
