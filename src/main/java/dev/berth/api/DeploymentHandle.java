package dev.berth.api;

import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Calls a deployment. A handle belongs to the context it was made for: its futures complete there,
 * each in a task of its own, so a callback may call the handle again. Calls from another thread
 * hop. Handles are immutable and cheap: those with other options are others.
 *
 * <p>The handle of a request, {@link RequestContext#handle}, calls on that request's behalf. That
 * of a replica, {@link ReplicaContext#handle}, is for work outside any request: it carries nothing.
 *
 * <p>Source: Ray Serve's DeploymentHandle; choose and dispatch are Ray #63254's. Ours differs: a
 * selection is a lease with a time to live, so an owner that vanishes strands nothing.
 */
public interface DeploymentHandle {

  /** The deployment called. */
  DeploymentId deployment();

  /** How it is called. */
  CallOptions options();

  /** The same deployment, called with these options and no others. */
  DeploymentHandle options(CallOptions options);

  /** The same, with calls that take no longer: {@link CallOptions#withTimeout}. */
  default DeploymentHandle withTimeout(Duration timeout) {
    return options(options().withTimeout(timeout));
  }

  /**
   * The same, calling one of the handler's {@link ReplicaHandler#methods()} and not its own {@code
   * handle}.
   */
  default DeploymentHandle method(String name) {
    return options(options().withMethodName(name));
  }

  /** The same, for another session: {@link CallOptions#withSessionId}. */
  default DeploymentHandle withSessionId(String sessionId) {
    return options(options().withSessionId(sessionId));
  }

  /** The same, under another request id: {@link CallOptions#withRequestId}. */
  default DeploymentHandle withRequestId(String requestId) {
    return options(options().withRequestId(requestId));
  }

  /** The same, with other leases of its selections: {@link CallOptions#withReservationTtl}. */
  default DeploymentHandle withReservationTtl(Duration ttl) {
    return options(options().withReservationTtl(ttl));
  }

  /**
   * The same, called with values: {@code prices.typed(Order.class, Price.class).call(order)}.
   *
   * @param request what is sent, and {@code response} what is answered: classes of the application
   *     that Jackson can write and read, such as records
   * @throws IllegalStateException when the application's jars have no {@code
   *     com.fasterxml.jackson.core:jackson-databind}
   */
  default <I, O> TypedHandle<I, O> typed(Class<I> request, Class<O> response) {
    return TypedHandle.of(this, request, response, false);
  }

  /**
   * Sends a request to a replica with a free slot, or waits in the deployment's queue for one.
   *
   * @return the response; fails with a {@link BerthException} and nothing else. Cancel through
   *     {@link Pending#cancel()} of {@link #start(Request)}.
   */
  default Future<Response> call(Request request) {
    return start(request).future();
  }

  /** As {@link #call}, with a way to cancel. */
  Pending<Response> start(Request request);

  /**
   * As {@link #call}, with the body as a stream of buffers however it comes.
   *
   * @return completes with the head of the response
   */
  Future<StreamedResponse> stream(Request request);

  /**
   * Picks a replica and reserves one of its slots, waiting in the same queue as calls do. The
   * method's name and the session are those of now: a dispatch uses them.
   *
   * @return the selection, which the caller dispatches or closes; else its lease expires
   */
  default Future<ReplicaSelection> choose() {
    return startChoose().future();
  }

  /** As {@link #choose}, with a way to cancel. */
  Pending<ReplicaSelection> startChoose();

  /**
   * Chooses for several handles of one instance, or for none; {@link Selections} says how.
   *
   * @param handles one for each slot, this one first
   * @param wait how long to wait for all of them, beside what their own timeouts say; zero is not
   *     at all
   */
  Pending<Selections> startChooseAll(
      List<? extends DeploymentHandle> handles, Optional<Duration> wait);

  /**
   * Sends a request to every running replica. On each it takes a slot; where there is none, it
   * waits for that replica in its turn, counted and bounded as other waits are, until the call's
   * timeout or {@code berth.queue_timeout_s}. One replica's outcome does not change another's.
   *
   * @param request with a whole body
   * @return what each replica that ran at the time of the call came to, when all are done. Fails
   *     with {@link BerthException.DeploymentUnavailable} when there was none, and with {@link
   *     IllegalArgumentException} for a body that streams.
   */
  Future<List<BroadcastAnswer>> broadcast(Request request);

  /**
   * Chooses, runs {@code use}, and closes the selection when the future it returns is done,
   * whatever it came to. A failing close never hides a failure of {@code use}.
   */
  default <T> Future<T> withSelection(Function<ReplicaSelection, Future<T>> use) {
    return choose().compose(chosen -> Selections.closing(chosen, use, ReplicaSelection::close));
  }
}
