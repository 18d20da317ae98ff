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
 * The series of one scrape, gathered by name: each name must be shown once, with all its series. A
 * series given twice (two owners of the same labels) is shown as their sum.
 */
final class Families {
  private static final String RAYS = "serve_";
  private static final String OURS = "berth_";

  /** What each metric of Berth means, by its name; read once, at the first scrape. */
  private static final Properties MEANINGS = meanings();

  private final Map<String, Family> byName = new LinkedHashMap<>();
  private final Map<String, String> helps = new HashMap<>(); // of user code
  private final String prefix;

  /**
   * @param prefix put before the names that Ray Serve has too; Ray itself exports with {@code ray_}
   */
  Families(String prefix) {
    this.prefix = prefix;
  }

  /** What a name of user code means; of several texts the first. */
  void help(String name, String text) {
    helps.putIfAbsent(name, text);
  }

  /** A counter; the exposition appends {@code _total} to its name. */
  void counter(String name, Labels labels, double value) {
    family(Kind.COUNTER, name).add(labels, value);
  }

  void gauge(String name, Labels labels, double value) {
    family(Kind.GAUGE, name).add(labels, value);
  }

  /** The last bound is infinite. */
  void histogram(String name, Labels labels, double[] bounds, long[] counts, double sum) {
    family(Kind.HISTOGRAM, name)
        .histograms
        .merge(labels, new Totals(bounds, counts, sum), Totals::plus);
  }

  MetricSnapshots snapshots() {
    return new MetricSnapshots(byName.values().stream().map(each -> each.snapshot(helps)).toList());
  }

  private Family family(Kind kind, String ownName) {
    String name = ownName.startsWith(RAYS) ? prefix + ownName : ownName;
    Family family = byName.computeIfAbsent(name, each -> new Family(kind, name, help(ownName)));
    if (family.kind != kind) {
      throw new IllegalArgumentException(name + ": " + kind + " (expected: " + family.kind + ")");
    }
    return family;
  }

  private static String help(String name) {
    boolean ofUsers = !name.startsWith(RAYS) && !name.startsWith(OURS);
    String meaning = MEANINGS.getProperty(name, ofUsers ? "A meter of user code." : "");
    if (meaning.isEmpty()) {
      throw new IllegalArgumentException(name + ": unknown (expected: one of metrics.properties)");
    }
    return meaning;
  }

  private static Properties meanings() {
    Properties meanings = new Properties();
    try (InputStream in = Families.class.getResourceAsStream("metrics.properties")) {
      meanings.load(new InputStreamReader(Objects.requireNonNull(in), StandardCharsets.UTF_8));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    return meanings;
  }

  enum Kind {
    COUNTER,
    GAUGE,
    HISTOGRAM
  }

  private static final class Family {
    final Kind kind;
    final String name;
    final String help;
    final Map<Labels, Double> values = new LinkedHashMap<>();
    final Map<Labels, Totals> histograms = new LinkedHashMap<>();

    Family(Kind kind, String name, String help) {
      this.kind = kind;
      this.name = name;
      this.help = help;
    }

    void add(Labels labels, double value) {
      values.merge(labels, value, Double::sum);
    }

    MetricSnapshot snapshot(Map<String, String> helps) {
      MetricMetadata metadata = new MetricMetadata(name, helps.getOrDefault(name, help));
      return switch (kind) {
        case COUNTER ->
            new CounterSnapshot(
                metadata,
                each(
                    values,
                    (labels, value) -> new CounterDataPointSnapshot(value, labels, null, 0)));
        case GAUGE ->
            new GaugeSnapshot(
                metadata,
                each(values, (labels, value) -> new GaugeDataPointSnapshot(value, labels, null)));
        case HISTOGRAM ->
            new HistogramSnapshot(
                metadata, each(histograms, (labels, totals) -> totals.dataPoint(labels)));
      };
    }

    private static <V, T> List<T> each(Map<Labels, V> of, BiFunction<Labels, V, T> dataPoint) {
      return of.entrySet().stream()
          .map(each -> dataPoint.apply(each.getKey(), each.getValue()))
          .toList();
    }
  }

  /** What all owners of one histogram counted, in the same buckets. */
  private record Totals(double[] bounds, long[] counts, double sum) {
    Totals plus(Totals other) {
      Arrays.setAll(counts, bucket -> counts[bucket] + other.counts[bucket]);
      return new Totals(bounds, counts, sum + other.sum);
    }

    HistogramDataPointSnapshot dataPoint(Labels labels) {
      return HistogramDataPointSnapshot.builder()
          .labels(labels)
          .classicHistogramBuckets(ClassicHistogramBuckets.of(bounds, counts))
          .sum(sum)
          .build();
    }
  }
}
