package dev.berth.config;

import dev.berth.config.keys.Key;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** {@code berth}: settings of the whole instance that Ray Serve does not have. */
public final class InstanceOptions {

  /** Default of {@link #REVISION_HISTORY_LIMIT}. */
  public static final int DEFAULT_REVISIONS = 10;

  private static final Keys KEYS = new Keys();

  public static final Key<Settings> ADMIN =
      KEYS.mapping("admin", AdminOptions.SECTION).means("The admin server.");
  public static final Key<Integer> EVENT_LOOPS =
      KEYS.key("event_loops", Types.integer(1, 1024, "event loops"))
          .fallback(settings -> Runtime.getRuntime().availableProcessors(), "one per core")
          .means("Event loops that serve requests. The control event loop is one more.");
  public static final Key<Settings> CLUSTER =
      KEYS.optional("cluster", ClusterOptions.SECTION)
          .means(
              "Makes the instance one of the nodes of a cluster. null is an instance by itself.");
  public static final Key<Settings> LIMITS =
      KEYS.mapping("limits", LimitOptions.SECTION)
          .means("Bounds that keep the instance's memory finite, whatever clients do.");
  public static final Key<Settings> METRICS =
      KEYS.mapping("metrics", MetricsOptions.SECTION).means("Rhythm of the metrics path.");
  public static final Key<Settings> AUTOSCALING =
      KEYS.mapping("autoscaling", AutoscalingOptions.INSTANCE_SECTION)
          .means("What is recorded of autoscaling. How it is done is each deployment's own.");
  public static final Key<List<Settings>> ENDPOINTS =
      KEYS.key("endpoints", Types.list(TrafficOptions.ENDPOINT_SECTION), List.of())
          .means("Routes over the deployments of several applications.");
  public static final Key<Settings> EXPLAIN =
      KEYS.mapping("explain", ExplainOptions.SECTION)
          .means(
              "Which requests are explained: why they went where they went, and where their time was"
                  + " spent.");
  public static final Key<Settings> LOG_RING =
      KEYS.mapping("log_ring", LogRingOptions.SECTION)
          .means("How much of the log is kept in memory, for berth logs.");
  public static final Key<Settings> HEALTH =
      KEYS.mapping("health", HealthOptions.SECTION).means("When the instance is not ready.");
  public static final Key<Settings> RESERVATIONS =
      KEYS.mapping("reservations", ReservationOptions.SECTION)
          .means("Slots held for clients by tokens, over HTTP.");
  public static final Key<Boolean> H2C_UPGRADE =
      KEYS.key("h2c_upgrade", Types.BOOL, false)
          .means(
              "Lets a plain HTTP/1.1 request turn its connection into HTTP/2 by Upgrade: h2c, which"
                  + " RFC 9113 has given up. HTTP/2 without TLS needs it for no client that begins"
                  + " with it.");

  // Blocked loops, worker threads, shutdown and a full heap.
  public static final Key<Duration> BLOCKED_LOOP_AFTER_MS =
      KEYS.key("blocked_loop_after_ms", Types.millis(20, 60_000), Duration.ofMillis(100))
          .means(
              "How long an event loop may leave a task before it counts as blocked by a handler. New"
                  + " requests then avoid the replicas on it while there are others.");
  public static final Key<Integer> APPLICATION_WORKER_THREADS =
      KEYS.key("application_worker_threads", Types.integer(1, 1024, "threads"), 20)
          .means(
              "Threads on which an application's requests run executeBlocking of Vert.x, at most, for"
                  + " each application. They are made on demand and end after 10 s without work.");
  public static final Key<Duration> SHUTDOWN_TIMEOUT_S =
      KEYS.key("shutdown_timeout_s", Types.SECONDS, Duration.ofSeconds(30))
          .means(
              "How long the instance may take to drain on SIGTERM or SIGINT before it stops anyway.");

  public static final Key<MessageCarrier> MESSAGES =
      KEYS.key("messages", Types.words(MessageCarrier.class), MessageCarrier.DIRECT)
          .means(
              "What carries messages between the event loops of the instance: queues of its own, or the"
                  + " event bus of Vert.x, which costs more and shows them to its interceptors and"
                  + " metrics. Not with cluster.");

  public static final Key<Boolean> HALT_ON_FULL_HEAP =
      KEYS.key("halt_on_full_heap", Types.BOOL, true)
          .means(
              "Whether the process ends, with exit code 5 and one line of the log, when collections"
                  + " find more than 95 % of the heap's oldest pool in use for 10 s, or take 98 % of the"
                  + " time for as long. It would live on and answer nobody.");

  // Persistence of the desired state across restarts.
  public static final Key<Path> STATE_DIR =
      KEYS.optional("state_dir", Types.PATH)
          .fallback(settings -> Path.of("berth-state").toAbsolutePath().normalize(), "berth-state")
          .means(
              "Directory that keeps what was deployed, with the jars of it, so that it runs again"
                  + " after a restart. Relative to the folder of the file; the default is in the"
                  + " current folder. Made by the first accepted change. Only its owner may read"
                  + " it.");
  public static final Key<Boolean> EPHEMERAL =
      KEYS.key("ephemeral", Types.BOOL, false)
          .means(
              "Keeps what is deployed in memory only: a restart begins with the file alone, and"
                  + " state_dir is neither read nor written.");

  public static final Key<Declare> DECLARE =
      KEYS.key("declare", Types.words(Declare.class), Declare.CHANGED)
          .means(
              "What a start declares of its file when something is kept: what the file says anew, all"
                  + " that it says, or never anything.");

  public static final Key<Integer> REVISION_HISTORY_LIMIT =
      KEYS.key("revision_history_limit", Types.integer(1, 100, "revisions"), DEFAULT_REVISIONS)
          .means(
              "How many revisions of each application that ran earlier are kept, with their jars, for"
                  + " berth history and berth rollback. All but the last of them give way, the oldest"
                  + " first, before a deploy is refused for want of room.");

  static final Section SECTION = KEYS.section().check(InstanceOptions::check);

  /**
   * Rejects an ephemeral control node, because the cluster's state must outlive its nodes, and the
   * event bus in a cluster.
   */
  private static void check(Settings berth) {
    Settings cluster = berth.find(CLUSTER);
    boolean control =
        cluster != null && cluster.find(ClusterOptions.ROLE) == ClusterConfig.Role.CONTROL;
    if (control && Boolean.TRUE.equals(berth.find(EPHEMERAL))) {
      berth.problem(EPHEMERAL, "true, on a control node", "false, or cluster.role: worker");
    }
    if (cluster != null && berth.find(MESSAGES) == MessageCarrier.EVENT_BUS) {
      berth.problem(MESSAGES, "event_bus, beside cluster", "direct");
    }
  }

  private InstanceOptions() {}
}
