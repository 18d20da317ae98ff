package dev.berth.api;

/**
 * A handler that may block. Runs on one of at most {@code max_ongoing_requests} threads of its
 * replica, or with {@code berth.threads: virtual} on a virtual thread. Calls are concurrent up to
 * that number.
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
   * A handler of values: bodies are read as JSON, and what it answers is written as JSON with
   * status 200. A body that is none of them is answered with 400 and {@code {"code":
   * "invalid_body", "field", "message"}}, and the function is not called.
   *
   * <p>The JSON is Jackson's, of the application's own jars, with the modules that are there.
   * Values are passed on as {@link TypedHandle} says.
   *
   * @param body a class of the application that Jackson can read, such as a record
   * @throws IllegalStateException when the application's jars have no {@code
   *     com.fasterxml.jackson.core:jackson-databind}
   */
  static <I, O> BlockingHandler of(Class<I> body, BlockingFunction<I, O> function) {
    return new TypedBodies<>(body, function.getClass()).blocking(function);
  }
}
