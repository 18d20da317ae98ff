package dev.berth.metrics;

import dev.berth.metrics.MetricFamilies.MetricKind;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.Arrays;
import java.util.List;

/** Target for the series of one owner in a scrape, all with the same labels. */
public final class MetricSeries {
  private final MetricFamilies into;
  private final Labels labels;

  MetricSeries(MetricFamilies into, Labels labels) {
    this.into = into;
    this.labels = labels;
  }

  /** Returns a target with additional labels. */
  public MetricSeries with(String... labelNamesAndValues) {
    return new MetricSeries(into, labels.merge(Labels.of(labelNamesAndValues)));
  }

  /** Sets the description of a user metric. */
  void help(String name, String text) {
    into.help(name, text);
  }

  /** Adds a counter, which never decreases. The exposition appends {@code _total} to its name. */
  public void counter(String name, double value) {
    into.number(MetricKind.COUNTER, name, labels, value);
  }

  /** Adds a gauge. */
  public void gauge(String name, double value) {
    into.number(MetricKind.GAUGE, name, labels, value);
  }

  /** Adds a gauge, and its limit as {@code name_limit}. */
  public void gauge(String name, double value, double limit) {
    gauge(name, value);
    gauge(name + "_limit", limit);
  }

  /**
   * Adds a histogram of latencies in milliseconds, summed over the parts of several threads, unless
   * it has no observation.
   */
  public void histogram(String name, List<LatencyBuckets> latencies) {
    long[] counts = new long[LatencyBuckets.COUNT];
    long nanos = latencies.stream().mapToLong(each -> each.addTo(counts)).sum();
    if (Arrays.stream(counts).sum() > 0) {
      histogram(name, LatencyBuckets.upperBoundsMs(), counts, nanos / 1e6);
    }
  }

  /** Adds a histogram with its own bounds; the last bound is infinite. */
  public void histogram(String name, double[] bounds, long[] counts, double sum) {
    into.histogram(name, labels, bounds, counts, sum);
  }
}
