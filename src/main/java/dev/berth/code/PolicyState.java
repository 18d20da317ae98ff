package dev.berth.code;

import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writer of a policy's state as JSON. The state is stored under the policy's class, so that another
 * policy ignores it. Copies the state first, and stops when the copy grows too large, because user
 * code may return an endless structure.
 */
final class PolicyState {
  /** Maximum length of the JSON in characters. */
  static final int MAX_CHARS = 16_384;

  /** Maximum nesting of maps and lists. */
  static final int MAX_DEPTH = 32;

  private static final String EXPECTED =
      "at most %s characters of JSON, at most %s deep: maps, lists, strings, booleans, null, int, long"
              .formatted(MAX_CHARS, MAX_DEPTH)
          + " and finite double";

  private int left = MAX_CHARS;

  private PolicyState() {}

  /**
   * Returns the JSON of a state.
   *
   * @throws IllegalArgumentException when the state is too large, or has no JSON form
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
          return refuse("a key that is not a string");
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
