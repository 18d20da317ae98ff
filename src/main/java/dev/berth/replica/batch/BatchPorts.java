package dev.berth.replica.batch;

import dev.berth.protocol.BatchGroup;

/** Effects of a {@link BatchTable}, which calls them on any thread and without its lock. */
public interface BatchPorts {
  /** Runs a batch; each of its entries is {@link BatchTable#finished} later. */
  void run(Batch batch);

  /** Offers the room of a batch with loose requests to waiters of the instance. */
  void fill(BatchGroup batch);

  /** Reports the end of a batch: another may start. */
  void onPlaceFreed();

  /** Reports that a loose request came while a batch may start. */
  default void onLoose() {
    onPlaceFreed();
  }

  /** Requests a call of {@link BatchTable#look} after this time, or soon after. */
  void wakeIn(long nanos);
}
