package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.port.LoopDependencies;
import io.vertx.core.Completable;
import org.jspecify.annotations.Nullable;

/** A request as seen by the caller of its handler. It may be completed on any thread. */
interface HandledRequest extends RequestContext, Completable<Response> {
  /** Returns the loop of the request. Thread-safe. */
  LoopDependencies ports();

  /**
   * Settles the request with the handler's result, once. Confined to the loop, as are the methods
   * below.
   */
  void settle(@Nullable Response response, @Nullable Throwable failure);

  /** Sets the call that runs a blocking handler, or the place in a batch. */
  void calledBy(HandlerCall call);

  /** Returns the number of its slots, once; the caller frees them before the response is sent. */
  int takeSlots();

  /** Handles the start of the batch that the request joined. */
  void onBatchStart();

  /** Ends the request with a failure, and cancels its handler if it runs. */
  void breakOff(BerthException.Kind kind, String message);

  /** Returns the wait at the router, in nanoseconds. */
  long waitedNanos();

  /** Returns the time until the deadline in nanoseconds; {@link Long#MAX_VALUE} without one. */
  long remainingNanos();

  /** Ends the request because there is no thread for its handler, which never runs. */
  void notCalled(Throwable noThread);

  /** The call of a handler, or the place of its request in a batch, as its invocation sees it. */
  interface HandlerCall {
    /**
     * Interrupts the handler unless other requests need it, or prevents it from running.
     *
     * @return true when the handler will never run, so that the caller must settle the request
     */
    boolean cancel();

    /** Returns whether the call goes on after its request has settled. */
    default boolean outlastsSettling() {
      return false;
    }

    /** Returns the place of the request in its started batch; null for none. */
    default HandlerTime.@Nullable BatchPlace place() {
      return null;
    }

    /**
     * Handles the end of the handler's part: the slot is free, or the response is only being sent.
     * May be called twice.
     */
    default void onEnded() {}
  }
}
