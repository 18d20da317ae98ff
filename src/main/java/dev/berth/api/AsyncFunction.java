package dev.berth.api;

import io.vertx.core.Future;

/**
 * A handler of typed request bodies that never blocks its event loop. See {@link AsyncHandler#of}.
 *
 * @param <I> the type of request bodies
 * @param <O> the type of results
 */
@FunctionalInterface
public interface AsyncFunction<I, O> {

  /**
   * Serves one request.
   *
   * @param body never null
   * @return the result, not null; a {@link Response} is returned to the caller unchanged
   */
  Future<O> handle(I body, RequestContext context);
}
