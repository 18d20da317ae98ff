package dev.berth.config;

import dev.berth.api.Deployment;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One entry of {@code deployments}: what it overrides of what code says. Code's own values have the
 * same shape, so the order of precedence is {@code file.over(code).resolve(limits)}: file, code,
 * {@link Defaults}. {@link DeploymentSettings} says what the values are.
 *
 * @param name of the deployment, unique in its application
 * @param given what is said of it, by the name of the key; each is overridden as a whole
 */
public record DeploymentConfig(String name, Map<String, Object> given) {

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
          Rollout.MAX_CONSTRUCTOR_RETRY_COUNT,
          Rollout.REPLICA_START_TIMEOUT_S,
          Rollout.VERSION);

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
              Rollout.ROLLING_UPDATE_PERCENTAGE,
              Rollout.MAX_SURGE_PERCENT,
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

  public DeploymentConfig {
    NAME.require(name);
    given = Map.copyOf(given);
  }

  /** An entry that overrides nothing. */
  public static DeploymentConfig of(String name) {
    return new DeploymentConfig(name, Map.of());
  }

  /** What code says about a deployment, as the lower side of {@link #over}. */
  public static DeploymentConfig of(Deployment code) {
    NUM_REPLICAS.require(code.numReplicas());
    MAX_ONGOING_REQUESTS.require(code.maxOngoingRequests());
    Map<String, Object> given = new HashMap<>();
    given.put(NUM_REPLICAS.name(), code.numReplicas());
    given.put(MAX_ONGOING_REQUESTS.name(), code.maxOngoingRequests());
    given.put(USER_CONFIG.name(), code.userConfig());
    given.put(SPREAD.name(), code.spreadOverLoops() ? Spread.EVENT_LOOPS : Spread.SINGLE);
    return new DeploymentConfig(code.name(), given);
  }

  static DeploymentConfig from(Values values) {
    Map<String, Object> given = new HashMap<>();
    take(SECTION, values, given);
    take(BERTH_SECTION, values.get(BERTH), given);
    given.keySet().removeAll(List.of(NAME.name(), BERTH.name()));
    given.computeIfPresent(
        BACKPRESSURE_CONFIG.name(), (key, value) -> Backpressure.from((Values) value));
    given.computeIfPresent(
        LOGGING_CONFIG.name(), (key, value) -> LoggingOptions.from((Values) value));
    return new DeploymentConfig(values.get(NAME), given);
  }

  private static void take(Section section, Values values, Map<String, Object> into) {
    for (Key<?> key : section.keys()) {
      Object value = values.find(key);
      if (value != null && key.noEffect() == null) {
        into.put(key.name(), value);
      }
    }
  }

  /** What is set here, and {@code lower}'s where nothing is. The name is this one's. */
  public DeploymentConfig over(DeploymentConfig lower) {
    Map<String, Object> both = new HashMap<>(lower.given);
    both.putAll(given);
    return new DeploymentConfig(name, both);
  }

  /** What is logged of it, and how; null when nothing is said of that. */
  public @Nullable LoggingOptions logging() {
    return find(LOGGING_CONFIG);
  }

  @Nullable Duration reservationTtl() {
    return find(RESERVATION_TTL_S);
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
    Duration asked = reservationTtl();
    if (asked != null && asked.compareTo(longest) > 0) {
      throw new IllegalArgumentException(
          "%s: %s (expected: %s)"
              .formatted(
                  RESERVATION_TTL_S.name(),
                  RESERVATION_TTL_S.type().write(asked),
                  reservationTtlBound(longest)));
    }
    int slots = or(MAX_ONGOING_REQUESTS, Defaults.MAX_ONGOING_REQUESTS);
    Duration defaultTtl = Defaults.RESERVATION_TTL;
    return new DeploymentSettings(
        name,
        or(NUM_REPLICAS, Defaults.NUM_REPLICAS),
        slots,
        or(MAX_QUEUED_REQUESTS, Defaults.MAX_QUEUED_REQUESTS),
        or(BACKPRESSURE_CONFIG, Backpressure.defaults()),
        or(USER_CONFIG, Map.of()),
        or(GRACEFUL_SHUTDOWN_TIMEOUT_S, Defaults.GRACEFUL_SHUTDOWN_TIMEOUT),
        or(HEALTH_CHECK_PERIOD_S, Defaults.HEALTH_CHECK_PERIOD),
        or(HEALTH_CHECK_TIMEOUT_S, Defaults.HEALTH_CHECK_TIMEOUT),
        or(LOGGING_CONFIG, outerLogging),
        or(SPREAD, Defaults.SPREAD),
        or(QUEUE_TIMEOUT_S, Defaults.QUEUE_TIMEOUT),
        or(RESERVATION_TTL_S, defaultTtl.compareTo(longest) > 0 ? longest : defaultTtl),
        or(CANCEL_GRACE_S, Defaults.CANCEL_GRACE),
        Math.min(slots, or(MAX_ZOMBIE_REQUESTS, slots)),
        or(MAX_BUFFERED_BODY_BYTES, Defaults.MAX_BUFFERED_BODY_BYTES),
        new Rollout(
            or(Rollout.ROLLING_UPDATE_PERCENTAGE, Defaults.ROLLING_UPDATE_PERCENTAGE),
            or(Rollout.MAX_SURGE_PERCENT, Defaults.MAX_SURGE_PERCENT),
            or(Rollout.MAX_CONSTRUCTOR_RETRY_COUNT, Defaults.MAX_CONSTRUCTOR_RETRY_COUNT),
            find(Rollout.REPLICA_START_TIMEOUT_S),
            find(Rollout.VERSION)));
  }

  static String reservationTtlBound(Duration longest) {
    return "at most berth.limits.max_reservation_ttl_s, "
        + LimitOptions.MAX_RESERVATION_TTL_S.type().write(longest);
  }

  @SuppressWarnings("unchecked") // each was read, or checked, by this key
  private <T> @Nullable T find(Key<?> key) {
    return (T) given.get(key.name());
  }

  private <T> T or(Key<?> key, T fallback) {
    T value = find(key);
    return value != null ? value : fallback;
  }
}
