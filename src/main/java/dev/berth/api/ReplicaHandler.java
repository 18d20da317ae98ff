package dev.berth.api;

import java.util.Map;

/**
 * User code that serves the requests of one replica: an {@link AsyncHandler} or a {@link
 * BlockingHandler}. One object is made per replica (per replica and event loop with {@code
 * berth.spread: event_loops}) by a {@link HandlerFactory}.
 */
public sealed interface ReplicaHandler permits AsyncHandler, BlockingHandler {

  /**
   * Whether the handler wants bodies as they arrive ({@link Request.Body.Streamed}). By default it
   * is called when a body is whole, and bodies above the deployment's {@code
   * berth.max_buffered_body_bytes} are refused with 413; the request holds its slot while its body
   * is gathered. An {@link AsyncHandler} that streams is called at once with {@link
   * Request#stream()}, a {@link BlockingHandler} with {@link Request#input()}.
   */
  default boolean streamsRequests() {
    return false;
  }

  /**
   * What the handler does beside its own {@code handle}, by name: called through {@link
   * DeploymentHandle#method}. Asked once, when the replica starts; requests from HTTP never reach
   * them. Each is an {@link AsyncHandler} or a {@link BlockingHandler} without methods and hooks of
   * its own.
   */
  default Map<String, ReplicaHandler> methods() {
    return Map.of();
  }

  /**
   * Called once before the replica takes requests, after it was made, in a context that may block.
   *
   * @throws Exception the replica does not start; the cause is reported
   */
  default void start() throws Exception {}

  /**
   * Takes the deployment's {@code user_config}: after {@link #start} when there is one, and later
   * each time it changes; in a context that may block, beside requests under way. A replica that
   * runs waits for it for ten minutes, then interrupts it and counts it as failed.
   *
   * @throws Exception the replica does not start; or, when it runs, serves on, and the change has
   *     failed
   */
  default void reconfigure(Map<String, Object> userConfig) throws Exception {}

  /**
   * Called once after start and then every {@code health_check_period_s}, in a context that may
   * block. A call that throws or takes more than {@code health_check_timeout_s} is a failure; three
   * in a row make the replica unhealthy.
   */
  default void checkHealth() throws Exception {}

  /**
   * Called once when the replica has drained, in a context that may block; its failure is logged.
   */
  default void stop() throws Exception {}
}
