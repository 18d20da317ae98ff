package dev.berth.web;

import dev.berth.api.Json;
import java.math.BigDecimal;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Search for the problems of one value, typed or as the maps and lists of its JSON. A failed parse
 * names its first problem only; this search finds all.
 *
 * @param limits whether to check limits, which a validator of the application checks otherwise
 * @param json set for values that are maps and lists; checks each scalar by itself
 */
record ValueCheck(String in, boolean limits, @Nullable Json json, ProblemList problems) {

  /** Checks a value. */
  void check(ValueModel model, @Nullable Object value, String path) {
    Object found = value instanceof Optional<?> optional ? optional.orElse(null) : value;
    if (found == null) {
      if (model.required()) {
        problems.add(in, path, "missing (expected: a value)");
      }
      return;
    }
    if (model.members() != null) {
      checkParts(model.members(), found, path);
    } else if (model.isMap() && found instanceof Map<?, ?> map) {
      map.forEach((key, each) -> check(model.element(), each, path + "[" + key + "]"));
    } else if (model.isList() && found instanceof Collection<?> all) {
      int i = 0;
      for (Object each : all) {
        check(model.element(), each, path + "[" + i++ + "]");
      }
    } else if (json != null && !parses(model, found, path)) {
      return;
    }
    if (limits && !model.limits().isEmpty()) {
      checkLimits(model.limits(), found, path);
    }
  }

  private void checkParts(RecordModel members, Object owner, String path) {
    Map<?, ?> raw = owner instanceof Map<?, ?> map ? map : null;
    if (raw == null && !members.type.isInstance(owner)) {
      problems.add(in, path, "not an object (expected: " + members.type.getSimpleName() + ")");
      return;
    }
    String prefix = path.equals(in) ? "" : path + ".";
    for (RecordModel.Part part : members.parts) {
      Object value = raw == null ? part.of(owner) : raw.get(part.name());
      check(part.model(), value, prefix + part.name());
    }
    if (raw != null && members.closed) {
      raw.keySet().stream()
          .filter(key -> members.parts.stream().noneMatch(part -> part.name().equals(key)))
          .forEach(key -> problems.add(in, prefix + key, "unknown (expected: " + members + ")"));
    }
  }

  /** Returns whether JSON is a value of the class. */
  private boolean parses(ValueModel model, Object value, String path) {
    try {
      json.read(json.write(value), model.raw());
      return true;
    } catch (Json.Malformed malformed) {
      String expected = model.scalar() == null ? "" : model.scalar().expected();
      String end = expected.isEmpty() ? "" : " (expected: " + expected + ")";
      problems.add(in, path, malformed.getMessage() + end);
      return false;
    }
  }

  private void checkLimits(Map<String, Object> limits, Object value, String path) {
    int size =
        value instanceof Collection<?> all
            ? all.size()
            : value instanceof Map<?, ?> map ? map.size() : value.toString().length();
    limits.forEach(
        (keyword, limit) -> {
          boolean holds =
              switch (keyword) {
                case "minimum" -> compare(value, limit) >= 0;
                case "exclusiveMinimum" -> compare(value, limit) > 0;
                case "maximum" -> compare(value, limit) <= 0;
                case "pattern" -> value.toString().matches(limit.toString());
                default -> keyword.startsWith("min") ? size >= (int) limit : size <= (int) limit;
              };
          if (!holds) {
            problems.add(in, path, "invalid (expected: " + keyword + " " + limit + ")");
          }
        });
  }

  private static int compare(Object value, Object limit) {
    return new BigDecimal(value.toString()).compareTo(new BigDecimal(limit.toString()));
  }
}
