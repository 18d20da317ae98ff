package dev.berth.config;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;

/** What a mapping of the file gave for the keys of its {@link Section}, and where. */
final class Values {

  /**
   * One key as given.
   *
   * @param node where its value stands
   * @param value null when the file says null, or when {@code wrong}
   * @param wrong whether a problem with it has been reported
   */
  record Given(Node node, @Nullable Object value, boolean wrong) {}

  private final Section section;
  private final Map<String, Given> given;
  private final @Nullable Node node;
  private final @Nullable Place place;

  Values(Section section, Map<String, Given> given, @Nullable Node node, @Nullable Place place) {
    this.section = section;
    this.given = given;
    this.node = node;
    this.place = place;
  }

  /** A mapping the file does not have: every key has its default. */
  static Values empty(Section section) {
    return new Values(section, Map.of(), null, null);
  }

  /** The value of a key that is never unset. */
  <T> T get(Key<T> key) {
    T value = find(key);
    if (value == null) {
      throw new IllegalStateException(key.name() + ": unset (expected: a value)");
    }
    return value;
  }

  /** The value, the default when the file is silent; null when unset or wrong. */
  @SuppressWarnings("unchecked") // the section read the value with this key's own type
  <T> @Nullable T find(Key<T> key) {
    if (!section.has(key)) {
      throw new IllegalArgumentException(key.name() + ": foreign key (expected: one of its own)");
    }
    Given entry = given.get(key.name());
    return entry == null ? key.fallback() : (T) entry.value();
  }

  /**
   * Everything that stands here, as JSON values; empty when it is none, which is reported unless
   * something else is wrong already.
   */
  Map<String, @Nullable Object> tree() {
    if (node == null || place == null) {
      return Map.of();
    }
    Map<String, @Nullable Object> tree =
        new FreeMap().read(node, Place.top("", Path.of(""))); // whose problems nobody reads
    if (tree == null && !place.isWrong()) {
      new FreeMap().read(node, place);
    }
    return tree == null ? Map.of() : tree;
  }

  /** Where relative paths start. */
  Path folder() {
    return place == null ? Path.of("").toAbsolutePath() : place.folder();
  }

  /** The path of this mapping; empty for one that the file does not have. */
  String path() {
    return place == null ? "" : place.path();
  }

  /** Where this mapping stands. */
  Source source() {
    return place == null ? new Source("", "", Map.of()) : place.source();
  }

  /** Whether the file gives {@code key} something, right or wrong; {@code null} is nothing. */
  boolean gives(Key<?> key) {
    Given entry = given.get(key.name());
    return entry != null && (entry.wrong() || entry.value() != null);
  }

  /** Warns that the value of {@code key} has no effect. */
  void warn(Key<?> key, String value, String expected) {
    Given entry = given.get(key.name());
    if (place != null && entry != null) {
      place.key(key.name()).warning(entry.node(), value, expected);
    }
  }

  /** Reports a problem with the value of {@code key}, at it or else at the mapping. */
  void problem(Key<?> key, String value, String expected) {
    if (place != null) {
      place.key(key.name()).problem(mark(key), value, expected);
    }
  }

  /** Reports every value of {@code key} that an earlier one of {@code mappings} has too. */
  static <T> void requireUnique(@Nullable List<Values> mappings, Key<T> key) {
    Map<T, Values> seen = new HashMap<>();
    for (Values mapping : mappings == null ? List.<Values>of() : mappings) {
      T value = mapping.find(key);
      Values first = value == null ? null : seen.putIfAbsent(value, mapping);
      if (value != null && first != null) {
        String given = mapping.given.containsKey(key.name()) ? "" : ", the default,";
        mapping.problem(
            key,
            '"' + Scalars.shorten(key.type().write(value)) + '"' + given + " twice",
            "unique; " + first.where(key) + " has it already");
      }
    }
  }

  /** Where the value of {@code key} stands, or else the mapping. */
  private String where(Key<?> key) {
    Place.Spot spot = place == null ? new Place.Spot("", 0, 0) : place.spot(mark(key));
    return spot.line() == 0 ? spot.file() : "line " + spot.line();
  }

  private Optional<Mark> mark(Key<?> key) {
    Given entry = given.get(key.name());
    Node at = entry == null ? node : entry.node();
    return at == null ? Optional.empty() : at.getStartMark();
  }
}
