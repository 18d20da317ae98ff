package dev.berth.config;

import java.time.Duration;

/**
 * {@code berth.metrics}: the rhythm of the metrics path.
 *
 * @param recordInterval between two samples of a gauge
 * @param pushInterval between two metrics messages of the instance; not below recordInterval
 * @param prefix of the metrics that have Ray Serve's names
 */
public record MetricsOptions(Duration recordInterval, Duration pushInterval, String prefix) {

  static final Key<Duration> RECORD_INTERVAL_MS =
      Key.of(
          "record_interval_ms",
          Types.millis(10, 60_000),
          Defaults.METRICS_RECORD_INTERVAL,
          "Time between two samples of a gauge.");
  static final Key<Duration> PUSH_INTERVAL_MS =
      Key.of(
          "push_interval_ms",
          Types.millis(10, 60_000),
          Defaults.METRICS_PUSH_INTERVAL,
          "Time between two metrics messages of the instance. Not below record_interval_ms.");

  static final Key<String> PREFIX =
      Key.of(
          "prefix",
          Types.metricPrefix(),
          Defaults.METRICS_PREFIX,
          "Put before the names of metrics that begin with serve_. Ray exports them with ray_, and"
              + " so want them dashboards made for Ray Serve.");

  static final Section SECTION =
      Section.of(RECORD_INTERVAL_MS, PUSH_INTERVAL_MS, PREFIX).check(MetricsOptions::check);

  /** Checks each value against its key. */
  public MetricsOptions {
    RECORD_INTERVAL_MS.require(recordInterval);
    PUSH_INTERVAL_MS.require(pushInterval);
    PREFIX.require(prefix);
    if (pushInterval.compareTo(recordInterval) < 0) {
      throw new IllegalArgumentException(
          "%s: %s (expected: %s)"
              .formatted(
                  PUSH_INTERVAL_MS.name(), pushInterval.toMillis(), pushBound(recordInterval)));
    }
  }

  private static void check(Values values) {
    Duration record = values.find(RECORD_INTERVAL_MS);
    Duration push = values.find(PUSH_INTERVAL_MS);
    if (record != null && push != null && push.compareTo(record) < 0) {
      values.problem(PUSH_INTERVAL_MS, Long.toString(push.toMillis()), pushBound(record));
    }
  }

  private static String pushBound(Duration recordInterval) {
    return "at least record_interval_ms, " + recordInterval.toMillis();
  }

  static MetricsOptions from(Values values) {
    return new MetricsOptions(
        values.get(RECORD_INTERVAL_MS), values.get(PUSH_INTERVAL_MS), values.get(PREFIX));
  }
}
