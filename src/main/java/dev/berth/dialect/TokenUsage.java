package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;

/**
 * Tokens of a request as its server reports them; {@link #UNKNOWN} where it reports none.
 *
 * @param input tokens of the prompt, those from a cache among them
 * @param output tokens of the response
 */
public record TokenUsage(long input, long output) {
  public static final long UNKNOWN = -1;
  public static final TokenUsage NONE = new TokenUsage(UNKNOWN, UNKNOWN);

  /** Returns the usage in a whole JSON response. Broken JSON reports none. */
  public static TokenUsage ofAnswer(Buffer body) {
    EventStream document = EventStream.ofDocument(UsageMode.READ);
    document.pass(body);
    document.end();
    return document.usage();
  }
}
