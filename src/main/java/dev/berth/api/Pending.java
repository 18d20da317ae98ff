package dev.berth.api;

import io.vertx.core.Future;

/**
 * A cancellable operation in progress: a call, a choose, or a choose for several handles.
 * Thread-safe.
 *
 * @param <T> the type of the result
 */
public interface Pending<T> {

  /**
   * Returns the future of the result. Completes on the context of the handle that started the
   * operation; fails with a {@link BerthException}. The caller owns a resulting selection and must
   * dispatch or close it.
   */
  Future<T> future();

  /**
   * Cancels the operation at once with {@link BerthException.Cancelled}. A waiter leaves its queue,
   * a running request is cancelled at its replica, and slots reserved or in flight are released.
   * Has no effect once the future is complete, except that a response body that still streams is
   * aborted.
   */
  void cancel();
}
