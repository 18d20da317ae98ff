package dev.berth.config.keys;

import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * The type of a key's values: reading, the permitted values, and their description.
 *
 * @param <T> the Java type of the value; {@link java.time.Duration} for times, {@link Long} for
 *     bytes
 */
public interface Type<T> {

  /** Returns the permitted values in words, as in {@code an integer from 0 to 65535}. */
  String expected();

  /** Returns the unit of the value in the file, as in {@code s}; empty without a unit. */
  default String unit() {
    return "";
  }

  /** Reads the value of {@code node}; null after reporting problems at {@code place}. */
  @Nullable T read(Node node, ParseContext place);

  /** Returns whether a file could contain a value that comes from code. */
  default boolean allows(T value) {
    return true;
  }

  /**
   * Returns a JSON Schema of draft 2020-12 of the permitted values, as far as single values
   * determine it.
   */
  Map<String, Object> schema();

  /** Returns a default as the file would contain it. */
  default String write(T value) {
    return String.valueOf(value);
  }

  /**
   * A subset of the values of another type.
   *
   * @param fine whether a value belongs to the subset
   * @param expected the subset in words
   * @param why the problem with all other values
   * @param schema of the subset
   */
  record RestrictedType<T>(
      Type<T> inner, Predicate<T> fine, String expected, String why, Map<String, Object> schema)
      implements Type<T> {

    @Override
    public @Nullable T read(Node node, ParseContext place) {
      T value = inner.read(node, place);
      if (value == null || fine.test(value)) {
        return value;
      }
      place.problem(node, YamlScalars.show(node) + ", " + why, expected);
      return null;
    }

    @Override
    public boolean allows(T value) {
      return inner.allows(value) && fine.test(value);
    }

    @Override
    public String write(T value) {
      return inner.write(value);
    }
  }
}
