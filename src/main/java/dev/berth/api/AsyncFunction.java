package dev.berth.api;

import io.vertx.core.Future;

/**
 * Serves requests whose bodies are values; it never blocks its event loop. See {@link
 * AsyncHandler#of}.
 *
 * @param <I> what the body of a request is
 * @param <O> what is answered
 */
@FunctionalInterface
public interface AsyncFunction<I, O> {

  /**
   * Serves one request.
   *
   * @param body never null
   * @return the answer, not null; a {@link Response} is answered as it is
   */
  Future<O> handle(I body, RequestContext context);
}
