package dev.berth.api;

import io.vertx.core.Future;
import java.util.Map;

/**
 * User code that serves the requests of one replica: an {@link AsyncHandler}, a {@link
 * BlockingHandler}, or a {@link BatchedHandler} of several at once. A {@link HandlerFactory}
 * creates one object per replica, or one per replica and event loop with {@code berth.spread:
 * event_loops}.
 */
public sealed interface ReplicaHandler permits AsyncHandler, BlockingHandler, BatchedHandler {

  /**
   * Returns whether the handler receives bodies as they arrive ({@link Request.Body.Streamed});
   * default false.
   *
   * <p>By default the replica gathers the body before it calls the handler, and the request holds
   * its slot meanwhile. Bodies above the deployment's {@code berth.max_buffered_body_bytes} are
   * refused with 413. A streaming {@link AsyncHandler} is called at once with {@link
   * Request#stream()}, a streaming {@link BlockingHandler} with {@link Request#input()}.
   */
  default boolean streamsRequests() {
    return false;
  }

  /**
   * Returns further methods of the handler beside {@code handle}, by name. Callers reach them
   * through {@link DeploymentHandle#method}; HTTP requests name them in {@code
   * X-Serve-Call-Method}. Called once, when the replica starts. Each method is a handler without
   * methods and hooks of its own.
   */
  default Map<String, ReplicaHandler> methods() {
    return Map.of();
  }

  /**
   * Starts the handler. Called once after its creation and before the replica accepts requests, in
   * a context that may block.
   *
   * @throws Exception the replica does not start; the cause is reported
   */
  default void start() throws Exception {}

  /**
   * Applies the deployment's {@code user_config}. Called after {@link #start} if there is a
   * configuration, and again on each change, in a context that may block, concurrently with
   * requests. A running replica waits ten minutes for this hook, then interrupts it and reports a
   * failure.
   *
   * @throws Exception the replica does not start; a running replica continues to serve, and the
   *     change is reported as failed
   */
  default void reconfigure(Map<String, Object> userConfig) throws Exception {}

  /**
   * Checks the health of the replica. Called once after start and then every {@code
   * health_check_period_s}, in a context that may block. A check fails when it throws or takes
   * longer than {@code health_check_timeout_s}; three consecutive failures make the replica
   * unhealthy.
   */
  default void checkHealth() throws Exception {}

  /**
   * Returns custom statistics, by name, for the autoscaling policy of the deployment: at most 16,
   * with names of 1 to 64 characters and values from -1e12 to 1e12. The replica sums the statistics
   * of its handlers.
   *
   * <p>Called every {@code berth.metrics.replica_record_interval_ms} while the deployment
   * autoscales, one call at a time, in a context that may block, concurrently with requests. The
   * replica waits for the returned future. A call that takes longer than {@code
   * berth.metrics.record_autoscaling_stats_timeout_ms} is interrupted. A call that times out, fails
   * or returns other values is counted and changes nothing.
   *
   * <p>Source: Ray Serve's {@code record_autoscaling_stats}.
   */
  default Future<? extends Map<String, ? extends Number>> recordAutoscalingStats()
      throws Exception {
    return Future.succeededFuture(Map.of());
  }

  /**
   * Stops the handler. Called once when the replica has drained, in a context that may block. A
   * failure is logged.
   */
  default void stop() throws Exception {}
}
