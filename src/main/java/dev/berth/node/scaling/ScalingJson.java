package dev.berth.node.scaling;

import dev.berth.admin.ServeJson;
import dev.berth.controller.ScalingView;
import dev.berth.controller.autoscaling.ScalingDecision;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;

/**
 * Records of autoscaling as {@link ServeJson} writes them, with times of the clock of people:
 * {@code until_nanos} is {@code until_ms}, in milliseconds since 1970, null for never; ages and
 * windows are in milliseconds.
 */
public final class ScalingJson {
  private static final String NANOS = "nanos";
  private static final List<String> SPANS = List.of("age_nanos", "oldest_nanos");

  private ScalingJson() {}

  /**
   * All that is known of one deployment.
   *
   * @param nowNanos when that was so
   */
  public static JsonObject of(ScalingView view, long nowNanos) {
    LongUnaryOperator wall = wall(nowNanos, view.now().atMs());
    List<JsonObject> decisions = view.decisions().stream().map(each -> of(each, wall)).toList();
    return timed(ServeJson.of(view), wall).put("decisions", new JsonArray(decisions));
  }

  /** One decision, and why in a sentence. */
  static JsonObject of(ScalingDecision decision, LongUnaryOperator wall) {
    JsonObject json =
        ServeJson.of(decision).put("why", decision.why()).put("told", decision.told());
    JsonObject state = json.getJsonObject("state");
    state.remove("wants");
    if (decision.state().direction() == 0) {
      state.put("since_nanos", Long.MAX_VALUE); // no delay runs
    }
    return timed(json, wall);
  }

  /** Milliseconds since 1970 of times of a clock that says both of the present. */
  static LongUnaryOperator wall(long nowNanos, long nowMs) {
    return nanos -> nowMs + TimeUnit.NANOSECONDS.toMillis(nanos - nowNanos);
  }

  static JsonObject timed(JsonObject json, LongUnaryOperator wall) {
    for (String name : List.copyOf(json.fieldNames())) {
      Object value = json.getValue(name);
      if (name.endsWith(NANOS) && value instanceof Long nanos) {
        json.remove(name);
        boolean never = nanos == Long.MAX_VALUE || nanos == Long.MIN_VALUE;
        boolean span = SPANS.contains(name);
        String to = name.equals(NANOS) ? "at_ms" : name.replace(NANOS, "ms");
        Long ms = span ? TimeUnit.NANOSECONDS.toMillis(nanos) : wall.applyAsLong(nanos);
        json.put(to, never ? null : ms);
      } else if (value instanceof JsonObject inner) {
        timed(inner, wall);
      } else if (value instanceof JsonArray list) {
        list.stream()
            .filter(JsonObject.class::isInstance)
            .forEach(e -> timed((JsonObject) e, wall));
      }
    }
    return json;
  }
}
