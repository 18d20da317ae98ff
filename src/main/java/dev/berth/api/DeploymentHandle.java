package dev.berth.api;

import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Client of one deployment. A handle belongs to the context it was created for. Its futures
 * complete on that context, each in a task of its own, so a callback may call the handle again. A
 * call from another thread is dispatched to that context. Handles are immutable and cheap: methods
 * that change options return a new handle.
 *
 * <p>A handle from {@link RequestContext#handle} calls on behalf of that request. A handle from
 * {@link ReplicaContext#handle} is for work outside any request and propagates no request data.
 *
 * <p>Source: Ray Serve's DeploymentHandle; choose and dispatch follow Ray #63254. Berth differs: a
 * selection is a lease with a time to live, so a lost owner leaks no slot.
 */
public interface DeploymentHandle {

  /** Returns the deployment that this handle calls. */
  DeploymentId deployment();

  /** Returns the options of calls through this handle. */
  CallOptions options();

  /** Returns a handle to the same deployment with the given options only. */
  DeploymentHandle options(CallOptions options);

  /** Returns a handle whose calls have this timeout: {@link CallOptions#withTimeout}. */
  default DeploymentHandle withTimeout(Duration timeout) {
    return options(options().withTimeout(timeout));
  }

  /**
   * Returns a handle that calls one of the handler's {@link ReplicaHandler#methods()} instead of
   * {@code handle}.
   */
  default DeploymentHandle method(String name) {
    return options(options().withMethodName(name));
  }

  /** Returns a handle for another session: {@link CallOptions#withSessionId}. */
  default DeploymentHandle withSessionId(String sessionId) {
    return options(options().withSessionId(sessionId));
  }

  /** Returns a handle whose calls have this request id: {@link CallOptions#withRequestId}. */
  default DeploymentHandle withRequestId(String requestId) {
    return options(options().withRequestId(requestId));
  }

  /**
   * Returns a handle whose selections have this lease time: {@link CallOptions#withReservationTtl}.
   */
  default DeploymentHandle withReservationTtl(Duration ttl) {
    return options(options().withReservationTtl(ttl));
  }

  /** Returns a handle whose calls take this many slots each: {@link CallOptions#withCost}. */
  default DeploymentHandle withCost(int slots) {
    return options(options().withCost(slots));
  }

  /**
   * Returns a handle that sends and receives typed values: {@code prices.typed(Order.class,
   * Price.class).call(order)}.
   *
   * @param request the type of sent values: a class of the application that Jackson can write, such
   *     as a record
   * @param response the type of received values: a class of the application that Jackson can read
   * @throws IllegalStateException when the application's jars have no {@code
   *     com.fasterxml.jackson.core:jackson-databind}
   */
  default <I, O> TypedHandle<I, O> typed(Class<I> request, Class<O> response) {
    return TypedHandle.of(this, request, response, false);
  }

  /**
   * Sends a request to a replica with a free slot, or waits for one in the deployment's queue.
   *
   * @return the response; fails only with a {@link BerthException}. To cancel the call, use {@link
   *     #start(Request)} and {@link Pending#cancel()}.
   */
  default Future<Response> call(Request request) {
    return start(request).future();
  }

  /** Starts a {@link #call} that can be cancelled. */
  Pending<Response> start(Request request);

  /**
   * Sends a request as {@link #call} does, and returns every body as a stream of buffers, whole
   * bodies too.
   *
   * @return completes when the head of the response arrives
   */
  Future<StreamedResponse> stream(Request request);

  /**
   * Chooses a replica and reserves one of its slots, or as many as the cost of this handle, waiting
   * in the same queue as calls. A dispatch of the selection uses the method name, the session and
   * the cost that this handle has now.
   *
   * @return the selection, which the caller must dispatch or close; otherwise its lease expires
   */
  default Future<ReplicaSelection> choose() {
    return startChoose().future();
  }

  /** Starts a {@link #choose} that can be cancelled. */
  Pending<ReplicaSelection> startChoose();

  /**
   * Reserves one slot for each of several handles of one instance, all or none. {@link Selections}
   * states the rules.
   *
   * @param handles one for each slot, this handle first
   * @param wait the maximum wait for all slots; the timeouts of the handles apply too. Zero means
   *     no wait, empty no maximum.
   */
  Pending<Selections> startChooseAll(
      List<? extends DeploymentHandle> handles, Optional<Duration> wait);

  /**
   * Sends a request to every running replica. The request takes a slot on each replica. When a
   * replica has no free slot, its copy of the request waits until the call's timeout or {@code
   * berth.queue_timeout_s}; the limits of the queue include these waits. The outcome of one replica
   * does not affect the others.
   *
   * @param request with a whole body
   * @return one outcome for each replica that ran at the time of the call, when all are complete.
   *     Fails with {@link BerthException.DeploymentUnavailable} when no replica ran, and with
   *     {@link IllegalArgumentException} for a streamed body.
   */
  Future<List<BroadcastAnswer>> broadcast(Request request);

  /**
   * Chooses a replica, runs {@code use}, and closes the selection when the future of {@code use}
   * completes, whether it succeeded or failed. A failed close never hides a failure of {@code use}.
   */
  default <T> Future<T> withSelection(Function<ReplicaSelection, Future<T>> use) {
    return choose().compose(chosen -> Selections.closing(chosen, use, ReplicaSelection::close));
  }
}
