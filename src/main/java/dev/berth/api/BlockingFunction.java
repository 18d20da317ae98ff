package dev.berth.api;

/**
 * A handler of typed request bodies that may block. See {@link BlockingHandler#of}.
 *
 * @param <I> the type of request bodies
 * @param <O> the type of results
 */
@FunctionalInterface
public interface BlockingFunction<I, O> {

  /**
   * Serves one request.
   *
   * @param body never null
   * @return the result, not null; a {@link Response} is returned to the caller unchanged
   * @throws Exception as {@link BlockingHandler#handle} does
   */
  O handle(I body, RequestContext context) throws Exception;
}
