package dev.berth.protocol.port;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import java.nio.charset.StandardCharsets;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The size of the head that user code gives to a request or a response: all but its body. Its limit
 * is the same inside an instance and between instances, where a message has room for it.
 */
public final class HeadBytes {
  /** Maximum of a head, in bytes of UTF-8, with 3 for the length of each text. */
  public static final int MAX = 1 << 20;

  private static final int LENGTH_BYTES = 3;
  private static final int MAX_CHARACTER_BYTES = 3;

  private HeadBytes() {}

  /**
   * Checks a head. Only one that may be too large is encoded to be measured.
   *
   * @throws BerthException.HandlerFailed when it is over {@link #MAX}
   */
  public static void check(Headers headers, @Nullable String... others) {
    if (sum(headers, others, text -> (long) MAX_CHARACTER_BYTES * text.length()) > MAX) {
      long exact = sum(headers, others, text -> text.getBytes(StandardCharsets.UTF_8).length);
      if (exact > MAX) {
        throw new BerthException.HandlerFailed(
            "head_bytes: " + exact + " (expected: at most " + MAX + ")", null);
      }
    }
  }

  private static long sum(Headers headers, @Nullable String[] others, ToLongFunction<String> size) {
    long[] sum = {0};
    headers.forEach(
        (name, value) ->
            sum[0] += 2L * LENGTH_BYTES + size.applyAsLong(name) + size.applyAsLong(value));
    for (String other : others) {
      sum[0] += other == null ? 0 : LENGTH_BYTES + size.applyAsLong(other);
    }
    return sum[0];
  }
}
