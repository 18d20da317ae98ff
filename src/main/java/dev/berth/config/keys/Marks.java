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
public record Marks(Node node, Map<String, Node> given, Place place) {

  /**
   * Returns the position of the value of {@code key}; without a value, the position of the mapping.
   */
  Optional<Mark> of(Key<?> key) {
    return given.getOrDefault(key.name(), node).getStartMark();
  }

  /** Returns the position as {@link #of} does, in words. */
  String where(Key<?> key) {
    Place.Spot spot = place.spot(of(key));
    return spot.line() == 0 ? spot.file() : "line " + spot.line();
  }

  void problem(Key<?> key, String value, String expected) {
    place.key(key.name()).problem(of(key), value, expected);
  }

  /**
   * Reads the mapping of {@code key} as another section, in order to report problems. The mapping
   * must contain the key.
   */
  public void check(Key<?> key, Section as) {
    as.read(Objects.requireNonNull(given.get(key.name())), place.key(key.name()));
  }

  /** Reports a warning at the value of {@code key}; without a value, does nothing. */
  public void warn(Key<?> key, String value, String expected) {
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
    Place told = place.isWrong() ? Place.nowhere() : place;
    Map<String, @Nullable Object> tree = new FreeMap().read(node, told);
    return tree == null ? Map.of() : tree;
  }
}
