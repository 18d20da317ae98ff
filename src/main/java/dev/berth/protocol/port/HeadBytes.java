package dev.berth.protocol.port;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The size limit of a head written by user code: all parts of a request or response except its
 * body. The limit is the same inside an instance and between instances, where a message reserves
 * space for it.
 */
public final class HeadBytes {
  /** Maximum size of a head, in bytes of UTF-8, plus 3 for the length of each text. */
  public static final int MAX = 1 << 20;

  private static final int LENGTH_BYTES = 3;
  private static final int MAX_CHARACTER_BYTES = 3;

  /**
   * A bound, in bytes, below which a head is always within {@link #MAX}. The difference covers the
   * lengths of 64 texts that are not headers, more than any head has.
   */
  private static final int SURELY_WITHIN = MAX - 64 * LENGTH_BYTES;

  private HeadBytes() {}

  /**
   * Checks a head that consists of headers only.
   *
   * @throws BerthException.HandlerFailed when it exceeds {@link #MAX}
   */
  public static void check(Headers headers) {
    if (mayExceed(headers, 0)) {
      check(headers, new String[0]);
    }
  }

  /**
   * Returns whether a head may exceed the limit, which only {@link #check(Headers, String...)}
   * decides. Encodes nothing.
   *
   * @param characters number of characters of all texts except the headers
   */
  public static boolean mayExceed(Headers headers, long characters) {
    long bytes = MAX_CHARACTER_BYTES * characters;
    if (headers.size() > 0) {
      HeadByteCounter sum = new HeadByteCounter(false);
      headers.forEach(sum);
      bytes += sum.bytes;
    }
    return bytes > SURELY_WITHIN;
  }

  /**
   * Checks a head by encoding it.
   *
   * @param others the texts that are not headers
   * @throws BerthException.HandlerFailed when it exceeds {@link #MAX}
   */
  public static void check(Headers headers, @Nullable String... others) {
    HeadByteCounter exact = new HeadByteCounter(true);
    headers.forEach(exact);
    Stream.of(others).filter(Objects::nonNull).forEach(exact::add);
    if (exact.bytes > MAX) {
      throw new BerthException.HandlerFailed(
          "head_bytes: " + exact.bytes + " (expected: at most " + MAX + ")", null);
    }
  }

  /**
   * The size of texts in bytes, exact or an upper bound. A class, because lambdas would allocate
   * three objects per request.
   */
  private static final class HeadByteCounter implements BiConsumer<String, String> {
    private final boolean exact;
    private long bytes;

    HeadByteCounter(boolean exact) {
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
