package dev.berth.api;

import io.vertx.core.Future;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.slf4j.Logger;

/**
 * What the runtime knows of one request while a handler runs it. Any thread may call it.
 *
 * <p>Source: Ray Serve's request context, and its request cancellation.
 */
public interface RequestContext {

  /** The request's id, from {@code X-Request-ID} or made by the ingress; passed to calls made. */
  String requestId();

  /**
   * Who the request is for: the {@code X-Session-ID} header at the ingress, or {@link
   * CallOptions#sessionId} of the call, or its parent's. Empty when neither was given.
   */
  Optional<String> sessionId();

  /** The deployment whose handler runs it. */
  DeploymentId deployment();

  /** The application of {@link #deployment()}. */
  default String application() {
    return deployment().application();
  }

  /** The replica that runs it. */
  String replicaId();

  /** Which of the handler's {@link ReplicaHandler#methods()} runs; {@code ""} is the handler. */
  String methodName();

  /** The headers of the request. */
  Headers headers();

  /**
   * When the request reached the router of the instance that sent it here: with its head, when it
   * came by HTTP. By the wall clock, less the time since measured by the monotonic one.
   */
  Instant arrivedAtRouter();

  /** When this replica accepted it, with its slot. Not before {@link #arrivedAtRouter}. */
  Instant arrivedAtReplica();

  /** Time left until the deadline; empty when the request has none. Zero when it has passed. */
  Optional<Duration> remaining();

  /**
   * This request with a deadline for a piece of its work, of however many calls: those through
   * handles of what is returned end by then, with {@link BerthException.Timeout}, or by this
   * request's own deadline when that is earlier. Nothing else of the request changes; what ran out
   * of its piece may still be answered otherwise.
   *
   * @param budget from now on; of zero or less every call is out of time at once
   * @see CallOptions#withTimeout a bound for each call by itself
   */
  RequestContext withTimeout(Duration budget);

  /** The time of day: the instance's, or under a test kit that of its clock. */
  Instant now();

  /**
   * A handle to a deployment of the same application, for calls on behalf of this request. Its
   * calls, chooses and broadcasts
   *
   * <ul>
   *   <li>carry this request's id and session, unless the handle's options name others;
   *   <li>end by this request's deadline, or by their own timeout when that is earlier;
   *   <li>pass on {@code traceparent} and {@code tracestate}, unless the request sent has a {@code
   *       traceparent} of its own;
   *   <li>are cancelled when this request is: what waits leaves its queue, what runs is cancelled
   *       at its replica, a body that streams fails, a selection that was not dispatched is closed.
   *       Begun afterwards, they fail at once with {@link BerthException.Cancelled}.
   * </ul>
   *
   * A request that merely ends leaves its children running: who starts work without waiting for it
   * means that (as in Ray Serve, which cancels children on the parent's cancellation alone). Each
   * child is known to its parent until it ends, and no longer.
   *
   * <p>What is to outlive the request's cancellation, or has none, takes {@link
   * ReplicaContext#handle}. Nothing is remembered across threads, as Ray's context variables are.
   *
   * @throws IllegalArgumentException when the application has no such deployment
   */
  DeploymentHandle handle(String deployment);

  /** True once the caller cancelled, left, or ran out of time: the result no longer matters. */
  boolean cancelled();

  /**
   * Runs an action when the request is cancelled, at once if it is already; on the replica's
   * context. The slot stays taken until the handler settles, so react by settling. Nothing runs
   * once the request has ended.
   *
   * @return withdraws the action; without effect once it has run. A handler that waits for many
   *     things in turn withdraws what is over, or its list grows.
   */
  Runnable onCancel(Runnable action);

  /**
   * Completes after a delay on the replica's context, without blocking; fails with {@link
   * BerthException.Cancelled} when the request is cancelled or answered first.
   */
  Future<Void> after(Duration delay);

  /**
   * A logger named {@code <application>.<deployment>}, whose lines carry the key-value pairs {@code
   * request_id} and {@code replica}, and {@code session_id} when there is one. The pairs are part
   * of the line and not of the thread, so they are right in any callback of an asynchronous handler
   * too, where an MDC would be another request's. Made when first asked for.
   */
  Logger logger();

  /** The meters of this replica: those of {@link ReplicaContext#meters()}. */
  ReplicaMeters meters();
}
