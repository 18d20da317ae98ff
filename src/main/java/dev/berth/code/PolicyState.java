package dev.berth.code;

import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a policy remembers, as JSON, under its class: to another one it says nothing. A copy is made
 * first, and given up where it grows too large: what user code hands over may have no end.
 */
final class PolicyState {
  /** Most characters of it. */
  static final int MAX_CHARS = 16_384;

  /** Most maps and lists within one another. */
  static final int MAX_DEPTH = 32;

  private static final String EXPECTED =
      "at most %s characters of JSON, at most %s deep: maps, lists, strings, booleans, null, int, long"
              .formatted(MAX_CHARS, MAX_DEPTH)
          + " and finite double";

  private int left = MAX_CHARS;

  private PolicyState() {}

  /**
   * @throws IllegalArgumentException when it is too large, or JSON cannot say it
   */
  static String write(String policy, Map<String, @Nullable Object> state) {
    String json = new JsonObject().put(policy, new PolicyState().plain(state, 0)).encode();
    return json.length() <= MAX_CHARS ? json : refuse("too large");
  }

  private @Nullable Object plain(@Nullable Object value, int depth) {
    left -= value instanceof String text ? text.length() : 1;
    if (left < 0 || depth > MAX_DEPTH) {
      return refuse("too large");
    }
    if (value instanceof Map<?, ?> map) {
      Map<String, @Nullable Object> copy = new LinkedHashMap<>();
      for (Map.Entry<?, ?> each : map.entrySet()) {
        if (!(plain(each.getKey(), depth) instanceof String name)) {
          return refuse("a key that is no string");
        }
        copy.put(name, plain(each.getValue(), depth + 1));
      }
      return copy;
    }
    if (value instanceof List<?> list) {
      List<@Nullable Object> copy = new ArrayList<>();
      for (Object each : list) {
        copy.add(plain(each, depth + 1));
      }
      return copy;
    }
    boolean whole = value instanceof Integer || value instanceof Long;
    boolean finite = value instanceof Double number && Double.isFinite(number);
    return value == null || value instanceof String || value instanceof Boolean || whole || finite
        ? value
        : refuse(value instanceof Double ? value.toString() : value.getClass().getName());
  }

  private static <T> T refuse(String what) {
    throw new IllegalArgumentException("state: " + what + " (expected: " + EXPECTED + ")");
  }
}
