package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaMeters;
import dev.berth.metrics.MetricFamilies.MetricKind;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Meters of one replica's user code. Scrapes read them. Thread-safe. */
public final class UserMeters implements ReplicaMeters {
  private static final Logger LOG = LoggerFactory.getLogger(UserMeters.class);
  private static final Pattern NAME = Pattern.compile("[a-zA-Z_][a-zA-Z0-9_]{0,199}");
  private static final Set<String> OWN_TAGS =
      Set.of("application", "deployment", "replica", "le", "quantile");
  private static final List<String> OWN_PREFIXES = List.of("serve_", "berth_");

  /** Suffixes reserved by the exposition format. */
  private static final List<String> SUFFIXES = List.of("_total", "_created", "_bucket", "_info");

  private static final int MAX_BUCKETS = 100;

  private record MeterKey(MetricKind kind, String name, List<String> tags) {}

  private final DeploymentId deployment;
  private final String replicaId;
  private final Map<MeterKey, Meter> series = new ConcurrentHashMap<>();
  private final Map<String, String> helps = new ConcurrentHashMap<>();
  private final Map<String, MetricKind> kinds = new HashMap<>(); // guarded by this
  private boolean fullSaid; // guarded by this

  public UserMeters(DeploymentId deployment, String replicaId) {
    this.deployment = deployment;
    this.replicaId = replicaId;
  }

  @Override
  public ReplicaMeters describe(String name, String help) {
    String bare = bare(name);
    checkName(bare);
    if (help.isBlank() || help.length() > MAX_HELP) {
      throw new IllegalArgumentException(
          "help of %s: %s characters (expected: 1 to %s)".formatted(name, help.length(), MAX_HELP));
    }
    if (helps.size() < MAX_METERS) {
      helps.putIfAbsent(bare, help);
    }
    return this;
  }

  /** Removes the {@code _total} with which a counter may be named, as in a scrape. */
  private static String bare(String name) {
    return name.endsWith("_total") ? name.substring(0, name.length() - 6) : name;
  }

  @Override
  public Counter counter(String name, String... tagNamesAndValues) {
    return (Counter) find(MetricKind.COUNTER, bare(name), tagNamesAndValues, new double[0]);
  }

  @Override
  public Gauge gauge(String name, String... tagNamesAndValues) {
    return (Gauge) find(MetricKind.GAUGE, name, tagNamesAndValues, new double[0]);
  }

  @Override
  public Histogram histogram(String name, double[] upperBounds, String... tagNamesAndValues) {
    return (Histogram) find(MetricKind.HISTOGRAM, name, tagNamesAndValues, upperBounds);
  }

  private Meter find(MetricKind kind, String name, String[] tags, double[] bounds) {
    MeterKey key = new MeterKey(kind, name, List.of(tags));
    Meter known = series.get(key);
    return known != null ? known : make(key, bounds);
  }

  private synchronized Meter make(MeterKey key, double[] bounds) {
    checkName(key.name);
    checkTags(key.tags);
    MetricKind before = kinds.get(key.name);
    if (before != null && before != key.kind) {
      throw new IllegalArgumentException(
          "meter: " + key.name + ": " + key.kind + " (expected: " + before + ", as registered)");
    }
    Meter known = series.get(key);
    if (known != null) {
      return known;
    }
    Meter fresh =
        switch (key.kind) {
          case COUNTER -> new CounterSeries();
          case GAUGE -> new GaugeSeries();
          case HISTOGRAM -> new HistogramSeries(checkedBounds(bounds));
        };
    if (series.size() >= MAX_METERS) {
      if (!fullSaid) {
        fullSaid = true;
        LOG.warn(
            "replica {}: meter {} and further ones count nothing: meters: {} (expected: fewer)",
            replicaId,
            key.name,
            MAX_METERS);
      }
      return fresh; // accepts values, but is not shown
    }
    kinds.put(key.name, key.kind);
    series.put(key, fresh);
    return fresh;
  }

  private static void checkName(String name) {
    if (!NAME.matcher(name).matches()
        || OWN_PREFIXES.stream().anyMatch(name::startsWith)
        || SUFFIXES.stream().anyMatch(name::endsWith)) {
      throw new IllegalArgumentException(
          ("meter: %s (expected: [a-zA-Z_][a-zA-Z0-9_]*, at most 200 characters, not beginning with"
                  + " any of %s nor ending with any of %s)")
              .formatted(name, OWN_PREFIXES, SUFFIXES));
    }
  }

  private static void checkTags(List<String> tags) {
    if (tags.size() % 2 != 0) {
      throw new IllegalArgumentException(
          "tags: " + tags.size() + " strings (expected: a value for each name)");
    }
    Set<String> seen = new HashSet<>(OWN_TAGS);
    for (int i = 0; i < tags.size(); i += 2) {
      String tag = tags.get(i);
      if (!NAME.matcher(tag).matches() || tag.startsWith("__") || !seen.add(tag)) {
        throw new IllegalArgumentException(
            "tag: " + tag + " (expected: [a-zA-Z_][a-zA-Z0-9_]*, once, none of " + OWN_TAGS + ")");
      }
    }
  }

  private static double[] checkedBounds(double[] given) {
    if (given.length == 0) {
      return LatencyBuckets.upperBoundsMs();
    }
    double before = Double.NEGATIVE_INFINITY;
    for (double bound : given) {
      if (!(bound > before) || bound == Double.POSITIVE_INFINITY || given.length > MAX_BUCKETS) {
        throw new IllegalArgumentException(
            "upperBounds: %s (expected: at most %s, rising and finite)"
                .formatted(Arrays.toString(given), MAX_BUCKETS));
      }
      before = bound;
    }
    double[] bounds = Arrays.copyOf(given, given.length + 1);
    bounds[given.length] = Double.POSITIVE_INFINITY;
    return bounds;
  }

  /** Adds all meters to a scrape. */
  public void collect(MetricSeries into) {
    helps.forEach(into::help);
    series.forEach((key, each) -> each.collect(key.name, into.with(labels(key.tags))));
  }

  private String[] labels(List<String> tags) {
    List<String> own =
        List.of(
            "application", deployment.application(),
            "deployment", deployment.name(),
            "replica", replicaId);
    return Stream.concat(own.stream(), tags.stream()).toArray(String[]::new);
  }

  private sealed interface Meter {
    void collect(String name, MetricSeries into);
  }

  private static final class CounterSeries implements Meter, Counter {
    private final DoubleAdder sum = new DoubleAdder();

    @Override
    public void add(double amount) {
      if (amount > 0) {
        sum.add(amount);
      }
    }

    @Override
    public void collect(String name, MetricSeries into) {
      into.counter(name, sum.sum());
    }
  }

  private static final class GaugeSeries implements Meter, Gauge {
    private final AtomicLong bits = new AtomicLong(); // of 0.0

    @Override
    public void set(double value) {
      bits.set(Double.doubleToRawLongBits(value));
    }

    @Override
    public void add(double amount) {
      bits.updateAndGet(
          before -> Double.doubleToRawLongBits(Double.longBitsToDouble(before) + amount));
    }

    @Override
    public void collect(String name, MetricSeries into) {
      into.gauge(name, Double.longBitsToDouble(bits.get()));
    }
  }

  private static final class HistogramSeries implements Meter, Histogram {
    private final double[] bounds; // the last is infinite
    private final AtomicLongArray counts;
    private final DoubleAdder sum = new DoubleAdder();

    HistogramSeries(double[] bounds) {
      this.bounds = bounds;
      this.counts = new AtomicLongArray(bounds.length);
    }

    @Override
    public void record(double value) {
      if (Double.isNaN(value)) {
        return;
      }
      int bucket = 0;
      while (value > bounds[bucket]) {
        bucket++;
      }
      counts.incrementAndGet(bucket);
      sum.add(value);
    }

    @Override
    public void collect(String name, MetricSeries into) {
      long[] now = new long[bounds.length];
      Arrays.setAll(now, counts::get);
      into.histogram(name, bounds, now, sum.sum());
    }
  }
}
