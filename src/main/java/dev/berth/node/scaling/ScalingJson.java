package dev.berth.node.scaling;

import dev.berth.admin.ServeJson;
import dev.berth.controller.ScalingView;
import dev.berth.controller.autoscaling.ScalingDecision;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Records of autoscaling as {@link ServeJson} writes them, with times of the clock of people:
 * {@code until_nanos} is {@code until_ms}, in milliseconds since 1970, null for never.
 */
public final class ScalingJson {

  private ScalingJson() {}

  /**
   * All that is known of one deployment.
   *
   * @param nowNanos when that was so
   */
  public static JsonObject of(ScalingView view, long nowNanos) {
    long nowMs = view.now().atMs();
    List<JsonObject> decisions =
        view.decisions().stream().map(each -> of(each, nowNanos, nowMs)).toList();
    return ServeJson.of(view, wall(nowNanos, nowMs)).put("decisions", new JsonArray(decisions));
  }

  /** One decision, and why in a sentence; both times are of the same moment. */
  static JsonObject of(ScalingDecision decision, long nowNanos, long nowMs) {
    JsonObject json = ServeJson.of(decision, wall(nowNanos, nowMs));
    json.getJsonObject("state").remove("wants");
    return json.put("why", decision.why()).put("told", decision.told());
  }

  /** Milliseconds since 1970 of times of a clock that says both of the present. */
  private static LongFunction<@Nullable Long> wall(long nowNanos, long nowMs) {
    return nanos ->
        nanos == Long.MAX_VALUE || nanos == Long.MIN_VALUE // never
            ? null
            : Long.valueOf(nowMs + TimeUnit.NANOSECONDS.toMillis(nanos - nowNanos));
  }
}
