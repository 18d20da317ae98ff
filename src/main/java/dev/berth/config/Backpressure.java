package dev.berth.config;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code backpressure_config}: what a client is told when the queue of a deployment is full.
 *
 * @param statusCode 503 or 429
 * @param retryAfter the Retry-After to send, whole seconds; null computes it from queue and rate
 */
public record Backpressure(int statusCode, @Nullable Duration retryAfter) {

  static final Key<Integer> STATUS_CODE =
      Key.of(
          "status_code",
          Types.choice(List.of(503, 429)),
          Defaults.BACKPRESSURE_STATUS_CODE,
          "HTTP status of a request refused because the queue is full.");
  static final Key<Duration> RETRY_AFTER_S =
      Key.optional(
          "retry_after_s",
          Types.wholeSeconds(0, 86_400),
          "Retry-After to send with it; null computes it from the queue and its rate.");

  static final Section SECTION = Section.of(STATUS_CODE, RETRY_AFTER_S);

  /** Checks each value against its key. */
  public Backpressure {
    STATUS_CODE.require(statusCode);
    RETRY_AFTER_S.requireIfSet(retryAfter);
  }

  /** What a deployment that says nothing does: 503 and a computed Retry-After. */
  public static Backpressure defaults() {
    return new Backpressure(Defaults.BACKPRESSURE_STATUS_CODE, null);
  }

  static Backpressure from(Values values) {
    return new Backpressure(values.get(STATUS_CODE), values.find(RETRY_AFTER_S));
  }
}
