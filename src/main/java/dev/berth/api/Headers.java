package dev.berth.api;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Read-only HTTP-style headers. Names are case-insensitive and may repeat; the order is preserved.
 * An interface, so that the ingress can pass on received headers without copying.
 */
public interface Headers {

  /** Returns the first value of a name, or null. */
  @Nullable String get(String name);

  /** Passes each name and value to the consumer, in order. */
  void forEach(BiConsumer<String, String> each);

  /** Returns the number of name–value pairs. */
  int size();

  /** Returns all values of a name, in order; empty when there are none. */
  default List<String> all(String name) {
    List<String> values = new ArrayList<>(2);
    forEach(
        (key, value) -> {
          if (key.equalsIgnoreCase(name)) {
            values.add(value);
          }
        });
    return values;
  }

  /** Returns these headers followed by one more pair. */
  default Headers with(String name, String value) {
    List<String> all = new ArrayList<>(2 * size() + 2);
    forEach((key, existing) -> Collections.addAll(all, key, existing));
    Collections.addAll(all, name, value);
    return new PairHeaders(all.toArray(String[]::new));
  }

  /** Returns empty headers. */
  static Headers empty() {
    return PairHeaders.EMPTY;
  }

  /**
   * Creates headers from alternating names and values.
   *
   * @throws IllegalArgumentException when a value is missing, or a name or value contains a line
   *     break
   */
  static Headers of(String... namesAndValues) {
    return namesAndValues.length == 0 ? empty() : PairHeaders.checked(namesAndValues.clone());
  }
}
