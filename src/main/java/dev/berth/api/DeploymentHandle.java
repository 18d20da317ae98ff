package dev.berth.api;

import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Calls a deployment. A handle belongs to the context it was made for: its futures complete there,
 * each in a task of its own, so a callback may call the handle again. Calls from another thread
 * hop.
 *
 * <p>Source: Ray Serve's DeploymentHandle; choose and dispatch are Ray #63254's. Ours differs: a
 * selection is a lease with a time to live, so an owner that vanishes strands nothing.
 */
public interface DeploymentHandle {

  /** The deployment called. */
  DeploymentId deployment();

  /** The same deployment, called with other options. */
  DeploymentHandle options(CallOptions options);

  /**
   * The same deployment, called on behalf of a request that a handler runs. Calls, chooses and
   * broadcasts of this handle
   *
   * <ul>
   *   <li>carry the parent's request id and session, unless the options name others;
   *   <li>end by the parent's deadline, or by their own timeout when that is earlier;
   *   <li>pass on {@code traceparent} and {@code tracestate}, unless the request has a {@code
   *       traceparent} of its own;
   *   <li>are cancelled when the parent is: what waits leaves its queue, what runs is cancelled at
   *       its replica, a body that streams fails, a selection that was not dispatched is closed.
   *       Begun afterwards, they fail at once with {@link BerthException.Cancelled}.
   * </ul>
   *
   * A parent that merely ends leaves its children running: who starts work without waiting for it
   * means that (as in Ray Serve, which cancels children on the parent's cancellation alone). Each
   * child is known to its parent until it ends, and no longer.
   *
   * <p>Not remembered across threads by itself, as Ray's context variables are: name the parent.
   */
  DeploymentHandle within(RequestContext parent);

  /**
   * Sends a request to a replica with a free slot, or waits in the deployment's queue for one.
   *
   * @return the response; fails with a {@link BerthException} and nothing else. Cancel through
   *     {@link Call#cancel()} of {@link #start(Request)}.
   */
  default Future<Response> call(Request request) {
    return start(request).response();
  }

  /** As {@link #call}, with a way to cancel. */
  Call start(Request request);

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
    return startChoose().selection();
  }

  /** As {@link #choose}, with a way to cancel. */
  Choice startChoose();

  /**
   * Chooses for several handles of one instance, or for none; {@link Selections} says how.
   *
   * @param handles one for each slot, this one first
   * @param wait how long to wait for all of them, beside what their own timeouts say; zero is not
   *     at all
   */
  Selections.Choice startChooseAll(
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
    return choose()
        .compose(
            selection -> {
              Future<T> used;
              try {
                used = use.apply(selection);
              } catch (Throwable thrown) {
                used = Future.failedFuture(thrown);
              }
              return used.transform(
                  result ->
                      selection
                          .close()
                          .transform(
                              closed -> {
                                if (result.failed()) {
                                  if (closed.failed() && closed.cause() != result.cause()) {
                                    result.cause().addSuppressed(closed.cause());
                                  }
                                  return Future.failedFuture(result.cause());
                                }
                                return Future.succeededFuture(result.result());
                              }));
            });
  }

  /** A call under way. */
  interface Call {
    /** Completes with the response's head, and the whole body unless it streams. */
    Future<Response> response();

    /** Ends the call at once with {@link BerthException.Cancelled}; no effect once it has ended. */
    void cancel();
  }

  /** A choose under way. */
  interface Choice {
    /** Completes with the selection, which is then the caller's to dispatch or close. */
    Future<ReplicaSelection> selection();

    /**
     * Ends the choose at once with {@link BerthException.Cancelled}: it leaves the queue, and a
     * slot on its way is given back. No effect once the selection is there.
     */
    void cancel();
  }
}
