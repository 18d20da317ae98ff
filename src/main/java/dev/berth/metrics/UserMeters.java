package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaMeters;
import io.prometheus.metrics.model.snapshots.Labels;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The meters of one replica's user code, read when Prometheus asks. Any thread. */
public final class UserMeters implements ReplicaMeters {
  private static final Logger LOG = LoggerFactory.getLogger(UserMeters.class);
  private static final String HELP = "A meter of user code.";
  private static final Pattern NAME = Pattern.compile("[a-zA-Z_][a-zA-Z0-9_]{0,199}");
  private static final Set<String> OWN_TAGS =
      Set.of("application", "deployment", "replica", "le", "quantile");
  private static final List<String> OWN_PREFIXES = List.of("serve_", "berth_");

  /** What the exposition appends itself. */
  private static final List<String> SUFFIXES = List.of("_total", "_created", "_bucket", "_info");

  private static final int MAX_BUCKETS = 100;

  private enum Kind {
    COUNTER,
    GAUGE,
    HISTOGRAM
  }

  private record Key(String name, List<String> tags) {}

  private final DeploymentId deployment;
  private final String replicaId;
  private final Map<Key, Series> series = new ConcurrentHashMap<>();
  private final Map<String, Kind> kinds = new HashMap<>(); // under the lock
  private final int maxMeters;
  private boolean fullSaid; // under the lock

  public UserMeters(DeploymentId deployment, String replicaId) {
    this(deployment, replicaId, MAX_METERS);
  }

  UserMeters(DeploymentId deployment, String replicaId, int maxMeters) {
    this.deployment = deployment;
    this.replicaId = replicaId;
    this.maxMeters = maxMeters;
  }

  @Override
  public Counter counter(String name, String... tagNamesAndValues) {
    String bare = name.endsWith("_total") ? name.substring(0, name.length() - 6) : name;
    return (Counter) find(Kind.COUNTER, bare, tagNamesAndValues, new double[0]);
  }

  @Override
  public Gauge gauge(String name, String... tagNamesAndValues) {
    return (Gauge) find(Kind.GAUGE, name, tagNamesAndValues, new double[0]);
  }

  @Override
  public Histogram histogram(String name, double[] upperBounds, String... tagNamesAndValues) {
    return (Histogram) find(Kind.HISTOGRAM, name, tagNamesAndValues, upperBounds);
  }

  private Series find(Kind kind, String name, String[] tags, double[] bounds) {
    Key key = new Key(name, List.of(tags));
    Series known = series.get(key);
    return known != null && known.kind() == kind ? known : make(kind, key, bounds);
  }

  private synchronized Series make(Kind kind, Key key, double[] bounds) {
    checkName(key.name);
    checkTags(key.tags);
    Kind before = kinds.get(key.name);
    if (before != null && before != kind) {
      throw new IllegalArgumentException(
          "meter: " + key.name + ": " + kind + " (expected: " + before + ", as it was made)");
    }
    Series known = series.get(key);
    if (known != null) {
      return known;
    }
    Series fresh =
        switch (kind) {
          case COUNTER -> new CounterSeries();
          case GAUGE -> new GaugeSeries();
          case HISTOGRAM -> new HistogramSeries(checkedBounds(bounds));
        };
    if (series.size() >= maxMeters) {
      if (!fullSaid) {
        fullSaid = true;
        LOG.warn(
            "replica {}: meter {} and further ones count nothing: meters: {} (expected: fewer)",
            replicaId,
            key.name,
            maxMeters);
      }
      return fresh; // takes what is counted, and no one sees it
    }
    kinds.put(key.name, kind);
    series.put(key, fresh);
    return fresh;
  }

  private static void checkName(String name) {
    if (!NAME.matcher(name).matches()
        || OWN_PREFIXES.stream().anyMatch(name::startsWith)
        || SUFFIXES.stream().anyMatch(name::endsWith)) {
      throw new IllegalArgumentException(
          "meter: "
              + name
              + " (expected: [a-zA-Z_][a-zA-Z0-9_]*, at most 200 characters, not beginning with any"
              + " of "
              + OWN_PREFIXES
              + " nor ending with any of "
              + SUFFIXES
              + ")");
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

  /** Adds every meter to a scrape. */
  void collect(Families into) {
    series.forEach((key, each) -> each.collect(key.name, labels(key.tags), into));
  }

  private Labels labels(List<String> tags) {
    String[] all = new String[6 + tags.size()];
    all[0] = "application";
    all[1] = deployment.application();
    all[2] = "deployment";
    all[3] = deployment.name();
    all[4] = "replica";
    all[5] = replicaId;
    for (int i = 0; i < tags.size(); i++) {
      all[6 + i] = tags.get(i);
    }
    return Labels.of(all);
  }

  private sealed interface Series {
    Kind kind();

    void collect(String name, Labels labels, Families into);
  }

  private static final class CounterSeries implements Series, Counter {
    private final DoubleAdder sum = new DoubleAdder();

    @Override
    public void add(double amount) {
      if (amount > 0) {
        sum.add(amount);
      }
    }

    @Override
    public Kind kind() {
      return Kind.COUNTER;
    }

    @Override
    public void collect(String name, Labels labels, Families into) {
      into.counter(name, HELP, labels, sum.sum());
    }
  }

  private static final class GaugeSeries implements Series, Gauge {
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
    public Kind kind() {
      return Kind.GAUGE;
    }

    @Override
    public void collect(String name, Labels labels, Families into) {
      into.gauge(name, HELP, labels, Double.longBitsToDouble(bits.get()));
    }
  }

  private static final class HistogramSeries implements Series, Histogram {
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
    public Kind kind() {
      return Kind.HISTOGRAM;
    }

    @Override
    public void collect(String name, Labels labels, Families into) {
      long[] now = new long[bounds.length];
      for (int i = 0; i < now.length; i++) {
        now[i] = counts.get(i);
      }
      into.histogram(name, HELP, labels, bounds, now, sum.sum());
    }
  }
}
