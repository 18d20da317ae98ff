package dev.berth.api;

import io.vertx.core.Future;
import java.time.Duration;
import java.util.Optional;

/** What the runtime knows of one request while a handler runs it. */
public interface RequestContext {

  /** The request's id, from {@code X-Request-ID} or made by the ingress; passed to calls made. */
  String requestId();

  /** The replica that runs it. */
  String replicaId();

  /** Time left until the deadline; empty when the request has none. Zero when it has passed. */
  Optional<Duration> remaining();

  /** True once the caller cancelled, left, or ran out of time: the result no longer matters. */
  boolean cancelled();

  /**
   * Runs an action when the request is cancelled, at once if it is already; on the replica's
   * context. The slot stays taken until the handler settles, so react by settling.
   */
  void onCancel(Runnable action);

  /**
   * Completes after a delay on the replica's context, without blocking; fails with {@link
   * BerthException.Cancelled} when the request is cancelled first.
   */
  Future<Void> after(Duration delay);
}
