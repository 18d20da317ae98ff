package dev.berth.api;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * HTTP-style headers, read only: names compare without case, a name may repeat, order is kept. An
 * interface so that the ingress can pass the received headers on without copying them.
 */
public interface Headers {

  /** The first value of a name, or null. */
  @Nullable String get(String name);

  /** Each name and value, in order. */
  void forEach(BiConsumer<String, String> each);

  /** How many name–value pairs there are. */
  int size();

  /** Every value of a name, in order; empty when there is none. */
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

  /** These headers, then one more pair. */
  default Headers with(String name, String value) {
    List<String> all = new ArrayList<>(2 * size() + 2);
    forEach((key, existing) -> Collections.addAll(all, key, existing));
    Collections.addAll(all, name, value);
    return new PairHeaders(all.toArray(String[]::new));
  }

  /** No headers. */
  static Headers empty() {
    return PairHeaders.EMPTY;
  }

  /**
   * Headers of alternating names and values.
   *
   * @throws IllegalArgumentException when a value is missing, or a name or value holds a line break
   */
  static Headers of(String... namesAndValues) {
    return namesAndValues.length == 0 ? empty() : PairHeaders.checked(namesAndValues.clone());
  }
}
