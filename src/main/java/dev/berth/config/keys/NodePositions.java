package dev.berth.config.keys;

import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * The positions of a mapping of the file and of its values, used to report problems while reading.
 *
 * @param node the mapping
 * @param given the values, by key
 * @param place receiver of problems
 */
public record NodePositions(Node node, Map<String, Node> given, ParseContext place) {

  /**
   * Returns the position of the value of {@code key}; without a value, the position of the mapping.
   */
  Optional<Mark> of(ConfigKey<?> key) {
    return given.getOrDefault(key.name(), node).getStartMark();
  }

  /** Returns the position as {@link #of} does, in words. */
  String where(ConfigKey<?> key) {
    ParseContext.FilePosition spot = place.spot(of(key));
    return spot.line() == 0 ? spot.file() : "line " + spot.line();
  }

  void problem(ConfigKey<?> key, String value, String expected) {
    place.key(key.name()).problem(of(key), value, expected);
  }

  /**
   * Reads the mapping of {@code key} as another section, in order to report problems. The mapping
   * must contain the key.
   *
   * @return null if it is no mapping
   */
  public @Nullable Settings check(ConfigKey<?> key, Section as) {
    return as.read(Objects.requireNonNull(given.get(key.name())), place.key(key.name()));
  }

  /** Reports a warning at the value of {@code key}; without a value, does nothing. */
  public void warn(ConfigKey<?> key, String value, String expected) {
    Node at = given.get(key.name());
    if (at != null) {
      place.key(key.name()).warning(at, value, expected);
    }
  }

  /**
   * Returns the whole mapping as JSON values; empty when it has no JSON form. This problem is
   * reported only when the file has no other error.
   */
  public Map<String, @Nullable Object> tree() {
    ParseContext told = place.problems().refuse() ? ParseContext.nowhere() : place;
    Map<String, @Nullable Object> tree = new FreeFormMapType().read(node, told);
    return tree == null ? Map.of() : tree;
  }
}
