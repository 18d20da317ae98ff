package dev.berth.api;

/**
 * Serves requests whose bodies are values; it may block. See {@link BlockingHandler#of}.
 *
 * @param <I> what the body of a request is
 * @param <O> what is answered
 */
@FunctionalInterface
public interface BlockingFunction<I, O> {

  /**
   * Serves one request.
   *
   * @param body never null
   * @return the answer, not null; a {@link Response} is answered as it is
   * @throws Exception as {@link BlockingHandler#handle} does
   */
  O handle(I body, RequestContext context) throws Exception;
}
