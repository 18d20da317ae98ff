package dev.berth.config;

import dev.berth.api.Deployment;
import java.time.Duration;

/** Every default of the configuration, in one place. Ray Serve's where Ray has the key. */
public final class Defaults {

  // http_options, as Ray

  /** Address the HTTP server listens on: every interface. */
  public static final String HTTP_HOST = "0.0.0.0";

  /** TCP port of the HTTP server. */
  public static final int HTTP_PORT = 8000;

  /** How long a connection may stay open between two requests. */
  public static final Duration KEEP_ALIVE_TIMEOUT = Duration.ofSeconds(90);

  /** Path that is in front of every route. */
  public static final String ROOT_PATH = "";

  // logging_config, as Ray but for the access log

  /** How a line of the log is written. */
  public static final LogEncoding LOG_ENCODING = LogEncoding.TEXT;

  /** Least severe event that is logged. */
  public static final LogLevel LOG_LEVEL = LogLevel.INFO;

  /** Whether each request is logged. Ray says true; a line for each request is not free. */
  public static final boolean ENABLE_ACCESS_LOG = false;

  // applications and deployments, as Ray

  /** Name of an application that gives none. */
  public static final String APPLICATION_NAME = "default";

  /** Path prefix of an application that gives none. */
  public static final String ROUTE_PREFIX = "/";

  /** Builder method of an {@code import_path} that names only a class. */
  public static final String BUILDER_METHOD = "build";

  /** Whether the number of replicas may be set from outside. */
  public static final boolean EXTERNAL_SCALER_ENABLED = false;

  /** Replicas of a deployment. */
  public static final int NUM_REPLICAS = 1;

  /** Requests one replica works on at a time: its slots. */
  public static final int MAX_ONGOING_REQUESTS = Deployment.DEFAULT_MAX_ONGOING_REQUESTS;

  /** Requests that may wait for a slot, per deployment and instance; -1 is no bound of its own. */
  public static final int MAX_QUEUED_REQUESTS = -1;

  /** HTTP status of a request refused because the queue is full. */
  public static final int BACKPRESSURE_STATUS_CODE = 503;

  /** How long a stopping replica may take to finish what it accepted. */
  public static final Duration GRACEFUL_SHUTDOWN_TIMEOUT = Duration.ofSeconds(20);

  /** Time between two health checks of a replica. */
  public static final Duration HEALTH_CHECK_PERIOD = Duration.ofSeconds(10);

  /** How long one health check may take before it counts as failed. */
  public static final Duration HEALTH_CHECK_TIMEOUT = Duration.ofSeconds(30);

  /** Share of the replicas replaced at a time. */
  public static final double ROLLING_UPDATE_PERCENTAGE = 0.2;

  /** Failed starts after which a version of a deployment has failed. */
  public static final int MAX_CONSTRUCTOR_RETRY_COUNT = 20;

  /**
   * Percent of the replicas that may run beyond their number while they are replaced. Ray says 0,
   * with which an update of one replica is an outage.
   */
  public static final double MAX_SURGE_PERCENT = 20;

  // deployments, Berth's own

  /** Where a replica's handlers run. */
  public static final Spread SPREAD = Spread.SINGLE;

  /** How long a request may wait for a slot. */
  public static final Duration QUEUE_TIMEOUT = Duration.ofSeconds(60);

  /** How long a chosen replica keeps its slot for a request that has not been dispatched. */
  public static final Duration RESERVATION_TTL = Duration.ofSeconds(10);

  /** How long a cancelled handler may take to settle before it counts as a zombie. */
  public static final Duration CANCEL_GRACE = Duration.ofSeconds(10);

  /** Largest request body, in bytes, for a handler that takes its body whole. */
  public static final int MAX_BUFFERED_BODY_BYTES = 4 << 20;

  // berth, the instance

  /** Address of the admin server: this machine only. */
  public static final String ADMIN_HOST = "127.0.0.1";

  /** TCP port of the admin server. */
  public static final int ADMIN_PORT = 8265;

  /** Whether the admin server may be reached from other machines without a token. */
  public static final boolean ADMIN_ALLOW_UNAUTHENTICATED = false;

  /** Directory that keeps what was deployed, in the current folder. */
  public static final String STATE_DIR = "berth-state";

  /** Whether what is deployed is kept in memory only. */
  public static final boolean EPHEMERAL = false;

  /** What a start declares of its file when something is kept. */
  public static final Declare DECLARE = Declare.CHANGED;

  /** How long the instance may take to drain when it is told to stop. */
  public static final Duration SHUTDOWN_TIMEOUT = Duration.ofSeconds(30);

  /** What carries messages between the event loops. */
  public static final MessageCarrier MESSAGES = MessageCarrier.DIRECT;

  /** Whether the process ends when its heap stays full. */
  public static final boolean HALT_ON_FULL_HEAP = true;

  /** How long an event loop may leave a task before it counts as blocked. */
  public static final Duration BLOCKED_LOOP_AFTER = Duration.ofMillis(100);

  /** Requests waiting for a slot, over all deployments of the instance. */
  public static final int MAX_QUEUED_TOTAL = 10_000;

  /** Largest request body, in bytes. */
  public static final long MAX_BODY_BYTES = 1L << 30;

  /** Largest sum of a request's header names and values, in bytes. */
  public static final int MAX_HEADER_BYTES = 8 << 10;

  /** Longest request line, in bytes. */
  public static final int MAX_URI_BYTES = 4 << 10;

  /** How long a request body may stand still. */
  public static final Duration IDLE_TIMEOUT = Duration.ofSeconds(60);

  /** Least bytes of a request body in a second, of the seconds in which it is awaited. */
  public static final int MIN_BODY_BYTES_PER_S = 240;

  /** How long a request body may lag behind that. */
  public static final Duration BODY_RATE_GRACE = Duration.ofSeconds(30);

  /** How long a client may take to send the whole head of a request. */
  public static final Duration HEADER_READ_TIMEOUT = Duration.ofSeconds(10);

  /** Requests sent to replicas and not yet answered, per event loop. */
  public static final int PENDING_REQUESTS_PER_LOOP = 8192;

  /** Longest {@code reservation_ttl_s} and longest renewal a caller may ask for. */
  public static final Duration MAX_RESERVATION_TTL = Duration.ofSeconds(300);

  /** Slots that one request may reserve together, over HTTP. */
  public static final int MAX_RESERVATION_LEGS = 16;

  /** Bytes one stream may have under way before its writer must wait. */
  public static final int STREAM_WINDOW_BYTES = 256 << 10;

  /** How long the reader of a stream may leave what it was sent unread. */
  public static final Duration STREAM_IDLE_TIMEOUT = Duration.ofSeconds(60);

  /** Requests under way on one HTTP/2 connection. */
  public static final int HTTP2_MAX_STREAMS = 100;

  /** Requests of one HTTP/2 connection that may be reset within the window. */
  public static final int HTTP2_MAX_RESETS = 200;

  /** The time in which resets of an HTTP/2 connection are counted. */
  public static final Duration HTTP2_RESET_WINDOW = Duration.ofSeconds(30);

  /** Bytes of request bodies that one HTTP/2 connection may have under way. */
  public static final int HTTP2_CONNECTION_WINDOW_BYTES = 1 << 20;

  /** Time between two samples of a gauge. */
  public static final Duration METRICS_RECORD_INTERVAL = Duration.ofMillis(200);

  /** Time between two metrics messages of the instance. */
  public static final Duration METRICS_PUSH_INTERVAL = Duration.ofMillis(1000);

  /** Share of requests explained without being asked to. */
  public static final double EXPLAIN_SAMPLE_RATE = 0;

  /** Explanations kept. */
  public static final int EXPLAIN_RING_SIZE = 1_000;

  /** Whether a client may ask for an explanation. */
  public static final boolean EXPLAIN_HEADER = true;

  /** Lines of the log that are kept in memory. */
  public static final int LOG_RING_LINES = 2_000;

  /** Memory that they may take. */
  public static final long LOG_RING_BYTES = 4L << 20;

  /** Put before the names of metrics that Ray Serve has too. */
  public static final String METRICS_PREFIX = "";

  // berth.reservations

  /** Reservations held or waited for, of all callers. */
  public static final int MAX_HELD_TOTAL = 10_000;

  /** The same for one caller. */
  public static final int MAX_HELD_PER_CALLER = 100;

  /** Longest wait for a slot that may be asked for. */
  public static final Duration MAX_RESERVATION_WAIT = Duration.ofSeconds(60);

  /** Ended reservations that are remembered. */
  public static final int MAX_ENDED_RESERVATIONS = 20_000;

  /** Idempotency keys that are remembered, of all callers. */
  public static final int MAX_IDEMPOTENCY_KEYS = 10_000;

  /** The same for one caller. */
  public static final int MAX_IDEMPOTENCY_KEYS_PER_CALLER = 1_000;

  /** How long an idempotency key is remembered. */
  public static final Duration IDEMPOTENCY_KEY_TTL = Duration.ofMinutes(10);

  /** Whether reservations are also made on the port of the traffic. */
  public static final boolean RESERVATIONS_ON_DATA_PORT = false;

  private Defaults() {}

  /** Event loops of the instance: one for each core this JVM may use. */
  public static int eventLoops() {
    return Runtime.getRuntime().availableProcessors();
  }

  /** Bytes of the bodies of the waiting requests, over all deployments of the instance. */
  public static long maxQueuedBytes() {
    return heapShare(Runtime.getRuntime().maxMemory(), 8, 64L << 20);
  }

  /** Bytes of the request bodies that are gathered whole, over all requests of the instance. */
  public static long bufferedBodyBytesTotal() {
    return heapShare(Runtime.getRuntime().maxMemory(), 4, 256L << 20);
  }

  /** Bytes all streams of the instance may have under way. */
  public static long streamBytesTotal() {
    return heapShare(Runtime.getRuntime().maxMemory(), 8, 64L << 20);
  }

  /** Bytes that the requests under way may take. */
  public static long requestBytesTotal() {
    return heapShare(Runtime.getRuntime().maxMemory(), 8, Long.MAX_VALUE);
  }

  /** Open HTTP connections of the instance: an eighth of the heap, at 8 KiB each. */
  public static int maxConnections() {
    return (int) (heapShare(Runtime.getRuntime().maxMemory(), 8, 128L << 20) >> 13);
  }

  /**
   * A part of the heap, so that a small one is not filled by what a large one has room for.
   *
   * @param heapBytes the most the heap may grow to
   * @param part 4 for a quarter
   * @param atMost however large the heap
   */
  static long heapShare(long heapBytes, int part, long atMost) {
    return Math.max(1 << 20, Math.min(atMost, heapBytes / part));
  }
}
