package dev.berth.api;

/**
 * A handler that may block. Runs on one of at most {@code max_ongoing_requests} threads of its
 * replica, or on a virtual thread with {@code berth.threads: virtual}. Up to that number of calls
 * run concurrently.
 */
@FunctionalInterface
public non-sealed interface BlockingHandler extends ReplicaHandler {

  /**
   * Serves one request; cancellation interrupts the thread.
   *
   * @throws Exception becomes {@link BerthException.HandlerFailed} (HTTP 500), except that a {@link
   *     BerthException} keeps its kind
   */
  Response handle(Request request, RequestContext context) throws Exception;

  /**
   * Creates a handler of typed values. Request bodies are parsed as JSON, and results are returned
   * as JSON with status 200. For a body that is not a valid {@code I}, the handler returns status
   * 400 with {@code {"code": "invalid_body", "field", "message"}} and does not call the function.
   *
   * <p>The JSON codec is the Jackson of the application's own jars, with all modules found there.
   * Values are passed as {@link TypedHandle} describes.
   *
   * @param body a class of the application that Jackson can read, such as a record
   * @throws IllegalStateException when the application's jars have no {@code
   *     com.fasterxml.jackson.core:jackson-databind}
   */
  static <I, O> BlockingHandler of(Class<I> body, BlockingFunction<I, O> function) {
    return new TypedBodies<>(body, function.getClass()).blocking(function);
  }
}
