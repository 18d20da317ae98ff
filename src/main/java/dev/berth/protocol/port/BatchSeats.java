package dev.berth.protocol.port;

import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import org.jspecify.annotations.Nullable;

/**
 * The batches of one replica, for the routers of its instance. A router opens a batch, takes a slot
 * of the ledger and a seat for each waiter that it grants, and seals the batch. Thread-safe.
 *
 * <p>Requests that reach the replica without a seat are loose: they hold a slot, and the replica
 * puts them into its next batch. A router's batch begins with the loose requests that fit.
 */
public interface BatchSeats {
  /**
   * Opens a batch for waiters, which occupies one of the replica's concurrent batches until it has
   * ended.
   *
   * @param key common key of the waiters, of {@link BatchSettings#keyOf}
   * @param sinceNanos time since which the oldest of them waits, on the instance's nano clock;
   *     loose requests that have waited longer and are due start first
   * @param rules rules of that waiter; an older loose request gives its own to the batch
   * @return the batch, with room for one at least; the caller must seal it. Null when no batch can
   *     start now: the end of a batch notifies the observer of the slots, unless the batch never
   *     had a seat or a request.
   */
  @Nullable BatchGroup tryOpen(String key, long sinceNanos, BatchSettings rules);

  /** Returns the number of loose requests with a key. */
  int loose(String key);

  /** Returns whether a batch runs or gathers its requests. */
  boolean isBusy();

  /**
   * Returns the expected duration of a batch; 0 before the first. A window closes early when the
   * remaining time of its oldest waiter falls to this.
   */
  long learntNanos();
}
