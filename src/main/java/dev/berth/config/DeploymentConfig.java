package dev.berth.config;

import dev.berth.api.Deployment;
import dev.berth.config.batching.BatchingOptions;
import dev.berth.config.batching.JsonBatchOptions;
import dev.berth.config.builtin.McpOptions;
import dev.berth.config.edge.CostOptions;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An entry of {@code deployments}. The entry overrides the values of the code, which override the
 * defaults. The effective settings of a deployment are {@code file.over(code).within(application)}.
 */
public final class DeploymentConfig {

  private static final Keys KEYS = new Keys(ChangeReach.CONTROLLER);
  private static final Keys ROUTER = KEYS.reaching(ChangeReach.ROUTER);
  private static final Keys LIVE = KEYS.reaching(ChangeReach.REPLICA_LIVE);

  public static final ConfigKey<String> NAME =
      KEYS.required("name", Types.NAME)
          .means("Name of the deployment that the entry overrides; unique.");

  // Number of replicas and capacity of each.
  public static final ConfigKey<Integer> NUM_REPLICAS = KEYS.add(AutoscalingOptions.NUM_REPLICAS);
  public static final ConfigKey<Settings> AUTOSCALING_CONFIG =
      KEYS.optional("autoscaling_config", AutoscalingOptions.SECTION)
          .means("Autoscaling of the number of replicas. Overridden as a whole.");
  public static final ConfigKey<Integer> MAX_ONGOING_REQUESTS =
      LIVE.key(
              "max_ongoing_requests",
              Types.integer(1, Deployment.MAX_ONGOING_REQUESTS_LIMIT, "requests"),
              Deployment.DEFAULT_MAX_ONGOING_REQUESTS)
          .fallback(
              deployment -> BatchingOptions.usualSlots(batching(deployment)),
              "5, or berth.batching's max_batch_size x max_concurrent_batches")
          .means(
              "Slots of a replica: maximum of concurrent requests. With berth.batching, at least"
                  + " max_batch_size x max_concurrent_batches.");
  public static final ConfigKey<Integer> MAX_QUEUED_REQUESTS =
      ROUTER
          .key("max_queued_requests", Types.integerOrNone(1, Integer.MAX_VALUE, "requests"), -1)
          .means(
              "Maximum of requests that wait for a slot, per instance. -1: limited only by"
                  + " berth.limits.max_queued_total. A request that finds a free slot does not"
                  + " count.");
  public static final ConfigKey<Settings> BACKPRESSURE_CONFIG =
      ROUTER
          .optional("backpressure_config", Backpressure.SECTION)
          .fallback(settings -> Backpressure.DEFAULTS, "null")
          .means("Response when the queue is full. Overridden as a whole.");
  public static final ConfigKey<Settings> REQUEST_ROUTER_CONFIG =
      KEYS.optional("request_router_config", RouterOptions.SECTION)
          .reaches(ChangeReach.ROUTER)
          .means("Strategy that orders the replicas. Overridden as a whole; changed live.");
  public static final ConfigKey<Map<String, @Nullable Object>> USER_CONFIG =
      LIVE.optional("user_config", Types.FREE_MAP)
          .fallback(settings -> Map.of(), "null")
          .means("Argument of the handler's reconfigure hook. Overridden as a whole.");

  // Lifecycle of a replica.
  public static final ConfigKey<Duration> GRACEFUL_SHUTDOWN_TIMEOUT_S =
      LIVE.key("graceful_shutdown_timeout_s", Types.SECONDS_OR_ZERO, Duration.ofSeconds(20))
          .means("Maximum time for a stopping replica to finish accepted requests.");
  public static final ConfigKey<Duration> HEALTH_CHECK_PERIOD_S =
      LIVE.key("health_check_period_s", Types.SECONDS, Duration.ofSeconds(10))
          .means("Time between two health checks of a replica.");
  public static final ConfigKey<Duration> HEALTH_CHECK_TIMEOUT_S =
      LIVE.key("health_check_timeout_s", Types.SECONDS, Duration.ofSeconds(30))
          .means("Timeout of one health check, after which it has failed.");
  public static final ConfigKey<Settings> LOGGING_CONFIG =
      LIVE.optional("logging_config", LoggingOptions.SECTION)
          .fallback(settings -> settings.around(ApplicationConfig.LOGGING_CONFIG), "null")
          .means("Logging of this deployment; replaces its application's as a whole.");
  public static final ConfigKey<Integer> MAX_REPLICAS_PER_NODE =
      KEYS.add(AutoscalingOptions.MAX_REPLICAS_PER_NODE);

  // Rollout of a new version.
  public static final ConfigKey<Double> ROLLING_UPDATE_PERCENTAGE =
      KEYS.key("rolling_update_percentage", Types.numberAboveZero(1), 0.2)
          .orNull()
          .means(
              "Share of the replicas, at least one, replaced at a time when a change requires new"
                  + " ones.");
  public static final ConfigKey<Double> MAX_SURGE_PERCENT =
      KEYS.key("max_surge_percent", Types.number(0, 100), 20.0)
          .orNull()
          .means(
              "Percentage of the replicas, rounded up, that may run in addition during a"
                  + " replacement, so that none is missing: new ones start first. 0 stops old ones"
                  + " first, as in Ray Serve; then a single replica is missing until its successor"
                  + " runs.");

  // --- keys under berth ---

  private static final Keys OWN = new Keys(ChangeReach.REPLICA_LIVE);
  private static final Keys OWN_ROUTER = OWN.reaching(ChangeReach.ROUTER);

  public static final ConfigKey<HandlerSpread> SPREAD =
      OWN.key("spread", Types.words(HandlerSpread.class), HandlerSpread.SINGLE)
          .reaches(ChangeReach.REPLICA_RECREATE)
          .means(
              "Threads of a replica's handlers: single is one handler object on one event loop;"
                  + " event_loops is one on each loop with shared slots, so that a request is"
                  + " served on the loop that received it.");

  public static final ConfigKey<String> THREADS =
      OWN.key("threads", Types.choice(List.of("platform", "virtual")), "platform")
          .reaches(ChangeReach.REPLICA_RECREATE)
          .means(
              "Threads of blocking handlers: platform is at most max_ongoing_requests operating"
                  + " system threads per replica, created on demand and ended after 30 s idle;"
                  + " virtual is one virtual thread per request (JDK 21 or later; before it,"
                  + " platform threads and a log line). All virtual threads of an instance share"
                  + " one carrier per core: handlers that compute delay each other, also across"
                  + " applications.");

  // Lifecycle of a request: queue, slot, completion.
  public static final ConfigKey<Duration> QUEUE_TIMEOUT_S =
      OWN_ROUTER
          .key("queue_timeout_s", Types.SECONDS, Duration.ofSeconds(60))
          .means("Maximum wait of a request for a slot.");
  public static final ConfigKey<Duration> MAX_OVERTAKE_MS =
      OWN_ROUTER
          .key("max_overtake_ms", Types.millis(0, 60_000), Duration.ofSeconds(1))
          .means(
              "Time during which younger requests may take slots past a request that needs more"
                  + " slots of one replica than are free. Then the slots that become free on one"
                  + " replica are set aside for it.");
  public static final ConfigKey<Duration> REQUEST_TIMEOUT_S =
      OWN_ROUTER
          .optional("request_timeout_s", Types.SECONDS)
          .fallback(settings -> settings.around(ApplicationConfig.REQUEST_TIMEOUT_S), "null")
          .means(
              "Time from the arrival of a request, or from a call through a handle, to the end of"
                  + " the response. The nearest value applies: the client's header or the call's"
                  + " own timeout, this key, the application's, http_options.request_timeout_s. A"
                  + " nested call also ends by the deadline of its request.");
  public static final ConfigKey<Duration> RESERVATION_TTL_S =
      OWN.key("reservation_ttl_s", Types.SECONDS, Duration.ofSeconds(10))
          .fallback(DeploymentConfig::reservationTtl, "10")
          .atMost(() -> LimitOptions.MAX_RESERVATION_TTL_S)
          .means(
              "Time that a selected replica holds a slot for a request that is not dispatched yet."
                  + " At most berth.limits.max_reservation_ttl_s.");
  public static final ConfigKey<Duration> CANCEL_GRACE_S =
      OWN.key("cancel_grace_s", Types.SECONDS_OR_ZERO, Duration.ofSeconds(10))
          .means(
              "Time for a cancelled handler to settle before it counts as a zombie. It holds its"
                  + " slot either way.");
  public static final ConfigKey<Integer> MAX_ZOMBIE_REQUESTS =
      OWN.key(
              "max_zombie_requests",
              Types.integer(1, Deployment.MAX_ONGOING_REQUESTS_LIMIT, "requests"),
              Deployment.DEFAULT_MAX_ONGOING_REQUESTS)
          .fallback(settings -> settings.get(MAX_ONGOING_REQUESTS), "max_ongoing_requests")
          .cappedBy(MAX_ONGOING_REQUESTS)
          .means(
              "Number of zombies that makes a replica unhealthy. Values above max_ongoing_requests"
                  + " are the same as that.");
  public static final ConfigKey<Integer> MAX_BUFFERED_BODY_BYTES =
      OWN.key("max_buffered_body_bytes", Types.integer(0, Integer.MAX_VALUE, "bytes"), 4 << 20)
          .means(
              "Largest request body for a handler that gets its body buffered; a larger one gets"
                  + " 413. At most 2147483647.");

  public static final ConfigKey<Settings> COST =
      OWN_ROUTER
          .optional("cost", CostOptions.SECTION)
          .means(
              "Number of slots that an HTTP request takes, by exactly one of header,"
                  + " body_bytes_per_slot and json_field; one slot by default. Other values get"
                  + " 400. The slots of a reservation hold for its request.");

  public static final ConfigKey<Settings> AUTOSCALING =
      OWN.mapping("autoscaling", AutoscalingOptions.OWN_SECTION)
          .means("Autoscaling keys without a name in Ray Serve; only with autoscaling_config.");

  // Start of replicas; in Ray Serve, only code can set these values.
  public static final ConfigKey<Integer> MAX_CONSTRUCTOR_RETRY_COUNT =
      OWN.key("max_constructor_retry_count", Types.integer(1, 1_000_000, "starts"), 20)
          .means(
              "Failed starts of replicas of one version, at most three per wanted replica, after"
                  + " which the deployment has failed. In Ray Serve only code sets it.");
  public static final ConfigKey<Duration> REPLICA_START_TIMEOUT_S =
      OWN.optional("replica_start_timeout_s", Types.SECONDS)
          .reaches(ChangeReach.CONTROLLER)
          .means(
              "Timeout of a replica's start: its handlers are created, started, reconfigured and"
                  + " checked once. After it, the start has failed and its thread is interrupted."
                  + " Waiting for a thread does not count. No limit by default, as in Ray Serve.");
  public static final ConfigKey<String> VERSION =
      OWN.optional("version", Types.TEXT)
          .reaches(ChangeReach.REPLICA_RECREATE)
          .means(
              "Name of the code, in place of its digest: other code or arguments with the same name"
                  + " start no new replicas; another name does. Set only in code in Ray Serve.");

  // Remote servers in place of handlers.
  public static final ConfigKey<List<Settings>> UPSTREAMS = OWN.add(UpstreamOptions.UPSTREAMS);
  public static final ConfigKey<List<String>> FALLBACK = OWN_ROUTER.add(UpstreamOptions.FALLBACK);
  public static final ConfigKey<Integer> REPLAY_BYTES =
      OWN_ROUTER.add(UpstreamOptions.REPLAY_BYTES);
  public static final ConfigKey<Boolean> IDEMPOTENT = OWN_ROUTER.add(UpstreamOptions.IDEMPOTENT);
  public static final ConfigKey<Duration> FALLBACK_AFTER_MS =
      OWN_ROUTER.add(UpstreamOptions.FALLBACK_AFTER_MS);

  public static final ConfigKey<Settings> BATCH =
      OWN.optional("batch", JsonBatchOptions.SECTION)
          .means(
              "Batches of requests for upstreams, with the rules of batching; only with import_path:"
                  + " berth:proxy. Adding or removing it restarts the replicas.");

  public static final ConfigKey<Settings> BATCHING =
      OWN.optional("batching", BatchingOptions.SECTION)
          .fallback(own -> JsonBatchOptions.usualRules(own.find(BATCH)), "null")
          .means("Batches of requests, for a handler that takes batches, or with batch.");

  public static final ConfigKey<Settings> MCP =
      OWN.optional("mcp", McpOptions.SECTION)
          .fallback(DeploymentConfig::usualMcp, "null")
          .means("Rules of an application berth:mcp, which has them with their defaults too.");

  public static final ConfigKey<Settings> BERTH =
      KEYS.mapping("berth", OWN.section()).means("Keys without a name in Ray Serve.");

  private static final List<ConfigKey<?>> NONE = List.of();
  private static final List<ConfigKey<?>> OF_UPSTREAMS =
      List.of(FALLBACK, REPLAY_BYTES, IDEMPOTENT, FALLBACK_AFTER_MS, BATCH);

  /** Settings of replicas, in whose place each upstream has its own. */
  private static final List<ConfigKey<?>> OF_REPLICAS =
      List.of(
          NUM_REPLICAS,
          AUTOSCALING_CONFIG,
          MAX_ONGOING_REQUESTS,
          MAX_REPLICAS_PER_NODE,
          USER_CONFIG);

  static final Section SECTION =
      KEYS.section().and(UnsupportedRayKeys.DEPLOYMENT).check(DeploymentConfig::check);

  /** Returns the rules of a deployment without any; null unless of {@code berth:mcp}. */
  private static @Nullable Settings usualMcp(Settings deployment) {
    return ImportPath.MCP.equals(deployment.around(ApplicationConfig.IMPORT_PATH))
        ? McpOptions.SECTION.empty()
        : null;
  }

  private static @Nullable Settings batching(Settings deployment) {
    return deployment.find(BATCHING); // declared later than the key with this default
  }

  /** Returns an entry without overrides. */
  public static Settings of(String name) {
    return SECTION.empty().with(NAME, name);
  }

  /** Reads the effective settings of a deployment in the form that instances exchange. */
  public static Settings fromMap(Map<?, ?> json) {
    return SECTION.fromMap(json);
  }

  /**
   * Returns the settings declared in code, to be used as the lower side of {@link Settings#over}.
   */
  public static Settings of(Deployment code) {
    return of(code.name())
        .with(NUM_REPLICAS, code.autoscaling() == null ? code.numReplicas() : null)
        .with(AUTOSCALING_CONFIG, AutoscalingOptions.of(code.autoscaling()))
        .with(MAX_ONGOING_REQUESTS, code.ownMaxOngoingRequests())
        .with(USER_CONFIG, code.userConfig())
        .with(SPREAD, code.spreadOverLoops() ? HandlerSpread.EVENT_LOOPS : HandlerSpread.SINGLE)
        .put(BATCHING, BatchingOptions.of(code.batching()));
  }

  private static void check(Settings values) {
    Integer replicas = values.find(NUM_REPLICAS);
    if (replicas != null
        && values.gives(NUM_REPLICAS)
        && !AutoscalingOptions.isAuto(replicas)
        && values.gives(AUTOSCALING_CONFIG)) {
      values.problem(
          NUM_REPLICAS, replicas + ", with autoscaling_config", "only one of the two, or auto");
    }
    AutoscalingOptions.check(values.find(AUTOSCALING_CONFIG), values.find(AUTOSCALING));
    Settings own = own(values);
    if (own != null) {
      checkUpstreams(values, own);
      checkSlots(values, own);
    }
  }

  /** Refuses slots that are fewer than the same file's batches and costs need. */
  private static void checkSlots(Settings values, Settings own) {
    Settings batching = own.find(BATCHING);
    Integer slots = values.gives(MAX_ONGOING_REQUESTS) ? values.find(MAX_ONGOING_REQUESTS) : null;
    if (slots != null && batching != null && batching.gives(BatchingOptions.MAX_BATCH_SIZE)) {
      BatchingOptions.requireSlots(batching, values, MAX_ONGOING_REQUESTS, slots, 1);
    } // else the code may set the size
    for (Settings each : own.all(UPSTREAMS)) {
      Integer max = each.find(UpstreamOptions.MAX_ONGOING_REQUESTS);
      int parts = Objects.requireNonNullElse(each.find(UpstreamOptions.OWNERS), 1);
      if (max != null) {
        BatchingOptions.requireSlots(
            batching, each, UpstreamOptions.MAX_ONGOING_REQUESTS, max, parts);
        slots = Math.max(slots == null ? 0 : slots, (max + parts - 1) / parts);
      }
    }
    if (slots != null) {
      CostOptions.requireSlots(own.find(COST), slots);
    }
  }

  /** Returns the keys under {@code berth}; null unless the file has some. */
  static @Nullable Settings own(Settings deployment) {
    return deployment.gives(BERTH) ? deployment.find(BERTH) : null;
  }

  /** Refuses settings of replicas beside upstreams, which have their own. */
  private static void checkUpstreams(Settings values, Settings own) {
    int upstreams = own.all(UPSTREAMS).size();
    for (ConfigKey<?> key : upstreams == 0 ? OF_UPSTREAMS : NONE) {
      if (own.gives(key)) {
        own.problem(key, "without upstreams", "upstreams too, or leave it out");
      }
    }
    for (ConfigKey<?> key : upstreams == 0 ? NONE : OF_REPLICAS) {
      if (values.gives(key)) {
        values.problem(key, "with berth.upstreams", "leave it out: an upstream is one replica");
      }
    }
    if (upstreams > 0 && own.gives(FALLBACK_AFTER_MS) && List.of().equals(own.find(FALLBACK))) {
      own.problem(FALLBACK_AFTER_MS, "without fallback", "a fallback too, or leave it out");
    }
    if (upstreams > UpstreamOptions.MAX_UPSTREAMS) {
      own.problem(UPSTREAMS, upstreams + " entries", "at most " + UpstreamOptions.MAX_UPSTREAMS);
    }
    if (upstreams > 0 && own.gives(BATCHING) && !own.gives(BATCH)) {
      own.problem(BATCHING, "with upstreams", "batch too, or leave it out");
    }
    if (upstreams > 0 && own.find(SPREAD) == HandlerSpread.EVENT_LOOPS) {
      own.problem(SPREAD, "event_loops, with upstreams", "single");
    }
  }

  /** Returns whether the file or the code requests autoscaling. */
  public static boolean autoscales(Settings settings) {
    return settings.gives(AUTOSCALING_CONFIG)
        || AutoscalingOptions.isAuto(settings.find(NUM_REPLICAS));
  }

  /** Returns the default, capped at the limit of the instance. */
  private static Duration reservationTtl(Settings settings) {
    Duration longest = settings.around(LimitOptions.MAX_RESERVATION_TTL_S);
    Duration usual = Duration.ofSeconds(10);
    return longest == null || usual.compareTo(longest) < 0 ? usual : longest;
  }

  /**
   * Returns the effective settings that Ray Serve knows, as JSON values, and {@code batching}.
   * Source: Ray Serve's DeploymentSchema, which its command line uses to parse the response. The
   * schema rejects unknown keys and a number of replicas of 0.
   */
  public static Map<String, @Nullable Object> ofRay(Settings settings) {
    Map<String, @Nullable Object> values = new LinkedHashMap<>(settings.json());
    values.remove(BERTH.name());
    Settings batching = settings.find(BATCHING);
    if (batching != null) {
      values.put(BATCHING.name(), batching.json());
    }
    return values;
  }

  /**
   * Returns the overrides of the file over the values of the code. A fixed number in the file
   * replaces autoscaling of the code.
   */
  static Settings over(Settings file, Settings code) {
    Settings both = file.over(code);
    Settings mine = own(file) == null ? null : file.find(BATCHING);
    Settings theirs = code.find(BATCHING);
    if (mine != null && theirs != null) {
      both = both.put(BATCHING, mine.within(null).over(theirs.within(null)));
    }
    return file.gives(NUM_REPLICAS) && !autoscales(file)
        ? both.put(AUTOSCALING_CONFIG, null)
        : both; // and autoscaling replaces a fixed number of the code
  }

  /**
   * Returns a copy with the initial number of replicas if the deployment autoscales. With upstreams
   * it has one replica for each, the largest of their numbers of slots, and a {@code user_config}
   * with the properties of the application that their requests need.
   */
  static Settings withInitialReplicas(Settings said) {
    if (UpstreamOptions.isGiven(said)) {
      List<Settings> all = said.all(UPSTREAMS);
      int most =
          all.stream()
              .mapToInt(each -> each.get(UpstreamOptions.MAX_ONGOING_REQUESTS))
              .max()
              .orElse(1);
      return withReplicas(said, UpstreamOptions.byKey(said).size())
          .put(MAX_ONGOING_REQUESTS, most)
          .put(USER_CONFIG, ofApplication(said));
    }
    if (!autoscales(said)) {
      return said;
    }
    Settings given = said.find(AUTOSCALING_CONFIG);
    Settings config = given == null ? AutoscalingOptions.SECTION.empty().within(said) : given;
    Integer first = config.find(AutoscalingOptions.INITIAL_REPLICAS);
    // depends on num_replicas: auto, which is replaced below
    Integer most = config.get(AutoscalingOptions.MAX_REPLICAS);
    return said.put(
            AUTOSCALING_CONFIG, config.put(AutoscalingOptions.MAX_REPLICAS, most).within(null))
        .put(NUM_REPLICAS, first == null ? config.get(AutoscalingOptions.MIN_REPLICAS) : first);
  }

  private static Map<String, @Nullable Object> ofApplication(Settings deployment) {
    Map<String, @Nullable Object> all = new LinkedHashMap<>();
    String prefix = deployment.around(ApplicationConfig.ROUTE_PREFIX);
    if (prefix != null) {
      all.put(UpstreamOptions.ROUTE_PREFIX, prefix);
    }
    if (ImportPath.OPENAI.equals(deployment.around(ApplicationConfig.IMPORT_PATH))) {
      all.put(UpstreamOptions.IS_OPENAI, true);
    }
    return Collections.unmodifiableMap(all);
  }

  /**
   * Requires that the only node may run all replicas.
   *
   * @param begun settings with the initial number of replicas
   * @throws IllegalArgumentException when the number exceeds {@code max_replicas_per_node}
   */
  static void requireRoom(Settings begun) {
    Integer most = AutoscalingOptions.mostAlone(begun);
    Settings config = begun.find(AUTOSCALING_CONFIG);
    ConfigKey<Integer> key = config == null ? NUM_REPLICAS : AutoscalingOptions.MAX_REPLICAS;
    int wanted = (config == null ? begun : config).get(key);
    if (most != null && wanted > most) {
      throw key.refusal(
          String.valueOf(wanted), "at most max_replicas_per_node, " + most + ", on one node");
    }
  }

  /**
   * Returns a copy with a percentage of the replicas and of their bounds. Implements Ray Serve's
   * {@code target_capacity}. The result is rounded half up and at least 1, unless the percentage or
   * the number is 0.
   *
   * @param percent from 0 to 100; null for all replicas
   * @param rises whether the capacity was lower before; then the minimum is {@code
   *     initial_replicas}
   */
  public static Settings atCapacity(Settings settings, @Nullable Double percent, boolean rises) {
    if (percent == null || UpstreamOptions.isGiven(settings)) {
      return settings;
    }
    ServeConfig.TARGET_CAPACITY.require(percent);
    Settings config = settings.find(AUTOSCALING_CONFIG);
    Settings scaled =
        config == null
            ? settings
            : settings.put(
                AUTOSCALING_CONFIG, AutoscalingOptions.atCapacity(config, percent, rises));
    return withReplicas(scaled, AutoscalingOptions.share(settings.get(NUM_REPLICAS), percent));
  }

  /**
   * Returns a copy with another number of replicas.
   *
   * @param replicas 0 or more; the file requires at least 1
   */
  public static Settings withReplicas(Settings settings, int replicas) {
    return settings.put(NUM_REPLICAS, replicas);
  }

  private DeploymentConfig() {}
}
