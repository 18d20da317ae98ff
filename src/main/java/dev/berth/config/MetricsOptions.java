package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.List;

/** {@code berth.metrics}: intervals of the metrics path, and the exposed metrics. */
public final class MetricsOptions {

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Duration> RECORD_INTERVAL_MS =
      KEYS.key("record_interval_ms", Types.millis(10, 60_000), Duration.ofMillis(200))
          .variable("BERTH_HANDLE_AUTOSCALING_METRIC_RECORD_INTERVAL_S")
          .means("Time between two samples of a handle.");
  public static final ConfigKey<Duration> PUSH_INTERVAL_MS =
      KEYS.key("push_interval_ms", Types.millis(10, 60_000), Duration.ofMillis(1000))
          .variable("BERTH_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S")
          .variable("RAY_SERVE_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S")
          .atLeast(() -> RECORD_INTERVAL_MS)
          .means(
              "Time between two metrics messages of the instance that have reports or follow"
                  + " autoscaled deployments. Others are at least 5 s apart. Not below"
                  + " record_interval_ms.");
  public static final ConfigKey<Duration> REPLICA_RECORD_INTERVAL_MS =
      KEYS.key("replica_record_interval_ms", Types.millis(10, 60_000), Duration.ofMillis(200))
          .variable("BERTH_REPLICA_AUTOSCALING_METRIC_RECORD_INTERVAL_S")
          .means("Time between two samples of the slot ledgers of the replicas.");
  public static final ConfigKey<Duration> REPLICA_PUSH_INTERVAL_MS =
      KEYS.key("replica_push_interval_ms", Types.millis(10, 60_000), Duration.ofMillis(1000))
          .variable("BERTH_REPLICA_AUTOSCALING_METRIC_PUSH_INTERVAL_S")
          .variable("RAY_SERVE_REPLICA_AUTOSCALING_METRIC_PUSH_INTERVAL_S")
          .atLeast(() -> REPLICA_RECORD_INTERVAL_MS)
          .means(
              "Minimum time between two metrics messages with replica figures; they never cause a"
                  + " message. Not below replica_record_interval_ms.");

  public static final ConfigKey<Duration> STATS_TIMEOUT_MS =
      KEYS.key(
              "record_autoscaling_stats_timeout_ms",
              Types.millis(10, 60_000),
              Duration.ofSeconds(10))
          .variable("BERTH_RECORD_AUTOSCALING_STATS_TIMEOUT_S")
          .variable("RAY_SERVE_RECORD_AUTOSCALING_STATS_TIMEOUT_S")
          .means(
              "Timeout of a call of a handler's recordAutoscalingStats; checked every"
                  + " replica_record_interval_ms.");

  public static final ConfigKey<String> PREFIX =
      KEYS.key("prefix", Types.METRIC_PREFIX, "")
          .means(
              "Prefix of the metrics whose names begin with serve_. Ray exports them with ray_, as"
                  + " dashboards made for Ray Serve expect.");

  public static final ConfigKey<List<VertxMetrics>> VERTX =
      KEYS.key("vertx", Types.list(Types.words(VertxMetrics.class)), List.of())
          .means(
              "Vert.x components to count in addition to the metrics of Berth. Each adds a cost per"
                  + " request or message.");

  static final Section SECTION = KEYS.section();

  /** {@code berth.metrics.vertx}: the groups of Vert.x's own metrics. */
  public enum VertxMetrics {
    /** Requests of the ingress and of the admin server, as Vert.x sees them. */
    HTTP_SERVER,
    /** Requests of clients that the application makes. */
    HTTP_CLIENT,
    /** Connections and bytes, TLS included. */
    NET,
    /** Messages of the event bus. */
    EVENT_BUS,
    /** Worker and connection pools: their queues and use. */
    POOLS
  }

  private MetricsOptions() {}
}
