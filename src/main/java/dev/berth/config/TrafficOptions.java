package dev.berth.config;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import dev.berth.api.DeploymentId;
import dev.berth.config.edge.EdgeOptions;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The traffic rules of a route: {@code traffic}, {@code match}, {@code shadow} and {@code
 * shard_key}. They stand in {@code berth} of an application for its own route. In each of the
 * instance's {@code berth.endpoints} they apply to a route over several applications.
 *
 * <p>Source: the traffic policies of Ray Serve's first router (seed 002); Envoy's weighted clusters
 * and request mirroring.
 */
public final class TrafficOptions {
  /** Maximum number of deployments of one route, including shadows. */
  public static final int MAX_SIDES = 16;

  /** Maximum number of matches of one route. */
  public static final int MAX_MATCHES = 64;

  private static final String TOKEN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
  private static final Type<String> NAME =
      text(
          "the name of a header, of a cookie or of a method",
          given -> given.matches(TOKEN),
          Schema.text(TOKEN));
  private static final Type<String> EXPRESSION =
      text(
          "a regular expression of RE2, without back references or look-around",
          TrafficOptions::isExpression,
          Types.TEXT.schema());

  private static Type<String> text(
      String expected, Predicate<String> fine, Map<String, Object> schema) {
    return new Type.RestrictedType<>(Types.TEXT, fine, expected, "which is none", schema);
  }

  private static boolean isExpression(String text) {
    try {
      return Pattern.compile(text) != null;
    } catch (PatternSyntaxException wrong) {
      return false;
    }
  }

  // --- target of a rule ---

  private static final Keys TO = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<String> APPLICATION =
      TO.optional("application", Types.NAME)
          .means("Owner of the deployment; the application itself unless in berth.endpoints.");
  public static final ConfigKey<String> DEPLOYMENT =
      TO.required("deployment", Types.NAME).means("Name of a deployment of the application.");

  // --- traffic ---

  private static final Keys SIDE = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<Double> WEIGHT =
      SIDE.required("weight", Types.number(0, 1_000_000))
          .means("Weight relative to the other deployments; 0: no requests.");

  private static final Section SIDE_SECTION = SIDE.section().and(TO.section());

  // --- part of a request ---

  private static final Keys PART = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<String> HEADER =
      PART.optional("header", NAME).means("Name of the header to match.");
  public static final ConfigKey<String> COOKIE =
      PART.optional("cookie", NAME).means("Name of the cookie to match.");
  public static final ConfigKey<String> QUERY =
      PART.optional("query", Types.TEXT).means("Name of the query parameter to match.");

  // --- match ---

  private static final Keys MATCH_ON = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<String> METHOD =
      MATCH_ON.optional("method", NAME).means("HTTP method to match.");
  public static final ConfigKey<String> EXACT =
      MATCH_ON.optional("exact", Types.TEXT).means("Exact value to match.");
  public static final ConfigKey<String> PREFIX =
      MATCH_ON.optional("prefix", Types.TEXT).means("Prefix of the value to match.");
  public static final ConfigKey<String> REGEX =
      MATCH_ON
          .optional("regex", EXPRESSION)
          .means("Regular expression for the whole value, matched in linear time.");

  // --- shadow ---

  private static final Keys COPY = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<Double> FRACTION =
      COPY.key("fraction", Types.number(0, 1), 1.0).means("Share of requests to copy.");
  public static final ConfigKey<Boolean> COMPARE =
      COPY.key("compare", Types.BOOL, false)
          .means("Whether its responses are compared with those of clients, and counted.");
  public static final ConfigKey<Integer> MAX_BODY_BYTES =
      COPY.key("max_copied_bytes", Types.integer(0, 64 << 20, "bytes"), 64 << 10)
          .means("Largest copied body; requests with a larger or streamed body are not copied.");

  // --- shard_key ---

  private static final Keys KEY = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<Integer> KEY_PATH =
      KEY.optional("path", Types.integer(1, 64, "")).means("Path segment, counted from 1.");

  private static final Section SHARD_KEY_SECTION =
      PART.section()
          .and(KEY.section())
          .check(values -> requireOne(values, HEADER, COOKIE, QUERY, KEY_PATH));

  // --- a route ---

  private static final Keys KEYS = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<List<Settings>> TRAFFIC =
      KEYS.key("traffic", Types.list(SIDE_SECTION), List.of())
          .means(
              "Deployments that serve the requests, by weight. By default, the ingress deployment"
                  + " of an application; an endpoint parks its requests.");
  public static final ConfigKey<List<Settings>> MATCH =
      KEYS.key(
              "match",
              Types.list(
                  PART.section()
                      .and(MATCH_ON.section())
                      .and(TO.section())
                      .check(TrafficOptions::checkMatch)),
              List.of())
          .means(
              "Rules that send requests to a deployment regardless of weights; the first match"
                  + " applies. Without exact, prefix and regex, the value must only be present.");
  public static final ConfigKey<List<Settings>> SHADOW =
      KEYS.key("shadow", Types.list(COPY.section().and(TO.section())), List.of())
          .means("Deployments that get copies of requests; their responses are discarded.");
  public static final ConfigKey<Settings> SHARD_KEY =
      KEYS.optional("shard_key", SHARD_KEY_SECTION)
          .fallback(none -> SHARD_KEY_SECTION.empty(), "{header: X-Serve-Shard-Key}")
          .means(
              "Source of a request's key: the same key leads to the same deployment of the split,"
                  + " and with consistent hashing to the same replica.");

  static final Section SECTION = KEYS.section();

  /** Rules of a route. */
  static final List<ConfigKey<?>> OF_ROUTE = List.of(TRAFFIC, MATCH, SHADOW, SHARD_KEY);

  private static final List<ConfigKey<List<Settings>>> NAMING = List.of(TRAFFIC, MATCH, SHADOW);

  // --- berth.endpoints ---

  private static final Keys ENDPOINT = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<String> ROUTE_PREFIX =
      ENDPOINT
          .required("route_prefix", Types.ROUTE_PREFIX)
          .means("Path prefix of the endpoint; unique, also among applications.");

  public static final ConfigKey<Duration> QUEUE_TIMEOUT_S =
      ENDPOINT
          .key("queue_timeout_s", Types.SECONDS, Duration.ofSeconds(60))
          .means("Maximum wait of a request while no deployment of its traffic exists.");

  static final Section ENDPOINT_SECTION =
      ENDPOINT
          .section()
          .and(SECTION)
          .and(EdgeOptions.SECTION)
          .check(values -> check(values, false));

  private TrafficOptions() {}

  /** Returns an application's settings of its route; null when it has none. */
  public static @Nullable Settings ofRoute(Settings berth) {
    boolean said = OF_ROUTE.stream().anyMatch(berth::gives);
    return said ? berth : null;
  }

  /** Returns whether a route, as received from another instance, has rules of traffic. */
  public static boolean hasRules(Settings route) {
    return NAMING.stream().anyMatch(key -> !route.all(key).isEmpty())
        || !route.get(SHARD_KEY).toMap().isEmpty();
  }

  /**
   * Returns the id of a deployment that a route names.
   *
   * @param application of a deployment without {@code application}
   */
  public static DeploymentId id(Settings named, String application) {
    String of = named.find(APPLICATION);
    return new DeploymentId(of == null ? application : of, named.get(DEPLOYMENT));
  }

  /**
   * Returns the deployments that a route names, by their path, as in {@code match[0].deployment}.
   *
   * @param application as for {@link #id}
   */
  public static Map<String, DeploymentId> named(Settings route, String application) {
    Map<String, DeploymentId> named = new LinkedHashMap<>();
    for (ConfigKey<List<Settings>> key : NAMING) {
      List<Settings> all = route.all(key);
      for (int i = 0; i < all.size(); i++) {
        named.put(key + "[" + i + "]." + DEPLOYMENT, id(all.get(i), application));
      }
    }
    return named;
  }

  /**
   * Requires that weights are a valid split.
   *
   * @throws IllegalArgumentException when they are too many, out of range, or all 0
   */
  public static void requireWeights(Map<String, Double> weights) {
    weights.values().forEach(WEIGHT::require);
    if (weights.size() > MAX_SIDES || weights.values().stream().noneMatch(each -> each > 0)) {
      throw TRAFFIC.refusal(weights.toString(), "at most " + MAX_SIDES + ", and one above 0");
    }
  }

  /**
   * Returns an endpoint with its weights replaced by these, keyed by {@code
   * application#deployment}.
   */
  public static Settings split(Settings endpoint, Map<String, Double> weights) {
    List<Settings> sides = new ArrayList<>();
    new TreeMap<>(weights)
        .forEach(
            (name, weight) -> {
              int at = name.indexOf('#');
              sides.add(
                  SIDE_SECTION
                      .empty()
                      .with(APPLICATION, name.substring(0, at))
                      .with(DEPLOYMENT, name.substring(at + 1))
                      .with(WEIGHT, weight));
            });
    return endpoint.put(TRAFFIC, List.copyOf(sides));
  }

  /** Returns an endpoint with only those deployments that match a predicate. */
  public static Settings only(Settings endpoint, Predicate<DeploymentId> fits) {
    Settings some = endpoint;
    for (ConfigKey<List<Settings>> key : NAMING) {
      some =
          some.put(
              key, endpoint.all(key).stream().filter(each -> fits.test(id(each, ""))).toList());
    }
    return some;
  }

  /** Returns whether a deployment of the split has a weight above 0. */
  public static boolean answers(Settings route) {
    return route.all(TRAFFIC).stream().anyMatch(TrafficOptions::weighs);
  }

  // --- rules ---

  private static void requireOne(Settings values, ConfigKey<?>... of) {
    if (Stream.of(of).noneMatch(values::gives)) {
      values.problem(of[0], "missing", oneOf(of));
    }
    requireNoMore(values, of);
  }

  private static void requireNoMore(Settings values, ConfigKey<?>... of) {
    List<ConfigKey<?>> given = Stream.of(of).filter(values::gives).toList();
    given.stream().skip(1).forEach(each -> values.problem(each, "with " + given.get(0), oneOf(of)));
  }

  private static String oneOf(ConfigKey<?>... of) {
    return Stream.of(of).map(ConfigKey::name).collect(Collectors.joining(", ", "one of ", ""));
  }

  private static void checkMatch(Settings values) {
    requireOne(values, HEADER, COOKIE, QUERY, METHOD);
    requireNoMore(values, METHOD, EXACT, PREFIX, REGEX);
  }

  /**
   * Checks the rules of one route and reports all problems at once.
   *
   * @param own whether the route belongs to an application, which then may name only its own
   *     deployments
   */
  static void check(Settings values, boolean own) {
    List<Settings> sides = values.all(TRAFFIC);
    List<Settings> matches = values.all(MATCH);
    List<Settings> shadows = values.all(SHADOW);
    if (sides.size() + shadows.size() > MAX_SIDES) {
      values.problem(
          TRAFFIC, sides.size() + " and " + shadows.size() + " shadows", "at most " + MAX_SIDES);
    }
    if (matches.size() > MAX_MATCHES) {
      values.problem(MATCH, matches.size() + " matches", "at most " + MAX_MATCHES);
    }
    if (!sides.isEmpty() && !answers(values)) {
      values.problem(TRAFFIC, "weights of 0 alone", "one above 0");
    }
    Set<String> seen = new HashSet<>();
    List.of(sides, shadows).forEach(each -> each.forEach(side -> checkOnce(side, seen)));
    NAMING.forEach(each -> values.all(each).forEach(side -> checkApplication(side, own)));
  }

  private static boolean weighs(Settings side) {
    Double weight = side.find(WEIGHT);
    return weight == null || weight > 0; // invalid, already reported
  }

  private static void checkOnce(Settings side, Set<String> seen) {
    String name = side.find(DEPLOYMENT);
    if (name != null && !seen.add(side.find(APPLICATION) + "#" + name)) {
      side.problem(DEPLOYMENT, '"' + name + "\" twice", "each deployment once, without shadows");
    }
  }

  private static void checkApplication(Settings side, boolean own) {
    if (own && side.gives(APPLICATION)) {
      side.problem(APPLICATION, "given", "leave it out; over applications: berth.endpoints");
    } else if (!own && side.find(APPLICATION) == null) {
      side.problem(APPLICATION, "missing", APPLICATION.type().expected());
    }
  }
}
