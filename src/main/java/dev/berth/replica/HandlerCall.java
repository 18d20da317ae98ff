package dev.berth.replica;

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

  /**
   * Handles the end of the handler's part: the slot is free, or the response is only being sent.
   * May be called twice.
   */
  default void onEnded() {}
}
