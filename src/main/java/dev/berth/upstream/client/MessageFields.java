package dev.berth.upstream.client;

import java.util.Arrays;

/** Characters and values of header fields. */
final class MessageFields {
  /** The characters of a token (RFC 9110, 5.6.2). */
  static final boolean[] TOKEN = new boolean[256];

  static {
    for (char each : "!#$%&'*+-.^_`|~".toCharArray()) {
      TOKEN[each] = true;
    }
    Arrays.fill(TOKEN, '0', '9' + 1, true);
    Arrays.fill(TOKEN, 'A', 'Z' + 1, true);
    Arrays.fill(TOKEN, 'a', 'z' + 1, true);
  }

  private MessageFields() {}

  /** Returns the index of the first illegal character, -1 for none. */
  static int illegalAt(String text, boolean[] legal) {
    for (int at = 0; at < text.length(); at++) {
      if (text.charAt(at) > 255 || !legal[text.charAt(at)]) {
        return at;
      }
    }
    return -1;
  }

  /** Refuses a text with an illegal character, which may be a secret. */
  static void check(String text, boolean[] legal, String part) {
    int at = illegalAt(text, legal);
    if (at >= 0 || (text.isEmpty() && legal == TOKEN)) {
      throw new IllegalArgumentException(
          at < 0
              ? part + ": empty (expected: a token)"
              : "%s: character 0x%02x (expected: none)".formatted(part, (int) text.charAt(at)));
    }
  }

  /** Returns whether a comma-separated list contains an element. */
  static boolean isListed(String list, String element) {
    return Arrays.stream(list.split(",")).anyMatch(each -> each.strip().equalsIgnoreCase(element));
  }

  /** Returns the timeout of a {@code Keep-Alive} field in seconds; the maximum if it has none. */
  static int timeoutSeconds(String value) {
    for (String each : value.split(",")) {
      String parameter = each.strip();
      if (parameter.regionMatches(true, 0, "timeout=", 0, 8)) {
        try {
          return Math.max(0, Integer.parseInt(parameter.substring(8)));
        } catch (NumberFormatException other) {
          return 0;
        }
      }
    }
    return Integer.MAX_VALUE;
  }
}
