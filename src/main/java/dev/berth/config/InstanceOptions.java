package dev.berth.config;

import dev.berth.config.builtin.OpenAiOptions;
import dev.berth.config.edge.EdgeOptions;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** {@code berth}: settings of the whole instance that Ray Serve does not have. */
public final class InstanceOptions {

  /** Default of {@link #REVISION_HISTORY_LIMIT}. */
  public static final int DEFAULT_REVISIONS = 10;

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Settings> ADMIN =
      KEYS.mapping("admin", AdminOptions.SECTION).means("The admin server.");
  public static final ConfigKey<Integer> EVENT_LOOPS =
      KEYS.key("event_loops", Types.integer(1, 1024, "event loops"))
          .fallback(settings -> Runtime.getRuntime().availableProcessors(), "one per core")
          .means("Number of event loops that serve requests, without the control event loop.");
  public static final ConfigKey<Settings> CLUSTER =
      KEYS.optional("cluster", ClusterOptions.SECTION)
          .means("Makes the instance a cluster node. null: a single instance.");
  public static final ConfigKey<Settings> LIMITS =
      KEYS.mapping("limits", LimitOptions.SECTION)
          .means("Limits that bound the memory of the instance under any load.");
  public static final ConfigKey<Settings> METRICS =
      KEYS.mapping("metrics", MetricsOptions.SECTION).means("Intervals of metrics reports.");
  public static final ConfigKey<Settings> AUTOSCALING =
      KEYS.mapping("autoscaling", AutoscalingOptions.INSTANCE_SECTION)
          .means("Recording of autoscaling. Its rules are keys of the deployments.");
  public static final ConfigKey<List<Settings>> ENDPOINTS =
      KEYS.key("endpoints", Types.list(TrafficOptions.ENDPOINT_SECTION), List.of())
          .means("Routes over deployments of several applications.");
  public static final ConfigKey<Settings> EXPLAIN =
      KEYS.mapping("explain", ExplainOptions.SECTION)
          .means("Selection of requests to explain: routing decisions, and time per phase.");
  public static final ConfigKey<Settings> LOG_RING =
      KEYS.mapping("log_ring", LogRingOptions.SECTION)
          .means("Size of the log in memory, for berth logs.");
  public static final ConfigKey<Settings> HEALTH =
      KEYS.mapping("health", HealthOptions.SECTION).means("Conditions of readiness.");
  public static final ConfigKey<Settings> RESERVATIONS =
      KEYS.mapping("reservations", ReservationOptions.SECTION)
          .means("Slots held for clients by tokens, over HTTP.");
  public static final ConfigKey<Boolean> H2C_UPGRADE =
      KEYS.key("h2c_upgrade", Types.BOOL, false)
          .means(
              "Whether HTTP/1.1 requests may upgrade their connection to HTTP/2 by Upgrade: h2c,"
                  + " which RFC 9113 removed. Clients that begin with HTTP/2 do not need it.");
  public static final ConfigKey<Boolean> PROXY_PROTOCOL =
      KEYS.key("proxy_protocol", Types.BOOL, false)
          .means(
              "Whether connections of limits.trusted_proxies begin with a header of the PROXY"
                  + " protocol, version 1 or 2; one without it is closed. Other clients send none.");
  public static final ConfigKey<Map<String, @Nullable Object>> RESPONSE_HEADERS =
      KEYS.key("response_headers", EdgeOptions.HEADERS_TYPE, Map.of())
          .means(
              "Headers added to every response of the HTTP server, unless the response or its"
                  + " application has them.");

  // Blocked loops, worker threads, shutdown and a full heap.
  public static final ConfigKey<Duration> BLOCKED_LOOP_AFTER_MS =
      KEYS.key("blocked_loop_after_ms", Types.millis(20, 60_000), Duration.ofMillis(100))
          .means(
              "Time that an event loop may delay a task before it counts as blocked by a handler."
                  + " New requests then avoid its replicas if there are others.");
  public static final ConfigKey<Integer> APPLICATION_WORKER_THREADS =
      KEYS.key("application_worker_threads", Types.integer(1, 1024, "threads"), 20)
          .means(
              "Maximum of threads for Vert.x executeBlocking, per application. They are created on"
                  + " demand and end after 10 s idle. With berth:openai they find the model in"
                  + " bodies of more than 256 KiB, one body at a time for each event loop.");
  public static final ConfigKey<Duration> SHUTDOWN_TIMEOUT_S =
      KEYS.key("shutdown_timeout_s", Types.SECONDS, Duration.ofSeconds(30))
          .means("Maximum drain time on SIGTERM or SIGINT; then the instance stops anyway.");

  public static final ConfigKey<MessageTransport> MESSAGES =
      KEYS.key("messages", Types.words(MessageTransport.class), MessageTransport.DIRECT)
          .means(
              "Transport of messages between event loops: direct queues and, between nodes, data"
                  + " links; or the event bus of Vert.x, which costs more and shows messages to its"
                  + " interceptors and metrics.");

  public static final ConfigKey<Boolean> HALT_ON_FULL_HEAP =
      KEYS.key("halt_on_full_heap", Types.BOOL, true)
          .means(
              "Whether the process ends, with exit code 5 and one log line, when the heap is full:"
                  + " collections find more than 95 % of the oldest pool in use for 10 s, or take"
                  + " 98 % of the time for as long. Otherwise it would run on without serving any"
                  + " request.");

  public static final ConfigKey<Path> SECRETS_DIR =
      KEYS.optional("secrets_dir", Types.PATH)
          .means(
              "Directory of the files that upstreams name, on this node: headers_file and those of"
                  + " tls; and of openai.api_keys_file. Relative to the folder of the file. null: none may be named.");

  public static final ConfigKey<Settings> OPENAI =
      KEYS.mapping("openai", OpenAiOptions.INSTANCE_SECTION)
          .means("Access of clients to applications with import_path: berth:openai.");

  // Persistence of the desired state across restarts.
  public static final ConfigKey<Path> STATE_DIR =
      KEYS.optional("state_dir", Types.PATH)
          .fallback(settings -> Path.of("berth-state").toAbsolutePath().normalize(), "berth-state")
          .means(
              "Directory of the deployed applications and their jars, which run again after a"
                  + " restart. Relative to the folder of the file; the default is in the current"
                  + " folder. The first accepted change creates it. Only its owner can read it.");
  public static final ConfigKey<Boolean> EPHEMERAL =
      KEYS.key("ephemeral", Types.BOOL, false)
          .means(
              "Stores deployed applications in memory only: a restart uses the file alone, and"
                  + " state_dir is neither read nor written.");

  public static final ConfigKey<DeclareMode> DECLARE =
      KEYS.key("declare", Types.words(DeclareMode.class), DeclareMode.CHANGED)
          .means(
              "Applications of the file that a start declares over stored ones: those changed in"
                  + " the file, all, or none.");

  public static final ConfigKey<Integer> REVISION_HISTORY_LIMIT =
      KEYS.key("revision_history_limit", Types.integer(1, 100, "revisions"), DEFAULT_REVISIONS)
          .means(
              "Number of earlier revisions of each application to store, with their jars, for berth"
                  + " history and berth rollback. All but the newest are deleted, oldest first,"
                  + " before a deploy is refused for lack of space.");

  static final Section SECTION = KEYS.section().check(InstanceOptions::check);

  /**
   * Rejects an ephemeral control node, because the cluster's state must outlive its nodes, and a
   * port of the event bus that another port has.
   */
  private static void check(Settings berth) {
    Settings cluster = berth.find(CLUSTER);
    boolean control =
        cluster != null && cluster.find(ClusterOptions.ROLE) == ClusterConfig.ClusterRole.CONTROL;
    if (control && Boolean.TRUE.equals(berth.find(EPHEMERAL))) {
      berth.problem(EPHEMERAL, "true, on a control node", "false, or cluster.role: worker");
    }
    Settings limits = berth.find(LIMITS);
    if (Boolean.TRUE.equals(berth.find(PROXY_PROTOCOL))
        && (limits == null || !limits.gives(LimitOptions.TRUSTED_PROXIES))) {
      berth.problem(PROXY_PROTOCOL, "true, without trusted proxies", "limits.trusted_proxies too");
    }
    Settings openAi = berth.find(OPENAI);
    if (openAi != null && openAi.gives(OpenAiOptions.API_KEYS_FILE) && !berth.gives(SECRETS_DIR)) {
      openAi.problem(OpenAiOptions.API_KEYS_FILE, "without its directory", "secrets_dir too");
    }
    if (cluster != null
        && (berth.find(MESSAGES) == MessageTransport.EVENT_BUS
            || Boolean.TRUE.equals(cluster.find(ClusterOptions.EVENT_BUS)))) {
      ClusterOptions.checkBusPort(cluster);
    }
  }

  /**
   * Returns whether an instance serves {@code berth:openai} without keys: on loopback, or because
   * the operator allows it.
   *
   * @param settings of the file, or nested in them
   */
  public static boolean servesAnyone(Settings settings) {
    return Boolean.TRUE.equals(settings.around(OpenAiOptions.ALLOW_UNAUTHENTICATED))
        || AdminOptions.isLoopback(Objects.requireNonNull(settings.around(HttpOptions.HOST)));
  }

  private InstanceOptions() {}
}
