package dev.berth.api;

/**
 * User code that serves the requests of one replica: an {@link AsyncHandler} or a {@link
 * BlockingHandler}. One object is made per replica (per replica and event loop with {@code
 * berth.spread: event_loops}) by a {@link HandlerFactory}.
 */
public sealed interface ReplicaHandler permits AsyncHandler, BlockingHandler {

  /**
   * Called once when the replica has drained, in a context that may block; its failure is logged.
   */
  default void stop() throws Exception {}
}
