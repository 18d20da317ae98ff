package dev.berth.protocol;

/**
 * A batch that a router fills, or that a replica offers to fill ({@code SlotObserver.onBatchOpen}).
 * It starts once it is sealed and the request of each seat has arrived or was withdrawn, at the
 * latest a short time after the seal; a request that arrives later is loose. A batch without
 * requests never runs. Thread-safe.
 */
public interface BatchGroup {
  /** Returns the common key of its requests. */
  String key();

  /** Returns the number of free seats. */
  int room();

  /**
   * Takes a seat for a waiter that has a slot. Its request carries the admission to the replica, or
   * the holder calls {@link #withdraw}.
   *
   * @throws IllegalStateException when there is no room, or the batch is sealed
   */
  Admission.BatchSeat seat();

  /**
   * Gives up a seat whose request will not arrive. Call once for the seat, after its slot's end.
   */
  void withdraw();

  /** Ends the filling: no seat is free from now on. */
  void seal();
}
