package dev.berth.api;

/**
 * A handler that serves several requests at once: a {@link BatchHandler} or an {@link
 * AsyncBatchHandler}. Its deployment declares {@link Deployment#withBatching} or the section {@code
 * berth.batching}. Request bodies are whole.
 */
public sealed interface BatchedHandler extends ReplicaHandler
    permits BatchHandler, AsyncBatchHandler {
  /**
   * Returns the size of a request, which {@code max_batch_items} bounds per batch; default 1.
   * Called on the replica's event loop.
   */
  default int itemSize(Request request) {
    return 1;
  }
}
