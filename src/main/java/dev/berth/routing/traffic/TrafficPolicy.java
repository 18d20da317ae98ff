package dev.berth.routing.traffic;

import static java.util.Objects.requireNonNull;

import com.google.re2j.Pattern;
import dev.berth.api.DeploymentId;
import dev.berth.config.TrafficOptions;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Settings;
import dev.berth.routing.ranking.KeyHash;
import dev.berth.routing.traffic.RequestHead.RequestPart;
import dev.berth.routing.traffic.RequestHead.RequestPartKind;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The rules of one route for the choice among its deployments: the first match, else the split by
 * the request's key, else by chance. Immutable; a change replaces the policy and does not affect
 * earlier choices.
 *
 * @param sides deployments to choose among, those of the split first
 * @param weights weights of the sides, in their order; 0 for sides that only a match reaches
 * @param matches rules in their order
 * @param key place of a request's key
 * @param shadows deployments that receive copies
 * @param split choice by the weights
 */
public record TrafficPolicy(
    List<DeploymentId> sides,
    List<Double> weights,
    List<TrafficMatch> matches,
    RequestPart key,
    List<ShadowRule> shadows,
    WeightedSplit split) {

  /** Header of a request's key by default. */
  public static final String KEY_HEADER = "X-Serve-Shard-Key";

  /** Maximum key length in characters; longer keys are truncated. */
  public static final int MAX_KEY_CHARS = 1_024;

  private static final Map<RequestPartKind, ConfigKey<String>> NAMED =
      Map.of(
          RequestPartKind.HEADER, TrafficOptions.HEADER,
          RequestPartKind.COOKIE, TrafficOptions.COOKIE,
          RequestPartKind.QUERY, TrafficOptions.QUERY);

  private static final int BY_SPLIT = -1;
  private static final int BY_RESERVATION = -2;

  /**
   * The chosen side, and the reason.
   *
   * @param side place among the sides
   * @param match place of the match; -1 if the split decided, -2 if a held slot did
   * @param key the request's key; null if it has none
   * @param drawn draw in [0, 1); NaN if a match, the key or a held slot decided
   */
  public record TrafficChoice(int side, int match, @Nullable String key, double drawn) {}

  /**
   * Returns the policy that {@link TrafficOptions} describe.
   *
   * @param route settings of one route
   * @param application default application of the deployments
   * @param otherwise deployment of a route without traffic settings; null if traffic settings exist
   */
  public static TrafficPolicy of(
      Settings route, String application, @Nullable DeploymentId otherwise) {
    Map<DeploymentId, Double> weights = new LinkedHashMap<>();
    for (Settings side : route.get(TrafficOptions.TRAFFIC)) {
      weights.put(TrafficOptions.id(side, application), side.get(TrafficOptions.WEIGHT));
    }
    if (weights.isEmpty()) {
      weights.put(requireNonNull(otherwise), 1.0);
    }
    List<Settings> said = route.get(TrafficOptions.MATCH);
    said.forEach(match -> weights.putIfAbsent(TrafficOptions.id(match, application), 0.0));
    List<DeploymentId> sides = List.copyOf(weights.keySet());
    List<TrafficMatch> matches =
        said.stream()
            .map(each -> match(each, sides.indexOf(TrafficOptions.id(each, application))))
            .toList();
    List<ShadowRule> shadows =
        route.get(TrafficOptions.SHADOW).stream().map(each -> shadow(each, application)).toList();
    return new TrafficPolicy(
        sides,
        List.copyOf(weights.values()),
        matches,
        keyPlace(route.get(TrafficOptions.SHARD_KEY)),
        shadows,
        new WeightedSplit(
            sides.stream().map(DeploymentId::toString).toList(), List.copyOf(weights.values())));
  }

  private static TrafficMatch match(Settings said, int side) {
    RequestPart place = place(said, new RequestPart(RequestPartKind.METHOD, ""));
    boolean method = place.part() == RequestPartKind.METHOD;
    String exact = said.find(method ? TrafficOptions.METHOD : TrafficOptions.EXACT);
    String prefix = said.find(TrafficOptions.PREFIX);
    String regex = said.find(TrafficOptions.REGEX);
    if (exact != null) {
      return new TrafficMatch(place, "exact " + exact, exact::equals, side);
    } else if (prefix != null) {
      return new TrafficMatch(place, "prefix " + prefix, given -> given.startsWith(prefix), side);
    }
    return regex != null
        ? new TrafficMatch(place, "regex " + regex, Pattern.compile(regex)::matches, side)
        : new TrafficMatch(place, "present", given -> true, side);
  }

  private static RequestPart keyPlace(Settings said) {
    Integer segment = said.find(TrafficOptions.KEY_PATH);
    return place(
        said,
        segment == null
            ? new RequestPart(RequestPartKind.HEADER, KEY_HEADER)
            : new RequestPart(RequestPartKind.PATH, segment.toString()));
  }

  private static RequestPart place(Settings said, RequestPart otherwise) {
    return NAMED.entrySet().stream()
        .filter(each -> said.find(each.getValue()) != null)
        .map(each -> new RequestPart(each.getKey(), said.get(each.getValue())))
        .findFirst()
        .orElse(otherwise);
  }

  private static ShadowRule shadow(Settings said, String application) {
    return new ShadowRule(
        TrafficOptions.id(said, application),
        said.get(TrafficOptions.FRACTION),
        said.get(TrafficOptions.COMPARE),
        said.get(TrafficOptions.MAX_BODY_BYTES));
  }

  /**
   * Chooses a side for a request; requests with one key and no match always go to the same side.
   */
  public TrafficChoice choose(RequestHead head, RandomGenerator random) {
    String key = keyOf(head);
    for (int i = 0; i < matches.size(); i++) {
      if (matches.get(i).takes(head)) {
        return new TrafficChoice(matches.get(i).side(), i, key, Double.NaN);
      }
    }
    if (key != null) {
      return new TrafficChoice(split.of(KeyHash.of(key)), BY_SPLIT, key, Double.NaN);
    }
    double drawn = random.nextDouble();
    return new TrafficChoice(split.at(drawn), BY_SPLIT, null, drawn);
  }

  /** Returns the choice for a request that holds a slot; null if no side has that deployment. */
  public @Nullable TrafficChoice choiceByReservation(RequestHead head, DeploymentId by) {
    int side = sides.indexOf(by);
    return side < 0 ? null : new TrafficChoice(side, BY_RESERVATION, keyOf(head), Double.NaN);
  }

  /** Returns a request's key, truncated to {@link #MAX_KEY_CHARS}; null if it has none. */
  public @Nullable String keyOf(RequestHead head) {
    return key(key.of(head));
  }

  /** Returns the effective part of a key; null if there is no key. */
  public static @Nullable String key(@Nullable String found) {
    if (found == null || found.isEmpty()) {
      return null;
    }
    return found.length() <= MAX_KEY_CHARS ? found : found.substring(0, MAX_KEY_CHARS);
  }

  /** Returns a one-line description of a choice with its reason, without the key. */
  public String why(TrafficChoice choice) {
    String to = sides.get(choice.side()).toString();
    if (choice.match() >= 0) {
      TrafficMatch match = matches.get(choice.match());
      return to + ": match " + choice.match() + ", " + match.place() + ", " + match.value();
    }
    if (choice.match() == BY_RESERVATION) {
      return to + ": its reservation";
    }
    String by = choice.key() != null ? "key of " + key : "drawn %.6f".formatted(choice.drawn());
    return to + ": " + by + " among " + weights;
  }
}
