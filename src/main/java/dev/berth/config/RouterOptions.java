package dev.berth.config;

import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * {@code request_router_config}: the ranking of a deployment's replicas.
 *
 * <p>Source: Ray Serve's RequestRouterConfig, and the arguments of its routers.
 */
public final class RouterOptions {

  /** Arguments of the rankers. */
  private static final class RankerArguments {
    /**
     * Argument that names the ranker. Needed because Ray's command line imports the class that
     * {@code request_router_class} names.
     */
    static final String NAMED = "berth.router";

    static final Section NONE = Section.of(ConfigKey.optional(NAMED, Types.ANY));
    static final Section TIERS =
        NONE.and(
            Section.of(
                ConfigKey.optional("prefer_local_loop", Types.BOOL),
                ConfigKey.optional("prefer_local_node", Types.BOOL),
                ConfigKey.optional("prefer_local_zone", Types.BOOL)));
    static final Type<Integer> VIRTUAL_NODES = Types.integer(1, 1_000, "");
    static final Type<Integer> FALLBACKS = Types.integer(0, 7, "");
  }

  /** The built-in rankers; a file uses their names in lower case. */
  public enum RankerKind {
    POWER_OF_TWO("PowerOfTwoChoicesRequestRouter", RankerArguments.TIERS),
    LEAST_REQUESTS(
        "CapacityQueueRouter",
        RankerArguments.TIERS,
        ConfigKey.optional("choices", Types.integer(2, 1_024, "")),
        ConfigKey.optional("max_fault_retries", Types.integer(0, 1_000_000, "")),
        ConfigKey.optional("capacity_queue_actor_name", Types.ANY)),
    ROUND_ROBIN("RoundRobinRouter", RankerArguments.NONE),
    CONSISTENT_HASH(
        "ConsistentHashRouter",
        RankerArguments.NONE,
        ConfigKey.optional("virtual_nodes", RankerArguments.VIRTUAL_NODES),
        ConfigKey.optional(
            "num_virtual_nodes", RankerArguments.VIRTUAL_NODES), // Ray Serve's older name
        ConfigKey.optional("fallback_replicas", RankerArguments.FALLBACKS),
        ConfigKey.optional(
            "num_fallback_replicas", RankerArguments.FALLBACKS), // Ray Serve's older name
        ConfigKey.optional("load_factor", Types.number(1, 100)),
        ConfigKey.optional("affinity_rate_window_size", Types.integer(1, 1_000_000, ""))),
    LEAST_LATENCY(
        "",
        RankerArguments.TIERS,
        ConfigKey.optional("decay_s", Types.number(0.001, 3_600)),
        ConfigKey.optional("default_rtt_s", Types.number(0.000_001, 60)));

    private final String ofRay;
    private final Section arguments;

    RankerKind(String ofRay, Section some, ConfigKey<?>... more) {
      this.ofRay = ofRay;
      this.arguments = some.and(Section.of(more));
    }

    /** Returns the name that a file uses. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * The configured ranker.
   *
   * @param className a class of the user's, which then receives the arguments; null for {@code
   *     ranker}
   */
  public record RankerChoice(
      RankerKind ranker, @Nullable String className, Map<String, @Nullable Object> arguments) {
    /** Default of a deployment without settings. */
    public static final RankerChoice USUAL =
        new RankerChoice(RankerKind.POWER_OF_TWO, null, Map.of());

    public double number(String argument, double fallback) {
      Object given = arguments.getOrDefault(argument, arguments.get("num_" + argument));
      return given instanceof Number number ? number.doubleValue() : fallback;
    }

    /** Returns whether an argument is not set to false. */
    public boolean isOn(String argument) {
      return !Boolean.FALSE.equals(arguments.get(argument));
    }
  }

  private static final Pattern RAYS = Pattern.compile("ray\\.serve\\.[\\w.]+[.:](\\w+)");

  private static final String EXPECTED =
      "power_of_two, least_requests, round_robin, consistent_hash, least_latency, the path of Ray"
          + " Serve's router of that kind, or a Java class, such as com.acme.Nearest";

  /** Pattern for a schema, equivalent to {@link #chosen}. */
  private static final String PATTERN =
      "^("
          + Stream.of(RankerKind.values())
              .map(RankerKind::toString)
              .collect(Collectors.joining("|"))
          + "|ray\\.serve\\.[\\w.]+[.:]("
          + Stream.of(RankerKind.values())
              .map(each -> each.ofRay)
              .filter(each -> !each.isEmpty())
              .collect(Collectors.joining("|"))
          + "))$|^(?!ray\\.)(?=.*[.:])"
          + ImportPath.PATTERN.substring(1);

  private static final Keys KEYS = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<String> REQUEST_ROUTER_CLASS =
      KEYS.key(
              "request_router_class",
              Types.parsed(
                  EXPECTED,
                  text -> chosen(text, Map.of()) == null ? null : text,
                  Schema.text(PATTERN)),
              "power_of_two")
          .orNull()
          .means(
              "Order of the replicas for a request: power_of_two, least_requests, round_robin,"
                  + " consistent_hash, least_latency, or a class of the application's code that"
                  + " implements ReplicaRanker. Ray Serve's paths of its routers also work.");
  public static final ConfigKey<Map<String, @Nullable Object>> REQUEST_ROUTER_KWARGS =
      KEYS.key("request_router_kwargs", Types.FREE_MAP, Map.of())
          .orNull()
          .means(
              "Arguments of the ranker, passed to the constructor of a custom class. berth.router"
                  + " among them names the class in place of the key above, for Ray's command"
                  + " line.");

  private static final String EXACT = "slots are counted, and freed ones handed on without polling";
  private static final String NO_STATISTICS = "handlers report no statistics for routing";

  static final Section SECTION =
      KEYS.section()
          .and(
              Section.of(
                  ConfigKey.noEffect(
                      "request_routing_stats_period_s", Types.SECONDS, NO_STATISTICS),
                  ConfigKey.noEffect(
                      "request_routing_stats_timeout_s", Types.SECONDS, NO_STATISTICS),
                  ConfigKey.noEffect("initial_backoff_s", Types.SECONDS_OR_ZERO, EXACT),
                  ConfigKey.noEffect("backoff_multiplier", Types.NUMBER_FROM_ZERO, EXACT),
                  ConfigKey.noEffect("max_backoff_s", Types.SECONDS_OR_ZERO, EXACT)))
          .check(RouterOptions::check);

  private RouterOptions() {}

  /** Returns the ranker of a deployment; {@code config} is null without settings. */
  public static RankerChoice choice(@Nullable Settings config) {
    if (config == null) {
      return RankerChoice.USUAL;
    }
    Map<String, @Nullable Object> said = config.get(REQUEST_ROUTER_KWARGS);
    Map<String, @Nullable Object> arguments = new LinkedHashMap<>(said);
    Object named = arguments.remove(RankerArguments.NAMED);
    RankerChoice choice =
        chosen(named == null ? config.get(REQUEST_ROUTER_CLASS) : named.toString(), arguments);
    return choice == null ? RankerChoice.USUAL : choice; // checked while reading
  }

  /** Returns the ranker that a text names; null for an unknown name. */
  private static @Nullable RankerChoice chosen(
      String text, Map<String, @Nullable Object> arguments) {
    Matcher rays = RAYS.matcher(text);
    boolean ofRay = rays.matches();
    for (RankerKind each : RankerKind.values()) {
      if (ofRay ? each.ofRay.equals(rays.group(1)) : each.toString().equals(text)) {
        return new RankerChoice(each, null, arguments);
      }
    }
    boolean isClass = !text.startsWith("ray.") && text.matches(".*[.:].*");
    return isClass && ImportPath.parse(text) != null
        ? new RankerChoice(RankerKind.POWER_OF_TWO, text.replace(':', '.'), arguments)
        : null;
  }

  private static void check(Settings values) {
    Map<String, @Nullable Object> arguments = values.find(REQUEST_ROUTER_KWARGS);
    if (arguments == null || arguments.isEmpty()) {
      return; // invalid, or none
    }
    Object named = arguments.get(RankerArguments.NAMED);
    Object text = named == null ? values.find(REQUEST_ROUTER_CLASS) : named;
    RankerChoice choice = chosen(String.valueOf(text), Map.of());
    if (choice == null && named != null) {
      values.problem(REQUEST_ROUTER_KWARGS, RankerArguments.NAMED + ": " + named, EXPECTED);
    } else if (choice != null && choice.className == null) {
      values.marks().check(REQUEST_ROUTER_KWARGS, choice.ranker.arguments);
    }
  }
}
