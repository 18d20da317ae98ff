package dev.berth.controller.autoscaling;

import dev.berth.config.AutoscalingOptions.AggregationFunction;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** Rules by the names and the units of the file's keys, over its defaults but for the bounds. */
final class Rules {
  private final Map<String, Double> given = new HashMap<>();

  private Rules() {}

  /** {@code key=value} in turn, values also by %s; a switch is 1 or 0, an aggregation its place. */
  static ScalingRules of(String keys, Object... values) {
    Rules rules = new Rules();
    for (String each : String.format(Locale.ROOT, keys, values).split(" ")) {
      String[] pair = each.split("=");
      rules.given.put(pair[0], pair.length == 1 ? 0 : Double.parseDouble(pair[1]));
    }
    rules.given.remove(""); // of no keys
    return rules.build();
  }

  private double get(String key, double otherwise) {
    Double value = given.remove(key);
    return value == null ? otherwise : value;
  }

  private long nanos(String key, double otherwise) {
    return seconds(get(key, otherwise));
  }

  static long seconds(double seconds) {
    return Math.round(seconds * 1e9);
  }

  private ScalingRules build() {
    double down = get("downscale_delay_s", 600);
    ScalingRules rules =
        new ScalingRules(
            (int) get("min_replicas", 1),
            (int) get("max_replicas", 100),
            get("target_ongoing_requests", 2),
            nanos("look_back_period_s", 30),
            AggregationFunction.values()[(int) get("aggregation_function", 0)],
            get("upscaling_factor", 1),
            get("downscaling_factor", 1),
            nanos("upscale_delay_s", 30),
            seconds(down),
            nanos("downscale_to_zero_delay_s", down),
            get("count_reserved", 1) == 1,
            get("count_starting", 1) == 1,
            nanos("stabilization_window_s", 0),
            nanos("panic_window_s", 0),
            get("panic_threshold", 2));
    if (!given.isEmpty()) {
      throw new IllegalArgumentException("unknown: " + given.keySet());
    }
    return rules;
  }
}
