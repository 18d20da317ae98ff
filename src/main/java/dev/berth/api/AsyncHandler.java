package dev.berth.api;

import io.vertx.core.Future;

/** A handler that runs on the replica's event loop and never blocks it. */
@FunctionalInterface
public non-sealed interface AsyncHandler extends ReplicaHandler {

  /**
   * Serves one request. Called on the replica's event loop. Requests run concurrently as
   * interleaved futures; at most {@code max_ongoing_requests} are incomplete at a time.
   *
   * @return the response. A failure or an exception becomes {@link BerthException.HandlerFailed}
   *     (HTTP 500), except that a {@link BerthException} keeps its kind, so that a child's
   *     back-pressure becomes the parent's.
   */
  Future<Response> handle(Request request, RequestContext context);

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
  static <I, O> AsyncHandler of(Class<I> body, AsyncFunction<I, O> function) {
    return new TypedBodies<>(body, function.getClass()).async(function);
  }
}
