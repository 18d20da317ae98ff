package dev.berth.api;

import java.util.List;

/**
 * A handler of batches of typed request bodies, which may block. See {@link BatchHandler#of}.
 *
 * @param <I> the type of request bodies
 * @param <O> the type of results
 */
@FunctionalInterface
public interface BatchFunction<I, O> {

  /**
   * Serves the requests of one batch.
   *
   * @param bodies never empty, without nulls
   * @return as many results, in the same order, not null; a {@link Response} is returned to its
   *     caller unchanged
   */
  List<O> handle(List<I> bodies) throws Exception;
}
