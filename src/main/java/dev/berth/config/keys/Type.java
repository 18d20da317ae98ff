package dev.berth.config.keys;

import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * What may stand behind a key: how it reads, which values it allows, and how to say so.
 *
 * @param <T> the Java type of the value; {@link java.time.Duration} for times, {@link Long} for
 *     bytes
 */
public interface Type<T> {

  /** The allowed values in words, as in {@code an integer from 0 to 65535}. */
  String expected();

  /** The unit of the value as the file writes it, as in {@code s}; empty when it has none. */
  default String unit() {
    return "";
  }

  /** The value of {@code node}, or null after its problems are reported at {@code place}. */
  @Nullable T read(Node node, Place place);

  /** Whether a value that comes from code is one the file could have given. */
  default boolean allows(T value) {
    return true;
  }

  /** What it takes, as far as one value shows it, as a JSON Schema of draft 2020-12. */
  Map<String, Object> schema();

  /** A default as the file would write it. */
  default String write(T value) {
    return String.valueOf(value);
  }

  /**
   * Some of the values of another type.
   *
   * @param fine whether a value is one of them
   * @param expected they, in words
   * @param why what is the matter with the others
   * @param schema of the fine ones
   */
  record Only<T>(
      Type<T> inner, Predicate<T> fine, String expected, String why, Map<String, Object> schema)
      implements Type<T> {

    @Override
    public @Nullable T read(Node node, Place place) {
      T value = inner.read(node, place);
      if (value == null || fine.test(value)) {
        return value;
      }
      place.problem(node, Scalars.show(node) + ", " + why, expected);
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
