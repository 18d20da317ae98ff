package dev.berth.dialect;

import static dev.berth.dialect.TokenUsage.UNKNOWN;

import io.vertx.core.buffer.Buffer;
import java.util.Set;

/**
 * Reads the token counts of a whole JSON response, by the rules of {@link UsageReader}, at a
 * fraction of its time.
 */
public final class UsageScanner extends JsonWalker {
  private static final String USAGE = "usage";
  private static final Set<String> AROUND_USAGE = Set.of("response", "message");
  private static final int MAX_DIGITS = 15;

  private long input = UNKNOWN;
  private long cached;
  private long output = UNKNOWN;

  private UsageScanner(Buffer body) {
    super(body);
  }

  /** Returns the usage in a whole JSON response. Broken JSON reports none. */
  public static TokenUsage scan(Buffer body) {
    UsageScanner scanner = new UsageScanner(body);
    try {
      scanner.skipSpace();
      scanner.expect('{');
      scanner.readMembers(name -> scanner.readMember(name, AROUND_USAGE.contains(name)));
      scanner.requireEnd();
    } catch (DialectProblem broken) {
      return TokenUsage.NONE;
    }
    return new TokenUsage(
        scanner.input < 0 ? UNKNOWN : scanner.input + scanner.cached, scanner.output);
  }

  private void readMember(String name, boolean around) {
    if (name.equals(USAGE) && take('{')) {
      readMembers(this::readCount);
    } else if (around && take('{')) {
      readMembers(inner -> readMember(inner, false));
    } else {
      skipValue();
    }
  }

  private void readCount(String name) {
    int start = at;
    skipValue();
    long count = count(start);
    if (count >= 0) {
      switch (name) {
        case "prompt_tokens", "input_tokens" -> input = count;
        case "cache_creation_input_tokens", "cache_read_input_tokens" -> cached += count;
        case "completion_tokens", "output_tokens" -> output = count;
        default -> {}
      }
    }
  }

  /** Returns the number that ends at the position; negative for another value. */
  private long count(int start) {
    long count = at - start > MAX_DIGITS ? UNKNOWN : 0;
    for (int i = start; i < at && count >= 0; i++) {
      byte digit = peek(i);
      count = digit < '0' || digit > '9' ? UNKNOWN : 10 * count + (digit - '0');
    }
    return count;
  }
}
