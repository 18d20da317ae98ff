package dev.berth.dialect;

import static dev.berth.dialect.TokenUsage.UNKNOWN;

import io.vertx.core.buffer.Buffer;
import java.util.Set;

/**
 * Reads the token counts of a whole JSON response, by the rules of {@link UsageReader}, at a
 * fraction of its time.
 */
public final class UsageScanner extends JsonWalker {
  private static final Set<String> AROUND_USAGE = Set.of("response", "message");

  private final UsageCounts counts = new UsageCounts();

  private UsageScanner(Buffer body) {
    super(body, false);
  }

  /** Returns the usage in a whole JSON response. Broken JSON reports none. */
  public static TokenUsage scan(Buffer body) {
    UsageScanner scanner = new UsageScanner(body);
    try {
      scanner.skipSpace();
      scanner.expect('{');
      scanner.readMembers(name -> scanner.readMember(name, ""));
      scanner.requireEnd();
    } catch (DialectProblem broken) {
      return TokenUsage.NONE;
    }
    return scanner.counts.usage(TokenUsage.NONE);
  }

  /**
   * @param in name of the object with the member; empty for the document
   */
  private void readMember(String name, String in) {
    if (name.equals("usage") && take('{')) {
      readMembers(member -> readCount(member, in.equals("message")));
    } else if (in.isEmpty() && AROUND_USAGE.contains(name) && take('{')) {
      readMembers(inner -> readMember(inner, name));
    } else {
      skipValue();
    }
  }

  private void readCount(String name, boolean first) {
    int start = at;
    skipValue();
    long count = UNKNOWN;
    for (int i = start; i < at && count >= UNKNOWN; i++) {
      count = UsageCounts.append(count, peek(i));
    }
    counts.add(name, count, first);
  }
}
