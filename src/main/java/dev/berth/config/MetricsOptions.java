package dev.berth.config;

import dev.berth.config.keys.Key;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Types;
import java.time.Duration;

/** {@code berth.metrics}: the rhythm of the metrics path. */
public final class MetricsOptions {

  private static final Keys KEYS = new Keys();

  public static final Key<Duration> RECORD_INTERVAL_MS =
      KEYS.key("record_interval_ms", Types.millis(10, 60_000), Duration.ofMillis(200))
          .means("Time between two samples of a gauge.");
  public static final Key<Duration> PUSH_INTERVAL_MS =
      KEYS.key("push_interval_ms", Types.millis(10, 60_000), Duration.ofMillis(1000))
          .atLeast(() -> RECORD_INTERVAL_MS)
          .means(
              "Time between two metrics messages of the instance. Not below record_interval_ms.");

  public static final Key<String> PREFIX =
      KEYS.key("prefix", Types.METRIC_PREFIX, "")
          .means(
              "Put before the names of metrics that begin with serve_. Ray exports them with ray_, and"
                  + " so want them dashboards made for Ray Serve.");

  static final Section SECTION = KEYS.section();

  private MetricsOptions() {}
}
