package dev.berth.config;

import dev.berth.api.Deployment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One entry of {@code deployments}: what it overrides of what code says. A null component is unset.
 * Code's own values have the same shape, so the order of precedence is {@code
 * file.over(code).resolve(limits)}: file, code, {@link Defaults}.
 *
 * @param name of the deployment, unique in its application
 * @param numReplicas replicas, at least 1
 * @param maxOngoingRequests requests one replica works on at a time, 1 to 65535
 * @param maxQueuedRequests requests that may wait, per instance; -1 is no bound of its own
 * @param backpressure what a refused client is told; overridden as a whole
 * @param userConfig handed to the handler's reconfigure hook; overridden as a whole
 * @param gracefulShutdownTimeout how long a stopping replica may finish what it accepted; 0 is not
 * @param healthCheckPeriod between two health checks of a replica
 * @param healthCheckTimeout how long one check may take before it has failed
 * @param logging what is logged of it, and how; overridden as a whole
 * @param spread where a replica's handlers run
 * @param queueTimeout how long a request may wait for a slot
 * @param reservationTtl how long a chosen replica keeps its slot for an undispatched request
 * @param cancelGrace how long a cancelled handler may take to settle before it is a zombie
 * @param maxZombieRequests zombies that make a replica unhealthy
 * @param maxBufferedBodyBytes largest request body of a handler that takes it whole
 * @param rollout how its replicas are replaced
 */
public record DeploymentConfig(
    String name,
    @Nullable Integer numReplicas,
    @Nullable Integer maxOngoingRequests,
    @Nullable Integer maxQueuedRequests,
    @Nullable Backpressure backpressure,
    @Nullable Map<String, @Nullable Object> userConfig,
    @Nullable Duration gracefulShutdownTimeout,
    @Nullable Duration healthCheckPeriod,
    @Nullable Duration healthCheckTimeout,
    @Nullable LoggingOptions logging,
    @Nullable Spread spread,
    @Nullable Duration queueTimeout,
    @Nullable Duration reservationTtl,
    @Nullable Duration cancelGrace,
    @Nullable Integer maxZombieRequests,
    @Nullable Integer maxBufferedBodyBytes,
    RolloutConfig rollout) {

  static final Key<String> NAME =
      Key.required(
          "name", Types.name(), "The deployment of the application this entry is about; unique.");

  /** Most replicas of a deployment, however many are asked for: more is a slip of the finger. */
  public static final int MAX_REPLICAS = 10_000;

  static final Key<Integer> NUM_REPLICAS =
      Key.override(
              "num_replicas",
              Types.integer(1, MAX_REPLICAS, "replicas")
                  .without("auto", "the number of replicas is fixed"),
              Defaults.NUM_REPLICAS,
              "Replicas to run.")
          .orNull();
  static final Key<Integer> MAX_ONGOING_REQUESTS =
      Key.override(
          "max_ongoing_requests",
          Types.integer(1, Deployment.MAX_ONGOING_REQUESTS_LIMIT, "requests"),
          Defaults.MAX_ONGOING_REQUESTS,
          "Requests one replica works on at a time: its slots.");
  static final Key<Integer> MAX_QUEUED_REQUESTS =
      Key.override(
          "max_queued_requests",
          Types.integerOrNone(1, Integer.MAX_VALUE, "requests"),
          Defaults.MAX_QUEUED_REQUESTS,
          "Requests that may wait for a slot, per instance. -1 leaves the bound to"
              + " berth.limits.max_queued_total. A request that finds a slot never counts.");
  static final Key<Values> BACKPRESSURE_CONFIG =
      Key.optional(
          "backpressure_config",
          Backpressure.SECTION,
          "What a client is told when the queue is full. Overridden as a whole.");
  static final Key<Map<String, @Nullable Object>> USER_CONFIG =
      Key.optional(
          "user_config",
          Types.freeMap(),
          "Handed to the handler's reconfigure hook. Overridden as a whole.");
  static final Key<Duration> GRACEFUL_SHUTDOWN_TIMEOUT_S =
      Key.override(
          "graceful_shutdown_timeout_s",
          Types.secondsOrZero(),
          Defaults.GRACEFUL_SHUTDOWN_TIMEOUT,
          "How long a stopping replica may take to finish what it accepted.");
  static final Key<Duration> HEALTH_CHECK_PERIOD_S =
      Key.override(
          "health_check_period_s",
          Types.seconds(),
          Defaults.HEALTH_CHECK_PERIOD,
          "Time between two health checks of a replica.");
  static final Key<Duration> HEALTH_CHECK_TIMEOUT_S =
      Key.override(
          "health_check_timeout_s",
          Types.seconds(),
          Defaults.HEALTH_CHECK_TIMEOUT,
          "How long one health check may take before it has failed.");
  static final Key<Values> LOGGING_CONFIG =
      Key.optional(
          "logging_config",
          LoggingOptions.SECTION,
          "What is logged of this deployment, in place of its application's, as a whole.");
  static final Key<Integer> MAX_REPLICAS_PER_NODE =
      Key.optional(
          "max_replicas_per_node",
          Types.integer(1, 100, "replicas"),
          "Bound of num_replicas here, since one instance is one node.");

  static final Key<Spread> SPREAD =
      Key.override(
          "spread",
          Types.choice(List.of(Spread.SINGLE, Spread.EVENT_LOOPS)),
          Defaults.SPREAD,
          "Where a replica's handlers run: single is one handler object on one event loop,"
              + " event_loops one on each behind one set of slots, so that a request is served on"
              + " the loop it came in on.");
  static final Key<Duration> QUEUE_TIMEOUT_S =
      Key.override(
          "queue_timeout_s",
          Types.seconds(),
          Defaults.QUEUE_TIMEOUT,
          "How long a request may wait for a slot.");
  static final Key<Duration> RESERVATION_TTL_S =
      Key.override(
          "reservation_ttl_s",
          Types.seconds(),
          Defaults.RESERVATION_TTL,
          "How long a chosen replica keeps its slot for a request that has not been dispatched."
              + " At most berth.limits.max_reservation_ttl_s.");
  static final Key<Duration> CANCEL_GRACE_S =
      Key.override(
          "cancel_grace_s",
          Types.secondsOrZero(),
          Defaults.CANCEL_GRACE,
          "How long a cancelled handler may take to settle before it counts as a zombie. It keeps"
              + " its slot either way.");
  static final Key<Integer> MAX_ZOMBIE_REQUESTS =
      Key.override(
              "max_zombie_requests",
              Types.integer(1, Deployment.MAX_ONGOING_REQUESTS_LIMIT, "requests"),
              Defaults.MAX_ONGOING_REQUESTS,
              "Zombies that make a replica unhealthy. More than max_ongoing_requests means the"
                  + " same as that.")
          .fallbackText("max_ongoing_requests");
  static final Key<Integer> MAX_BUFFERED_BODY_BYTES =
      Key.override(
          "max_buffered_body_bytes",
          Types.integer(0, Integer.MAX_VALUE, "bytes"),
          Defaults.MAX_BUFFERED_BODY_BYTES,
          "Largest request body that a handler which takes its body whole is given; a larger one"
              + " gets 413. At most 2147483647.");

  static final Section BERTH_SECTION =
      Section.of(
          SPREAD,
          QUEUE_TIMEOUT_S,
          RESERVATION_TTL_S,
          CANCEL_GRACE_S,
          MAX_ZOMBIE_REQUESTS,
          MAX_BUFFERED_BODY_BYTES,
          RolloutConfig.MAX_CONSTRUCTOR_RETRY_COUNT,
          RolloutConfig.REPLICA_START_TIMEOUT_S,
          RolloutConfig.VERSION);

  static final Key<Values> BERTH =
      Key.of("berth", BERTH_SECTION, Values.empty(BERTH_SECTION), "What has no name in Ray Serve.");

  static final Section SECTION =
      Section.of(
              NAME,
              NUM_REPLICAS,
              MAX_ONGOING_REQUESTS,
              MAX_QUEUED_REQUESTS,
              BACKPRESSURE_CONFIG,
              USER_CONFIG,
              GRACEFUL_SHUTDOWN_TIMEOUT_S,
              HEALTH_CHECK_PERIOD_S,
              HEALTH_CHECK_TIMEOUT_S,
              LOGGING_CONFIG,
              MAX_REPLICAS_PER_NODE,
              RolloutConfig.ROLLING_UPDATE_PERCENTAGE,
              RolloutConfig.MAX_SURGE_PERCENT,
              BERTH)
          .and(RayOnly.DEPLOYMENT)
          .check(DeploymentConfig::check);

  /** One instance is one node, so more replicas than that would never all run. */
  private static void check(Values values) {
    Integer replicas = values.find(NUM_REPLICAS);
    Integer perNode = values.find(MAX_REPLICAS_PER_NODE);
    if (replicas != null && perNode != null && replicas > perNode) {
      values.problem(
          NUM_REPLICAS, replicas.toString(), "at most max_replicas_per_node, " + perNode);
    }
  }

  /** Checks each value against its key. {@code userConfig} is kept as it is: pass a copy. */
  public DeploymentConfig {
    NAME.require(name);
    NUM_REPLICAS.requireIfSet(numReplicas);
    MAX_ONGOING_REQUESTS.requireIfSet(maxOngoingRequests);
    MAX_QUEUED_REQUESTS.requireIfSet(maxQueuedRequests);
    GRACEFUL_SHUTDOWN_TIMEOUT_S.requireIfSet(gracefulShutdownTimeout);
    HEALTH_CHECK_PERIOD_S.requireIfSet(healthCheckPeriod);
    HEALTH_CHECK_TIMEOUT_S.requireIfSet(healthCheckTimeout);
    QUEUE_TIMEOUT_S.requireIfSet(queueTimeout);
    RESERVATION_TTL_S.requireIfSet(reservationTtl);
    CANCEL_GRACE_S.requireIfSet(cancelGrace);
    MAX_ZOMBIE_REQUESTS.requireIfSet(maxZombieRequests);
    MAX_BUFFERED_BODY_BYTES.requireIfSet(maxBufferedBodyBytes);
  }

  /** An entry that overrides nothing. */
  public static DeploymentConfig of(String name) {
    return new DeploymentConfig(
        name,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        RolloutConfig.NONE);
  }

  /** What code says about a deployment, as the lower side of {@link #over}. */
  public static DeploymentConfig of(Deployment code) {
    return new DeploymentConfig(
        code.name(),
        code.numReplicas(),
        code.maxOngoingRequests(),
        null,
        null,
        code.userConfig(),
        null,
        null,
        null,
        null,
        code.spreadOverLoops() ? Spread.EVENT_LOOPS : Spread.SINGLE,
        null,
        null,
        null,
        null,
        null,
        RolloutConfig.NONE);
  }

  static DeploymentConfig from(Values values) {
    Values backpressure = values.find(BACKPRESSURE_CONFIG);
    Values logging = values.find(LOGGING_CONFIG);
    Values berth = values.get(BERTH);
    return new DeploymentConfig(
        values.get(NAME),
        values.find(NUM_REPLICAS),
        values.find(MAX_ONGOING_REQUESTS),
        values.find(MAX_QUEUED_REQUESTS),
        backpressure == null ? null : Backpressure.from(backpressure),
        values.find(USER_CONFIG),
        values.find(GRACEFUL_SHUTDOWN_TIMEOUT_S),
        values.find(HEALTH_CHECK_PERIOD_S),
        values.find(HEALTH_CHECK_TIMEOUT_S),
        logging == null ? null : LoggingOptions.from(logging),
        berth.find(SPREAD),
        berth.find(QUEUE_TIMEOUT_S),
        berth.find(RESERVATION_TTL_S),
        berth.find(CANCEL_GRACE_S),
        berth.find(MAX_ZOMBIE_REQUESTS),
        berth.find(MAX_BUFFERED_BODY_BYTES),
        RolloutConfig.from(values, berth));
  }

  /** What is set here, and {@code lower}'s where nothing is. The name is this one's. */
  public DeploymentConfig over(DeploymentConfig lower) {
    return new DeploymentConfig(
        name,
        first(numReplicas, lower.numReplicas),
        first(maxOngoingRequests, lower.maxOngoingRequests),
        first(maxQueuedRequests, lower.maxQueuedRequests),
        first(backpressure, lower.backpressure),
        first(userConfig, lower.userConfig),
        first(gracefulShutdownTimeout, lower.gracefulShutdownTimeout),
        first(healthCheckPeriod, lower.healthCheckPeriod),
        first(healthCheckTimeout, lower.healthCheckTimeout),
        first(logging, lower.logging),
        first(spread, lower.spread),
        first(queueTimeout, lower.queueTimeout),
        first(reservationTtl, lower.reservationTtl),
        first(cancelGrace, lower.cancelGrace),
        first(maxZombieRequests, lower.maxZombieRequests),
        first(maxBufferedBodyBytes, lower.maxBufferedBodyBytes),
        rollout.over(lower.rollout));
  }

  /** As {@link #resolve(LimitOptions, LoggingOptions)}, for a file silent about logging. */
  public DeploymentSettings resolve(LimitOptions limits) {
    return resolve(limits, LoggingOptions.defaults());
  }

  /**
   * Every value set, {@link Defaults} where nothing is. A default reservation TTL gives way to the
   * instance's bound; one that was asked for and is above it is refused with an
   * IllegalArgumentException.
   *
   * @param outerLogging of the application, for a deployment that has none of its own
   */
  public DeploymentSettings resolve(LimitOptions limits, LoggingOptions outerLogging) {
    Duration longest = limits.maxReservationTtl();
    if (reservationTtl != null && reservationTtl.compareTo(longest) > 0) {
      throw new IllegalArgumentException(
          RESERVATION_TTL_S.name()
              + ": "
              + RESERVATION_TTL_S.type().write(reservationTtl)
              + " (expected: "
              + reservationTtlBound(longest)
              + ")");
    }
    int slots = orElse(maxOngoingRequests, Defaults.MAX_ONGOING_REQUESTS);
    Duration defaultTtl = Defaults.RESERVATION_TTL;
    return new DeploymentSettings(
        name,
        orElse(numReplicas, Defaults.NUM_REPLICAS),
        slots,
        orElse(maxQueuedRequests, Defaults.MAX_QUEUED_REQUESTS),
        orElse(backpressure, Backpressure.defaults()),
        orElse(userConfig, Map.of()),
        orElse(gracefulShutdownTimeout, Defaults.GRACEFUL_SHUTDOWN_TIMEOUT),
        orElse(healthCheckPeriod, Defaults.HEALTH_CHECK_PERIOD),
        orElse(healthCheckTimeout, Defaults.HEALTH_CHECK_TIMEOUT),
        orElse(logging, outerLogging),
        orElse(spread, Defaults.SPREAD),
        orElse(queueTimeout, Defaults.QUEUE_TIMEOUT),
        orElse(reservationTtl, defaultTtl.compareTo(longest) > 0 ? longest : defaultTtl),
        orElse(cancelGrace, Defaults.CANCEL_GRACE),
        Math.min(slots, orElse(maxZombieRequests, slots)),
        orElse(maxBufferedBodyBytes, Defaults.MAX_BUFFERED_BODY_BYTES),
        rollout.resolve());
  }

  static String reservationTtlBound(Duration longest) {
    return "at most berth.limits.max_reservation_ttl_s, "
        + LimitOptions.MAX_RESERVATION_TTL_S.type().write(longest);
  }

  private static <T> @Nullable T first(@Nullable T upper, @Nullable T lower) {
    return upper != null ? upper : lower;
  }

  private static <T> T orElse(@Nullable T value, T fallback) {
    return value != null ? value : fallback;
  }
}
