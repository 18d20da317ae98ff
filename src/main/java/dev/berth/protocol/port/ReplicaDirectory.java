package dev.berth.protocol.port;

import dev.berth.protocol.ReplicaAddress;
import org.jspecify.annotations.Nullable;

/** Where a router finds the slots of the replicas its own instance hosts. Any thread. */
public interface ReplicaDirectory {
  /** The slots of a replica incarnation hosted here; null when it is elsewhere or gone. */
  @Nullable Slots slotsOf(ReplicaAddress address);

  /**
   * Makes {@code observer} the one that waits on this instance for the slots of a replica, in place
   * of any before it; nothing when the replica is gone.
   */
  void observe(ReplicaAddress address, SlotObserver observer);
}
