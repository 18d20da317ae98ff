package dev.berth.web;

import dev.berth.api.Json;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntPredicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Search for the problems of one value, typed or as the maps and lists of its JSON. A failed parse
 * names its first problem only; this search finds all, up to its limits.
 */
final class ValueCheck {
  /** Number of parses, one for each value of a tree, that end a search. */
  static final int MAX_PARSES = 1_000;

  private final String in;
  private final boolean limits;
  private final @Nullable Json json;
  private final ProblemList problems;
  private final List<Object> path = new ArrayList<>(); // names and indexes
  private int parses;

  /**
   * Creates a search.
   *
   * @param limits whether to check limits; a validator of the application checks them otherwise
   * @param json set for values that are maps and lists
   */
  ValueCheck(String in, boolean limits, @Nullable Json json, ProblemList problems) {
    this.in = in;
    this.limits = limits;
    this.json = json;
    this.problems = problems;
  }

  /** Checks a value below a name or an index. */
  void check(Object step, ValueModel model, @Nullable Object value) {
    path.add(step);
    check(model, value);
    path.remove(path.size() - 1);
  }

  /** Checks a value, unless the search is complete. */
  void check(ValueModel model, @Nullable Object value) {
    if (isComplete()) {
      return;
    }
    Object found = value instanceof Optional<?> optional ? optional.orElse(null) : value;
    found = found instanceof Object[] array ? Arrays.asList(array) : found;
    if (found == null) {
      if (model.required()) {
        problem("missing (expected: a value)");
      }
    } else if (model.members() != null) {
      checkParts(model.members(), found);
    } else if (model.isMap() && found instanceof Map<?, ?> map) {
      map.forEach((key, each) -> check(key, model.element(), each));
    } else if (model.isList() && found instanceof Collection<?> all) {
      Iterator<?> each = all.iterator();
      for (int i = 0; each.hasNext() && !isComplete(); i++) {
        check(i, model.element(), each.next());
      }
    } else if (json != null && !parses(model, found)) {
      return;
    }
    if (found != null && limits && !model.limits().isEmpty()) {
      checkLimits(model.limits(), found);
    }
  }

  private boolean isComplete() {
    return problems.isFull() || parses >= MAX_PARSES;
  }

  private void problem(String message) {
    problems.add(in, path, message);
  }

  private void checkParts(RecordModel members, Object owner) {
    if (json == null) {
      members.parts.forEach(
          part -> check(part.name(), part.model(), RecordModel.valueOf(part, owner)));
    } else if (owner instanceof Map<?, ?> map) {
      members.parts.forEach(part -> check(part.name(), part.model(), map.get(part.name())));
      for (Object key : map.keySet()) {
        if (!isComplete()
            && members.closed
            && members.parts.stream().noneMatch(each -> each.name().equals(key))) {
          path.add(key);
          problem("unknown (expected: " + members + ")");
          path.remove(path.size() - 1);
        }
      }
    } else {
      problem("not an object (expected: " + members.type.getSimpleName() + ")");
    }
  }

  /** Returns whether JSON is a value of the class. */
  private boolean parses(ValueModel model, Object value) {
    try {
      parses++;
      json.read(json.write(value), model.raw());
      return true;
    } catch (Json.Malformed malformed) {
      String end = model.scalar() == null ? "" : " (expected: " + model.scalar().expected() + ")";
      problem(malformed.getMessage() + end);
      return false;
    }
  }

  private void checkLimits(Map<String, Object> keywords, Object value) {
    int size =
        value instanceof Collection<?> all
            ? all.size()
            : value instanceof Map<?, ?> map ? map.size() : value.toString().length();
    keywords.forEach(
        (keyword, limit) -> {
          boolean holds =
              switch (keyword) {
                case "minimum" -> compares(value, limit, order -> order >= 0);
                case "exclusiveMinimum" -> compares(value, limit, order -> order > 0);
                case "maximum" -> compares(value, limit, order -> order <= 0);
                case "pattern" -> patternOf(limit).matcher(value.toString()).find();
                default -> keyword.startsWith("min") ? size >= (long) limit : size <= (int) limit;
              };
          if (!holds && !isComplete()) {
            problem("invalid (expected: " + keyword + " " + limit + ")");
          }
        });
  }

  private static boolean compares(Object value, Object limit, IntPredicate order) {
    try {
      BigDecimal number = new BigDecimal(value.toString().strip());
      return order.test(number.compareTo(new BigDecimal(limit.toString())));
    } catch (NumberFormatException noNumber) { // a text, or NaN
      return false;
    }
  }

  /** Returns the pattern of a schema, whose $ does not match before a line break in Java. */
  private static Pattern patternOf(Object limit) {
    return Pattern.compile(limit.toString().replaceAll("\\$$", "\\\\z"));
  }
}
