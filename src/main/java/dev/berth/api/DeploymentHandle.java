package dev.berth.api;

import io.vertx.core.Future;
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
   * Picks a replica and reserves one of its slots, waiting in the same queue as calls do.
   *
   * @return the selection, which the caller dispatches or closes; else its lease expires
   */
  Future<ReplicaSelection> choose();

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
}
