package dev.berth.api;

import io.vertx.core.Future;

/** A handler that runs on the replica's event loop and never blocks it. */
@FunctionalInterface
public non-sealed interface AsyncHandler extends ReplicaHandler {

  /**
   * Serves one request. Called on the replica's event loop, concurrently in the sense of
   * interleaved futures: up to {@code max_ongoing_requests} are unfinished at a time.
   *
   * @return the response; a failure or an exception becomes {@link BerthException.HandlerFailed}
   *     (HTTP 500), except that a {@link BerthException} keeps its kind, so that a child's
   *     back-pressure becomes the parent's
   */
  Future<Response> handle(Request request, RequestContext context);

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
  static <I, O> AsyncHandler of(Class<I> body, AsyncFunction<I, O> function) {
    return new TypedBodies<>(body, function.getClass()).async(function);
  }
}
