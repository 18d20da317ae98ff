package dev.berth.api;

import io.vertx.core.Future;
import java.util.List;

/** A handler of batches that runs on the replica's event loop and never blocks it. */
@FunctionalInterface
public non-sealed interface AsyncBatchHandler extends BatchedHandler {

  /**
   * Serves the requests of one batch. Called on the event loop of the first request.
   *
   * @return as many results, in the order of the requests; another number fails all of them, as a
   *     failure or an exception does
   */
  Future<List<BatchResult>> handle(List<BatchItem> items);
}
