package dev.berth.api;

import io.vertx.core.Future;
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
   * DeploymentHandle#method}, and by requests from HTTP that name it in {@code
   * X-Serve-Call-Method}. Asked once, when the replica starts. Each is an {@link AsyncHandler} or a
   * {@link BlockingHandler} without methods and hooks of its own.
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
   * Figures of its own for the autoscaling policy of its deployment, by name: at most 16, with
   * names of 1 to 64 characters, each from -1e12 to 1e12. Called every {@code
   * berth.metrics.replica_record_interval_ms} while the deployment autoscales, one call at a time,
   * in a context that may block, beside requests; what is not known yet is waited for. A call that
   * fails, tells anything else, or takes more than {@code
   * berth.metrics.record_autoscaling_stats_timeout_ms}, for which it is interrupted, is counted and
   * changes nothing. What several handlers of one replica tell is added up. Source: Ray Serve's
   * {@code record_autoscaling_stats}.
   */
  default Future<? extends Map<String, ? extends Number>> recordAutoscalingStats()
      throws Exception {
    return Future.succeededFuture(Map.of());
  }

  /**
   * Called once when the replica has drained, in a context that may block; its failure is logged.
   */
  default void stop() throws Exception {}
}
