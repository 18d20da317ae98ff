package dev.berth.metrics;

import dev.berth.metrics.Families.Kind;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.List;

/** What an owner of counts shows at a scrape, all of it under the same labels. */
public final class Series {
  private final Families into;
  private final Labels labels;

  Series(Families into, Labels labels) {
    this.into = into;
    this.labels = labels;
  }

  /** For what has more labels. */
  public Series with(String... labelNamesAndValues) {
    return new Series(into, labels.merge(Labels.of(labelNamesAndValues)));
  }

  /** What users say of a meter of theirs. */
  void help(String name, String text) {
    into.help(name, text);
  }

  /** A count, which never falls; the exposition appends {@code _total} to its name. */
  public void counter(String name, double value) {
    into.number(Kind.COUNTER, name, labels, value);
  }

  /** A number that may fall. */
  public void gauge(String name, double value) {
    into.number(Kind.GAUGE, name, labels, value);
  }

  /** A number that may fall, and beside it, as {@code name_limit}, what it may not exceed. */
  public void gauge(String name, double value, double limit) {
    gauge(name, value);
    gauge(name + "_limit", limit);
  }

  /** Latencies in milliseconds; what several threads write, each in its own, is added up. */
  public void histogram(String name, List<LatencyBuckets> latencies) {
    long[] counts = new long[LatencyBuckets.COUNT];
    long nanos = latencies.stream().mapToLong(each -> each.addTo(counts)).sum();
    histogram(name, LatencyBuckets.upperBoundsMs(), counts, nanos / 1e6);
  }

  /** Values in other buckets than those of latencies; the last bound is infinite. */
  void histogram(String name, double[] bounds, long[] counts, double sum) {
    into.histogram(name, labels, bounds, counts, sum);
  }
}
