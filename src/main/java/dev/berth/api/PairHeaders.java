package dev.berth.api;

import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Headers stored in one array of alternating names and values. With few headers a scan is cheaper
 * than a map.
 */
record PairHeaders(String[] pairs) implements Headers {
  static final PairHeaders EMPTY = new PairHeaders(new String[0]);

  static PairHeaders checked(String[] pairs) {
    if (pairs.length % 2 != 0) {
      throw new IllegalArgumentException(
          "headers: " + pairs.length + " strings (expected: a value for each name)");
    }
    for (String part : pairs) {
      if (part.indexOf('\n') >= 0 || part.indexOf('\r') >= 0) {
        // A line break would let a handler that copies user input split the response.
        throw new IllegalArgumentException("header: contains a line break (expected: one line)");
      }
    }
    return new PairHeaders(pairs);
  }

  @Override
  public @Nullable String get(String name) {
    for (int i = 0; i < pairs.length; i += 2) {
      if (pairs[i].equalsIgnoreCase(name)) {
        return pairs[i + 1];
      }
    }
    return null;
  }

  @Override
  public void forEach(BiConsumer<String, String> each) {
    for (int i = 0; i < pairs.length; i += 2) {
      each.accept(pairs[i], pairs[i + 1]);
    }
  }

  @Override
  public int size() {
    return pairs.length / 2;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("Headers[");
    for (int i = 0; i < pairs.length; i += 2) {
      text.append(i == 0 ? "" : ", ").append(pairs[i]); // names only: values may be secrets
    }
    return text.append(']').toString();
  }
}
