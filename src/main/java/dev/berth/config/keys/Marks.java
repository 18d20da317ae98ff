package dev.berth.config.keys;

import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * Where a mapping of the file stands, and where its values do: for problems, while it is read.
 *
 * @param node the mapping
 * @param given the values, by key
 * @param place where its problems go
 */
public record Marks(Node node, Map<String, Node> given, Place place) {

  /** Where the value of {@code key} stands, or else the mapping. */
  Optional<Mark> of(Key<?> key) {
    return given.getOrDefault(key.name(), node).getStartMark();
  }

  /** As {@link #of}, in words. */
  String where(Key<?> key) {
    Place.Spot spot = place.spot(of(key));
    return spot.line() == 0 ? spot.file() : "line " + spot.line();
  }

  void problem(Key<?> key, String value, String expected) {
    place.key(key.name()).problem(of(key), value, expected);
  }

  /** Reads the mapping behind {@code key}, which must be given, as a section too: for problems. */
  public void check(Key<?> key, Section as) {
    as.read(Objects.requireNonNull(given.get(key.name())), place.key(key.name()));
  }

  /** Warns that the value of {@code key} has no effect. */
  public void warn(Key<?> key, String value, String expected) {
    Node at = given.get(key.name());
    if (at != null) {
      place.key(key.name()).warning(at, value, expected);
    }
  }

  /**
   * Everything that stands here, as JSON values; empty when it is none, which is reported unless
   * something else is wrong already.
   */
  public Map<String, @Nullable Object> tree() {
    Place told = place.isWrong() ? Place.nowhere() : place;
    Map<String, @Nullable Object> tree = new FreeMap().read(node, told);
    return tree == null ? Map.of() : tree;
  }
}
