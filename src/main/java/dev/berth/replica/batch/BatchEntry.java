package dev.berth.replica.batch;

import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.HandlerTime;
import org.jspecify.annotations.Nullable;

/**
 * A request of a {@link BatchTable}, from its arrival until it has ended.
 *
 * <pre>
 *   NEW --add--> LOOSE --the batch of its line--> SEATED --start--> STARTED --finished--> LEFT
 *           +---with a seat-------------------------^
 *   LOOSE, SEATED --withdraw--> LEFT; beyond a bound of its batch: SEATED --> LOOSE
 * </pre>
 */
public abstract class BatchEntry {
  enum BatchStage {
    NEW,
    LOOSE,
    SEATED,
    STARTED,
    LEFT
  }

  String key; // guarded by the table; a batch gives its own to each request
  final long sinceNanos;
  final long deadlineNanos;
  final int items;
  final long bytes;

  // Guarded by the table; a started batch and the position in it no longer change.
  BatchStage stage = BatchStage.NEW;
  @Nullable Batch batch;
  @Nullable BatchSettings rules; // of the moment at which it became loose
  int position;

  /**
   * @param key only requests with equal keys share a batch
   * @param sinceNanos time since which the request waits, on the table's clock
   * @param deadlineNanos its deadline on that clock; {@link Long#MAX_VALUE} for none
   * @param items its size by the handler's measure
   * @param bytes length of its body
   */
  protected BatchEntry(String key, long sinceNanos, long deadlineNanos, int items, long bytes) {
    this.key = key;
    this.sinceNanos = sinceNanos;
    this.deadlineNanos = deadlineNanos;
    this.items = items;
    this.bytes = bytes;
  }

  /**
   * Returns the place in the started batch, with the wait at the replica; null for none.
   *
   * @param earlierNanos wait before the arrival at the replica
   */
  protected final HandlerTime.@Nullable BatchPlace placeAfter(long earlierNanos) {
    Batch of = batch;
    return of == null
        ? null
        : new HandlerTime.BatchPlace(
            of.id,
            of.entries.size(),
            position + 1,
            Math.max(0, of.waitedNanos(this) - earlierNanos));
  }
}
