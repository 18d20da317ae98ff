package dev.berth.protocol.port;

import dev.berth.protocol.ReplicaAddress;
import org.jspecify.annotations.Nullable;

/** A router's access to the slots of the replicas on its own instance. Thread-safe. */
public interface ReplicaDirectory {
  /**
   * Returns the slots of a replica incarnation on this instance; null when it runs elsewhere or was
   * removed.
   */
  @Nullable Slots slotsOf(ReplicaAddress address);

  /** Returns the batches of a replica of this instance; null unless its deployment batches. */
  default @Nullable BatchSeats batchesOf(ReplicaAddress address) {
    return null;
  }

  /**
   * Sets the observer of a replica's slots for this instance, in place of an earlier observer. No
   * effect when the replica was removed.
   */
  void observe(ReplicaAddress address, SlotObserver observer);
}
