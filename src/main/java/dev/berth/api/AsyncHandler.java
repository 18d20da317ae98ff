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
}
