package dev.berth.api;

/**
 * Meters of user code. {@code /metrics} exposes them beside Berth's own meters, with the labels
 * {@code application}, {@code deployment} and {@code replica}. The same name and tags always return
 * the same meter; on hot paths, retain the meter to avoid the look-up by name. The meters are
 * removed when the replica stops. Thread-safe.
 *
 * <p><b>Names.</b> Meter names match {@code [a-zA-Z_][a-zA-Z0-9_]*}. They must not begin with
 * {@code serve_} or {@code berth_}, nor end in {@code _created}, {@code _bucket} or {@code _info};
 * only a counter's name may end in {@code _total}. Tag names match the same pattern and differ from
 * the three labels above. Other names, and a name already used for another kind of meter, throw
 * {@link IllegalArgumentException}.
 *
 * <p><b>Bound.</b> A replica has at most {@value #MAX_METERS} meters, because a tag value taken
 * from requests (a user, a path) would otherwise exhaust memory. Beyond this limit a new meter
 * records nothing, and the replica logs this once.
 *
 * <p>Source: Ray Serve's {@code ray.serve.metrics}.
 */
public interface ReplicaMeters {
  /** Maximum number of meters of one replica; each combination of tag values counts as one. */
  int MAX_METERS = 1_000;

  /** Maximum length of a help text in characters. */
  int MAX_HELP = 500;

  /** A value that only increases. Exposed with the suffix {@code _total}. */
  interface Counter {
    /** Adds 1. */
    default void increment() {
      add(1);
    }

    /** Adds an amount of 0 or more; a negative amount or NaN is ignored. */
    void add(double amount);
  }

  /** A value that can increase and decrease. Initially 0. */
  interface Gauge {
    /** Sets the value. */
    void set(double value);

    /** Adds an amount, which may be negative. */
    void add(double amount);
  }

  /** A distribution: the number of values per bucket, and their sum. */
  interface Histogram {
    /** Records one value; NaN is ignored. */
    void record(double value);
  }

  /**
   * Sets the {@code HELP} text that {@code /metrics} shows for all meters of a name. The first text
   * of a name is used; later ones are ignored.
   *
   * @param help at most {@value #MAX_HELP} characters
   * @return this object, for further calls
   */
  ReplicaMeters describe(String name, String help);

  /**
   * Returns the counter of this name and these tags, creating it if absent.
   *
   * @param tagNamesAndValues further labels: name, value, name, value
   */
  Counter counter(String name, String... tagNamesAndValues);

  /**
   * Returns the gauge of this name and these tags, creating it if absent.
   *
   * @param tagNamesAndValues further labels: name, value, name, value
   */
  Gauge gauge(String name, String... tagNamesAndValues);

  /**
   * Returns the histogram of this name and these tags, creating it if absent.
   *
   * @param upperBounds upper bounds of the buckets, ascending, at most 100; an unbounded bucket is
   *     added. An empty array selects Ray Serve's buckets for latencies in milliseconds, 1 to 600
   *     000. The bounds of the first call are used.
   * @param tagNamesAndValues further labels: name, value, name, value
   */
  Histogram histogram(String name, double[] upperBounds, String... tagNamesAndValues);
}
