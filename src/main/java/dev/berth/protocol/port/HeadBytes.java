package dev.berth.protocol.port;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
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

  /**
   * A shorter head is surely within {@link #MAX}. A head has fewer other texts than this leaves.
   */
  private static final int SURELY_WITHIN = MAX - 64 * LENGTH_BYTES;

  private HeadBytes() {}

  /**
   * Checks a head that is nothing but headers.
   *
   * @throws BerthException.HandlerFailed when it is over {@link #MAX}
   */
  public static void check(Headers headers) {
    if (mayExceed(headers, 0)) {
      check(headers, new String[0]);
    }
  }

  /**
   * Whether a head is so long that only {@link #check(Headers, String...)} can tell. Encodes
   * nothing.
   *
   * @param characters of all texts but the headers
   */
  public static boolean mayExceed(Headers headers, long characters) {
    long bytes = MAX_CHARACTER_BYTES * characters;
    if (headers.size() > 0) {
      Sum sum = new Sum(false);
      headers.forEach(sum);
      bytes += sum.bytes;
    }
    return bytes > SURELY_WITHIN;
  }

  /**
   * Checks a head by encoding it.
   *
   * @param others the texts beside its headers
   * @throws BerthException.HandlerFailed when it is over {@link #MAX}
   */
  public static void check(Headers headers, @Nullable String... others) {
    Sum exact = new Sum(true);
    headers.forEach(exact);
    Stream.of(others).filter(Objects::nonNull).forEach(exact::add);
    if (exact.bytes > MAX) {
      throw new BerthException.HandlerFailed(
          "head_bytes: " + exact.bytes + " (expected: at most " + MAX + ")", null);
    }
  }

  /** Bytes of texts, or a bound of them: a class, since lambdas would be three for each request. */
  private static final class Sum implements BiConsumer<String, String> {
    private final boolean exact;
    private long bytes;

    Sum(boolean exact) {
      this.exact = exact;
    }

    void add(String text) {
      bytes +=
          LENGTH_BYTES
              + (exact
                  ? text.getBytes(StandardCharsets.UTF_8).length
                  : (long) MAX_CHARACTER_BYTES * text.length());
    }

    @Override
    public void accept(String name, String value) {
      add(name);
      add(value);
    }
  }
}
