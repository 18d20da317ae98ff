package dev.berth.ingress;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Source of request ids of one event loop. Uses the client's {@code X-Request-ID} if valid, else a
 * generated id, which is unique, cheap and not secret. Confined to the event loop.
 */
final class RequestIds {
  /** Maximum length of a client's id in characters. */
  static final int MAX_LENGTH = 128;

  private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
  private static final int MAX_DIGITS = 16;

  private final byte[] text; // the prefix, and space for a number
  private final int prefix; // its length
  private long made;

  /**
   * @param random number unique to each loop and start, which keeps their ids apart
   */
  RequestIds(long random) {
    byte[] start = (Long.toHexString(random) + "-").getBytes(StandardCharsets.US_ASCII);
    this.prefix = start.length;
    this.text = Arrays.copyOf(start, prefix + MAX_DIGITS);
  }

  /** Returns the client's id if it is 1 to 128 visible ASCII characters, else a new one. */
  String idFor(@Nullable String fromClient) {
    return fromClient != null && isValid(fromClient) ? fromClient : next();
  }

  /** Creates an id in one array; a concatenation would allocate three strings. */
  private String next() {
    long number = ++made;
    int end = prefix + (Long.SIZE - Long.numberOfLeadingZeros(number) + 3) / 4;
    for (int i = end - 1; i >= prefix; i--) {
      text[i] = DIGITS[(int) number & 0xf];
      number >>>= 4;
    }
    return new String(text, 0, end, StandardCharsets.ISO_8859_1);
  }

  private static boolean isValid(String id) {
    if (id.isEmpty() || id.length() > MAX_LENGTH) {
      return false;
    }
    for (int i = 0; i < id.length(); i++) {
      char c = id.charAt(i);
      if (c <= ' ' || c > '~') {
        return false; // could inject log lines or headers
      }
    }
    return true;
  }
}
