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
 * JSON form of autoscaling records, like {@link ServeJson} with wall-clock times: {@code
 * until_nanos} becomes {@code until_ms}, in milliseconds since 1970, null for never.
 */
public final class ScalingJson {

  private ScalingJson() {}

  /**
   * Returns the autoscaling state of one deployment.
   *
   * @param nowNanos time of the state on the nano clock
   */
  public static JsonObject of(ScalingView view, long nowNanos) {
    long nowMs = view.now().atMs();
    List<JsonObject> decisions =
        view.decisions().stream().map(each -> of(each, nowNanos, nowMs)).toList();
    return ServeJson.of(view, wall(nowNanos, nowMs)).put("decisions", new JsonArray(decisions));
  }

  /** Returns one decision with its reason in a sentence; both times denote the same moment. */
  static JsonObject of(ScalingDecision decision, long nowNanos, long nowMs) {
    JsonObject json = ServeJson.of(decision, wall(nowNanos, nowMs));
    json.getJsonObject("state").remove("wants");
    return json.put("why", decision.why()).put("told", decision.summary());
  }

  /** Returns a conversion from nano clock times to milliseconds since 1970. */
  private static LongFunction<@Nullable Long> wall(long nowNanos, long nowMs) {
    return nanos ->
        nanos == Long.MAX_VALUE || nanos == Long.MIN_VALUE // never
            ? null
            : Long.valueOf(nowMs + TimeUnit.NANOSECONDS.toMillis(nanos - nowNanos));
  }
}
