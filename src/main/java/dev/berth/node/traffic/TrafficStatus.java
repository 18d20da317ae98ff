package dev.berth.node.traffic;

import dev.berth.api.DeploymentId;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTraffic;
import dev.berth.metrics.Meters;
import dev.berth.metrics.TrafficTargetCounts;
import dev.berth.routing.traffic.RequestHead;
import dev.berth.routing.traffic.RequestHead.RequestPart;
import dev.berth.routing.traffic.RequestHead.RequestPartKind;
import dev.berth.routing.traffic.ShadowRule;
import dev.berth.routing.traffic.TrafficMatch;
import dev.berth.routing.traffic.TrafficPolicy;
import dev.berth.view.TrafficView;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Status of the routes of this instance, with their current splits.
 *
 * @param routes routes by prefix
 * @param random draws the choice for a request that is explained
 */
public record TrafficStatus(
    Supplier<Map<String, IngressRoute>> routes, Meters meters, RandomGenerator random)
    implements TrafficView {

  @Override
  public JsonArray routes(@Nullable String route) {
    JsonArray all = new JsonArray();
    new TreeMap<>(routes.get())
        .forEach(
            (prefix, to) -> {
              boolean split = to.traffic() != null || to.parkNanos() > 0;
              if (route == null ? split : route.equals(prefix)) {
                all.add(toJson(prefix, to));
              }
            });
    return all;
  }

  private JsonObject toJson(String prefix, IngressRoute to) {
    JsonObject told = new JsonObject().put("route", prefix).put("application", to.application());
    RouteTraffic traffic = to.traffic();
    if (traffic == null) {
      DeploymentId only = to.router() == null ? null : to.router().deployment();
      return only == null ? told : told.put("traffic", new JsonArray().add(named(only)));
    }
    TrafficPolicy policy = traffic.policy();
    JsonArray sides = new JsonArray();
    for (int i = 0; i < policy.sides().size(); i++) {
      DeploymentId id = policy.sides().get(i);
      TrafficTargetCounts counts = meters.side(prefix, id);
      sides.add(
          named(id)
              .put("weight", policy.weights().get(i))
              .put("requests", counts.requests())
              .put("errors", counts.errors())
              .put("p50_ms", Math.round(counts.p50Ms() * 10) / 10.0)
              .put("p99_ms", Math.round(counts.p99Ms() * 10) / 10.0));
    }
    return told.put("traffic", sides)
        .put("match", array(policy.matches(), each -> toJson(each, policy.sides())))
        .put("shadow", array(policy.shadows(), each -> toJson(prefix, each)))
        .put("shard_key", toJson(policy.key()));
  }

  private static <T> JsonArray array(List<T> items, Function<T, JsonObject> told) {
    return new JsonArray(items.stream().map(told).toList());
  }

  private static JsonObject named(DeploymentId id) {
    return new JsonObject().put("application", id.application()).put("deployment", id.name());
  }

  private static JsonObject toJson(TrafficMatch match, List<DeploymentId> sides) {
    return named(sides.get(match.side())).mergeIn(toJson(match.place())).put("is", match.value());
  }

  private static JsonObject toJson(RequestPart place) {
    return new JsonObject().put(word(place.part()), place.name());
  }

  private JsonObject toJson(String prefix, ShadowRule shadow) {
    JsonObject told =
        named(shadow.to()).put("fraction", shadow.fraction()).put("compare", shadow.compares());
    meters
        .shadow(prefix, shadow.to())
        .forEach((event, count) -> told.put(event.name().toLowerCase(Locale.ROOT), count));
    return told;
  }

  private static String word(RequestPartKind part) {
    return part.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public @Nullable JsonObject explain(String route, Map<String, String> parts) {
    IngressRoute to = routes.get().get(route);
    RouteTraffic traffic = to == null ? null : to.traffic();
    if (traffic == null) {
      return null;
    }
    RequestHead head =
        (part, name) ->
            part == RequestPartKind.PATH
                ? RequestHead.segment(parts.getOrDefault("path", route), Integer.parseInt(name))
                : parts.get((word(part) + " " + nameOf(part, name)).strip());
    TrafficPolicy policy = traffic.policy();
    TrafficPolicy.TrafficChoice choice = policy.choose(head, random);
    return named(policy.sides().get(choice.side())).put("why", policy.why(choice));
  }

  private static String nameOf(RequestPartKind part, String name) {
    return part == RequestPartKind.HEADER ? name.toLowerCase(Locale.ROOT) : name;
  }
}
