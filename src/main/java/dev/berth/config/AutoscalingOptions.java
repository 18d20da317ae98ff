package dev.berth.config;

import dev.berth.api.Deployment;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The autoscaling settings: {@code autoscaling_config} of a deployment; {@code berth.autoscaling}
 * of a deployment, the keys unknown to Ray Serve; and {@code berth.autoscaling} of the instance.
 *
 * <p>Source: Ray Serve's AutoscalingConfig, with its defaults.
 */
public final class AutoscalingOptions {

  /** Maximum factor and target; larger values have no meaning. */
  private static final int MAX_FACTOR_OR_TARGET = 1_000_000;

  /** Maximum number of replicas of a deployment; a larger number counts as a typing error. */
  public static final int REPLICAS_LIMIT = 10_000;

  /** The aggregation of the samples in the look-back window. */
  public enum AggregationFunction {
    MEAN,
    MAX,
    MIN
  }

  // --- of a deployment, beside autoscaling_config ---

  static final ConfigKey<Integer> NUM_REPLICAS =
      ConfigKey.of("num_replicas", Types.integerOr("auto", 1, REPLICAS_LIMIT, "replicas"), 1)
          .orNull()
          .means(
              "Number of replicas; auto, or an autoscaling_config in its place, lets the number"
                  + " follow the load.");
  static final ConfigKey<Integer> MAX_REPLICAS_PER_NODE =
      ConfigKey.optional("max_replicas_per_node", Types.integer(1, 100, "replicas"))
          .means(
              "Maximum number of replicas on one node; null: no limit. A lower value applies to new"
                  + " starts only. Without berth.cluster the instance is the only node, and a"
                  + " higher number is refused when the application is loaded.");

  // --- policy of a deployment or an application ---

  /** Paths of Ray Serve's default policies, which select the default policy here too. */
  private static final Pattern RAYS_OWN =
      Pattern.compile("ray\\.serve\\.autoscaling_policy[:.]\\w+_autoscaling_policy");

  private static final Type<String> POLICY_CLASS =
      Types.parsed(
          "a Java class, such as com.acme.Pace",
          text -> ImportPath.parse(text) == null ? null : text,
          Schema.text(ImportPath.PATTERN));

  private static final Keys OF_POLICY = new Keys(ChangeReach.CONTROLLER);

  public static final ConfigKey<String> POLICY_FUNCTION =
      OF_POLICY
          .optional("policy_function", POLICY_CLASS)
          .fallback(settings -> settings.around(AutoscalingOptions.POLICY_NAME), "null")
          .means(
              "Class of the application's code that implements AutoscalingPolicy. null and the name"
                  + " of Ray Serve's default select the policy of the other keys.");
  private static final ConfigKey<String> POLICY_NAME =
      OF_POLICY
          .optional("name", POLICY_CLASS)
          .deprecated("policy_function")
          .means("Deprecated: old name of policy_function.");
  public static final ConfigKey<Map<String, @Nullable Object>> POLICY_KWARGS =
      OF_POLICY
          .key("policy_kwargs", Types.FREE_MAP, Map.of())
          .means("Arguments of the policy's constructor.");

  static final Section POLICY_SECTION = OF_POLICY.section();

  // --- autoscaling_config ---

  private static final Keys KEYS = new Keys(ChangeReach.CONTROLLER);

  public static final ConfigKey<Integer> MIN_REPLICAS =
      KEYS.key("min_replicas", Types.integer(0, REPLICAS_LIMIT, "replicas"), 1)
          .atMost(() -> AutoscalingOptions.MAX_REPLICAS)
          .means("Minimum number of replicas. 0 allows none while there are no requests.");
  public static final ConfigKey<Integer> INITIAL_REPLICAS =
      KEYS.optional("initial_replicas", Types.integer(0, REPLICAS_LIMIT, "replicas"))
          .atLeast(() -> MIN_REPLICAS)
          .atMost(() -> AutoscalingOptions.MAX_REPLICAS)
          .means("Number of replicas of a new deployment; null: min_replicas.");
  public static final ConfigKey<Integer> MAX_REPLICAS =
      KEYS.key("max_replicas", Types.integer(1, REPLICAS_LIMIT, "replicas"))
          .fallback(AutoscalingOptions::mostReplicas, "1, or 100 with num_replicas: auto")
          .means("Maximum number of replicas.");
  public static final ConfigKey<Double> TARGET_ONGOING_REQUESTS =
      KEYS.key("target_ongoing_requests", Types.numberAboveZero(MAX_FACTOR_OR_TARGET), 2.0)
          .orNull()
          .means("Target number of requests per replica, waiting or running.");
  private static final ConfigKey<Duration> METRICS_INTERVAL_S =
      KEYS.key("metrics_interval_s", Types.SECONDS, Duration.ofSeconds(10))
          .deprecated("berth.metrics.push_interval_ms")
          .means("Deprecated and without effect: an instance reports for all its deployments.");
  public static final ConfigKey<Duration> LOOK_BACK_PERIOD_S =
      KEYS.key("look_back_period_s", Types.SECONDS, Duration.ofSeconds(30))
          .reaches(ChangeReach.REPLICA_LIVE)
          .means("Period before now whose load counts.");
  public static final ConfigKey<AggregationFunction> AGGREGATION_FUNCTION =
      KEYS.key(
              "aggregation_function",
              Types.words(AggregationFunction.class),
              AggregationFunction.MEAN)
          .means("Aggregation of the load in that period; mean is weighted by time.");
  public static final ConfigKey<Double> SMOOTHING_FACTOR =
      KEYS.key("smoothing_factor", Types.numberAboveZero(MAX_FACTOR_OR_TARGET), 1.0)
          .deprecated("upscaling_factor and downscaling_factor")
          .means("Deprecated: default of the two factors.");
  public static final ConfigKey<Double> UPSCALE_SMOOTHING_FACTOR =
      KEYS.optional("upscale_smoothing_factor", Types.numberAboveZero(MAX_FACTOR_OR_TARGET))
          .fallback(settings -> settings.around(SMOOTHING_FACTOR), "smoothing_factor")
          .deprecated("upscaling_factor")
          .means("Deprecated: old name of upscaling_factor.");
  public static final ConfigKey<Double> DOWNSCALE_SMOOTHING_FACTOR =
      KEYS.optional("downscale_smoothing_factor", Types.numberAboveZero(MAX_FACTOR_OR_TARGET))
          .fallback(settings -> settings.around(SMOOTHING_FACTOR), "smoothing_factor")
          .deprecated("downscaling_factor")
          .means("Deprecated: old name of downscaling_factor.");
  public static final ConfigKey<Double> UPSCALING_FACTOR =
      KEYS.optional("upscaling_factor", Types.numberAboveZero(MAX_FACTOR_OR_TARGET))
          .fallback(settings -> settings.around(UPSCALE_SMOOTHING_FACTOR), "1")
          .means("Share of the missing replicas that one decision adds.");
  public static final ConfigKey<Double> DOWNSCALING_FACTOR =
      KEYS.optional("downscaling_factor", Types.numberAboveZero(MAX_FACTOR_OR_TARGET))
          .fallback(settings -> settings.around(DOWNSCALE_SMOOTHING_FACTOR), "1")
          .means("Share of the surplus replicas that one decision removes.");
  public static final ConfigKey<Duration> UPSCALE_DELAY_S =
      KEYS.key("upscale_delay_s", Types.SECONDS_OR_ZERO, Duration.ofSeconds(30))
          .means("Time that more replicas must be wanted before they start.");
  public static final ConfigKey<Duration> DOWNSCALE_DELAY_S =
      KEYS.key("downscale_delay_s", Types.SECONDS_OR_ZERO, Duration.ofMinutes(10))
          .means("Time that fewer replicas must be wanted before the others stop.");
  public static final ConfigKey<Duration> DOWNSCALE_TO_ZERO_DELAY_S =
      KEYS.optional("downscale_to_zero_delay_s", Types.SECONDS_OR_ZERO)
          .fallback(settings -> settings.around(DOWNSCALE_DELAY_S), "downscale_delay_s")
          .means("The same for the last replica.");
  public static final ConfigKey<Settings> POLICY =
      KEYS.optional("policy", POLICY_SECTION)
          .means("Policy in place of the ratio of requests to the target.");

  static final Section SECTION =
      KEYS.section()
          .misplaced("target_num_ongoing_requests_per_replica", "target_ongoing_requests")
          .check(AutoscalingOptions::check);

  // --- berth.autoscaling ---

  private static final Keys OWN = new Keys(ChangeReach.CONTROLLER);

  public static final ConfigKey<Boolean> COUNT_RESERVED =
      OWN.key("count_reserved", Types.BOOL, true)
          .means(
              "Whether a slot reserved for a later request counts as load, like a running one."
                  + " false as in Ray Serve.");
  public static final ConfigKey<Boolean> COUNT_STARTING =
      OWN.key("count_starting", Types.BOOL, true)
          .means(
              "Whether starting replicas count as running, so that the load waiting for them does"
                  + " not request even more. false as in Ray Serve.");
  public static final ConfigKey<Duration> STABILIZATION_WINDOW_S =
      OWN.key("stabilization_window_s", Types.SECONDS_OR_ZERO, Duration.ZERO)
          .means(
              "Period before now whose extreme decides: the highest wanted number before replicas"
                  + " stop, the lowest before they start. 0 uses only the last sample, as in Ray"
                  + " Serve.");
  public static final ConfigKey<Duration> PANIC_WINDOW_S =
      OWN.optional("panic_window_s", Types.SECONDS)
          .means(
              "Shorter look-back period: load in it above panic_threshold is followed at once, and"
                  + " nothing stops meanwhile, as in Knative with 6. null: none.");
  public static final ConfigKey<Double> PANIC_THRESHOLD =
      OWN.key("panic_threshold", Types.number(1, 1000), 2.0)
          .means("Ratio of wanted to running replicas in panic_window_s that starts a panic.");

  static final Section OWN_SECTION = OWN.section();

  // --- berth.autoscaling of the instance ---

  private static final Keys OF_INSTANCE = new Keys();

  public static final ConfigKey<Path> RECORD =
      OF_INSTANCE
          .optional("record", Types.PATH)
          .means(
              "File that reports and decisions are appended to, for berth autoscaling replay."
                  + " Relative to the folder of the file. null: no record.");
  public static final ConfigKey<Long> RECORD_BYTES =
      OF_INSTANCE
          .key("record_bytes", Types.bytes(16 << 20, 1L << 40), 64L << 20)
          .means(
              "Size at which a new record begins; the full file is renamed to end in .1 and"
                  + " replaces an earlier one.");

  static final Section INSTANCE_SECTION = OF_INSTANCE.section();

  private AutoscalingOptions() {}

  static boolean isAuto(@Nullable Integer replicas) {
    return replicas != null && replicas == -1;
  }

  /**
   * Returns the maximum number of replicas when the instance is the only node; null for no limit.
   */
  static @Nullable Integer mostAlone(Settings deployment) {
    boolean alone = deployment.around(InstanceOptions.CLUSTER) == null;
    return alone ? deployment.around(MAX_REPLICAS_PER_NODE) : null;
  }

  /**
   * Returns a percentage of a number of replicas, at least 1 unless either is 0. Source: Ray
   * Serve's get_capacity_adjusted_num_replicas.
   */
  static int share(int replicas, double percent) {
    int share =
        BigDecimal.valueOf(replicas)
            .multiply(BigDecimal.valueOf(percent))
            .movePointLeft(2)
            .setScale(0, RoundingMode.HALF_UP)
            .intValue();
    return percent == 0 || replicas == 0 ? 0 : Math.max(1, share);
  }

  private static Integer mostReplicas(Settings settings) {
    Integer alone = mostAlone(settings);
    boolean auto = isAuto(settings.around(NUM_REPLICAS));
    return !auto ? 1 : alone == null ? 100 : Math.min(100, alone);
  }

  /**
   * Warns of a look-back period no longer than the metrics interval, which would hold a single
   * sample. Source: Ray Serve.
   */
  private static void check(Settings values) {
    Duration interval = values.find(METRICS_INTERVAL_S); // null if invalid
    Duration back = values.find(LOOK_BACK_PERIOD_S);
    boolean given = interval != null && back != null && values.gives(METRICS_INTERVAL_S);
    if (given && back.compareTo(interval) <= 0) {
      String told = Types.SECONDS.write(back) + ", no longer than metrics_interval_s";
      values.marks().warn(LOOK_BACK_PERIOD_S, told, "more than " + Types.SECONDS.write(interval));
    }
  }

  /**
   * Requires a panic window no longer than the look-back period, as Knative does: a longer window
   * would react later, not earlier.
   */
  static void check(@Nullable Settings config, @Nullable Settings own) {
    if (own == null) {
      return; // invalid, already reported
    }
    Duration panic = own.find(PANIC_WINDOW_S);
    Duration back = (config == null ? SECTION.empty() : config).find(LOOK_BACK_PERIOD_S);
    if (panic != null && back != null && panic.compareTo(back) > 0) {
      String most = "at most autoscaling_config.look_back_period_s, " + Types.SECONDS.write(back);
      own.problem(PANIC_WINDOW_S, Types.SECONDS.write(panic), most);
    }
  }

  /** Returns the settings declared in code; null when code declares none. */
  static @Nullable Settings of(Deployment.@Nullable Autoscaling code) {
    return code == null
        ? null
        : SECTION
            .empty()
            .with(MAX_REPLICAS, code.maxReplicas())
            .with(MIN_REPLICAS, code.minReplicas())
            .with(TARGET_ONGOING_REQUESTS, code.targetOngoingRequests());
  }

  /** Returns the configuration scaled to a capacity; see {@link DeploymentConfig#atCapacity}. */
  static Settings atCapacity(Settings config, double percent, boolean rises) {
    Integer first = config.find(INITIAL_REPLICAS);
    Integer least = rises && first != null ? first : config.get(MIN_REPLICAS);
    return config
        .put(MIN_REPLICAS, share(least, percent))
        .put(INITIAL_REPLICAS, first == null ? null : share(first, percent))
        .put(MAX_REPLICAS, share(config.get(MAX_REPLICAS), percent))
        .within(null);
  }

  /**
   * Returns the class of the policy; null for the default policy, the ratio of requests to the
   * target.
   *
   * @param policy of a deployment or of an application; null when there is none
   */
  public static @Nullable String policyClass(@Nullable Settings policy) {
    String name = policy == null ? null : policy.find(POLICY_FUNCTION);
    return name == null || RAYS_OWN.matcher(name).matches() ? null : name.replace(':', '.');
  }
}
