package dev.berth.api;

import java.util.List;

/** A handler of batches that may block. Runs on a thread of its replica, one per batch. */
@FunctionalInterface
public non-sealed interface BatchHandler extends BatchedHandler {

  /**
   * Serves the requests of one batch. The thread is interrupted once all of them are cancelled.
   *
   * @return as many results, in the order of the requests; another number fails all of them
   * @throws Exception fails all requests of the batch, as {@link BlockingHandler#handle} does
   */
  List<BatchResult> handle(List<BatchItem> items) throws Exception;

  /**
   * Creates a handler of typed values, as {@link BlockingHandler#of} does. A request with an
   * invalid body gets status 400, and the function receives the others.
   */
  static <I, O> BatchHandler of(Class<I> body, BatchFunction<I, O> function) {
    return new TypedBodies<>(body, function.getClass()).batch(function);
  }
}
