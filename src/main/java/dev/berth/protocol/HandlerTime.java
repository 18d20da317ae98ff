package dev.berth.protocol;

import org.jspecify.annotations.Nullable;

/**
 * A replica's measurements of an explained request, and the failure of its handler. Times are
 * durations, because a clock reading of the replica means nothing to its router.
 *
 * @param gatheredNanos from the request's acceptance to the handler's call, less the wait for a
 *     batch; 0 or more
 * @param handledNanos from the handler's call until it settled; 0 when it was never called
 * @param failure the handler's failure
 * @param batch place in the batch with which the handler was called; null for none
 */
public record HandlerTime(
    long gatheredNanos, long handledNanos, RequestFailure failure, @Nullable BatchPlace batch) {

  /** Creates the times of a request that ran alone. */
  public HandlerTime(long gatheredNanos, long handledNanos, RequestFailure failure) {
    this(gatheredNanos, handledNanos, failure, null);
  }

  /**
   * A request's place in a started batch.
   *
   * @param id number that all requests of the batch share, and no other batch of the replica has
   * @param size number of requests in the batch
   * @param position of the request, from 1
   * @param waitedNanos wait for the batch; in a reply, its part at the replica
   */
  public record BatchPlace(long id, int size, int position, long waitedNanos) {}
}
