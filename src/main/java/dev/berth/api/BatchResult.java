package dev.berth.api;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The result of one request of a batch: a response, which may stream, or a failure of that request
 * alone. Exactly one of the two is null.
 */
public record BatchResult(@Nullable Response response, @Nullable Throwable failure) {
  /** Returns the response to a request. */
  public static BatchResult of(Response response) {
    return new BatchResult(Objects.requireNonNull(response, "response"), null);
  }

  /** Returns the failure of one request; the others of its batch are not affected. */
  public static BatchResult ofFailure(Throwable failure) {
    return new BatchResult(null, Objects.requireNonNull(failure, "failure"));
  }

  /**
   * Returns the results of a handler.
   *
   * @throws BerthException.HandlerFailed unless there is one for each request; the text is Ray
   *     Serve's
   */
  public static <T> List<T> requireSize(@Nullable List<T> results, int requests) {
    Objects.requireNonNull(results, "handler: null (expected: a list of results)");
    if (results.size() != requests) {
      throw new BerthException.HandlerFailed(
          "Batched function doesn't preserve batch size. The input list has length %s but the returned list has length %s."
              .formatted(requests, results.size()),
          null);
    }
    return results;
  }
}
