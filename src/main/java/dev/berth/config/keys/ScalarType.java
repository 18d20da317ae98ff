package dev.berth.config.keys;

import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/** A single value. {@code reader} returns null when the node is of another kind. */
public record ScalarType<T>(
    String expected,
    String unit,
    Function<Node, @Nullable T> reader,
    Predicate<T> allowed,
    Function<T, String> writer,
    Map<String, Object> schema)
    implements Type<T> {

  /** Creates a type without a unit that permits all values of the reader. */
  ScalarType(String expected, Function<Node, @Nullable T> reader, Map<String, Object> schema) {
    this(expected, "", reader, value -> true, Object::toString, schema);
  }

  @Override
  public @Nullable T read(Node node, ParseContext place) {
    T value = reader.apply(node);
    if (value != null && allowed.test(value)) {
      return value;
    }
    place.problem(
        node, value == null ? YamlScalars.describe(node) : YamlScalars.show(node), expected);
    return null;
  }

  @Override
  public boolean allows(T value) {
    return allowed.test(value);
  }

  @Override
  public String write(T value) {
    return writer.apply(value);
  }
}
