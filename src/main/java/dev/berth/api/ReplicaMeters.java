package dev.berth.api;

/**
 * Meters of user code, shown at {@code /metrics} beside Berth's own with the labels {@code
 * application}, {@code deployment} and {@code replica}. The same name and tags give the same meter
 * each time; ask once and keep it where a look-up by name would count. They go when the replica
 * stops. Any thread.
 *
 * <p>Names match {@code [a-zA-Z_][a-zA-Z0-9_]*} and do not begin with {@code serve_} or {@code
 * berth_}, nor end in {@code _created}, {@code _bucket} or {@code _info}, nor in {@code _total} but
 * of a counter; tag names match the same and are none of the three labels above. Else, and when a
 * name is used for another kind of meter, {@link IllegalArgumentException}.
 *
 * <p>A replica has at most {@value #MAX_METERS} of them: a tag value made from a request (a user, a
 * path) would fill any memory. Beyond that a meter counts nothing, and a line in the log says so
 * once.
 *
 * <p>Source: Ray Serve's {@code ray.serve.metrics}.
 */
public interface ReplicaMeters {
  /** Meters of one replica, those that differ in a tag counted apart. */
  int MAX_METERS = 1_000;

  /** Characters of a help text. */
  int MAX_HELP = 500;

  /** What only grows. Shown with {@code _total} after its name. */
  interface Counter {
    /** Adds 1. */
    default void increment() {
      add(1);
    }

    /** Adds an amount that is 0 or more; a negative one, or no number, is ignored. */
    void add(double amount);
  }

  /** What goes up and down. 0 at first. */
  interface Gauge {
    /** Makes it this value. */
    void set(double value);

    /** Adds an amount, which may be negative. */
    void add(double amount);
  }

  /** How often values fell into each bucket, and their sum. */
  interface Histogram {
    /** Counts one value; no number is ignored. */
    void record(double value);
  }

  /**
   * Says what the meters of a name are: {@code HELP} at {@code /metrics}, for all who have a meter
   * of that name. What was said first holds.
   *
   * @param help at most {@value #MAX_HELP} characters
   * @return these meters, to go on
   */
  ReplicaMeters describe(String name, String help);

  /**
   * @param tagNamesAndValues further labels: name, value, name, value
   */
  Counter counter(String name, String... tagNamesAndValues);

  /**
   * @param tagNamesAndValues further labels: name, value, name, value
   */
  Gauge gauge(String name, String... tagNamesAndValues);

  /**
   * @param upperBounds of the buckets, rising, at most 100; one without a bound is added. Empty:
   *     Ray Serve's of latencies in milliseconds, 1 to 600 000. Those of the first call hold.
   * @param tagNamesAndValues further labels: name, value, name, value
   */
  Histogram histogram(String name, double[] upperBounds, String... tagNamesAndValues);
}
