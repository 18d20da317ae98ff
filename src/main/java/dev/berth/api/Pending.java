package dev.berth.api;

import io.vertx.core.Future;

/**
 * Something under way that can be cancelled: a call, a choose, a choice of several. Any thread.
 *
 * @param <T> what it comes to
 */
public interface Pending<T> {

  /**
   * Completes on the context of the handle it was started through; fails with a {@link
   * BerthException}. A selection that it completes with is the caller's to dispatch or close.
   */
  Future<T> future();

  /**
   * Ends it at once with {@link BerthException.Cancelled}: what waits leaves its queue, what runs
   * is cancelled at its replica, slots held or on their way are given back. No effect once the
   * future is complete, but that a response whose body still streams is cut.
   */
  void cancel();
}
