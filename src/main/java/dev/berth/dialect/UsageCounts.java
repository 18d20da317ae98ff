package dev.berth.dialect;

import static dev.berth.dialect.TokenUsage.UNKNOWN;

/** The token counts of one document, as the members of its usage objects report them. */
final class UsageCounts {
  private static final long MAX_COUNT = 1_000_000_000_000_000L; // tokens, exclusive
  private static final long BAD_COUNT = -2;

  private long input = UNKNOWN;
  private long cached;
  private long output = UNKNOWN;

  /**
   * Returns a count with one more byte: negative unless all bytes are digits of a JSON integer.
   *
   * @param count {@link TokenUsage#UNKNOWN} before the first byte
   */
  static long append(long count, byte digit) {
    boolean valid =
        digit >= '0'
            && digit <= '9'
            && count != BAD_COUNT
            && count != 0 // no leading zero
            && count < MAX_COUNT / 10;
    return valid ? Math.max(count, 0) * 10 + (digit - '0') : BAD_COUNT;
  }

  /**
   * Records a member of a usage object.
   *
   * @param first whether the object is in Anthropic's first event, which has no final output
   */
  void add(String name, long count, boolean first) {
    if (count >= 0) {
      switch (name) {
        case "prompt_tokens", "input_tokens" -> input = count;
        case "cache_creation_input_tokens", "cache_read_input_tokens" -> cached += count;
        case "completion_tokens", "output_tokens" -> output = first ? output : count;
        default -> {}
      }
    }
  }

  boolean isReported() {
    return input >= 0 || output >= 0;
  }

  /** Returns the reported usage, each number with {@code before} as its default. */
  TokenUsage usage(TokenUsage before) {
    return new TokenUsage(
        input < 0 ? before.input() : input + cached, output < 0 ? before.output() : output);
  }
}
