package dev.berth.protocol.port;

import dev.berth.protocol.ReplicaAddress;
import org.jspecify.annotations.Nullable;

/** Where a router finds the slots of the replicas its own instance hosts. */
@FunctionalInterface
public interface ReplicaDirectory {
  /** The slots of a replica incarnation hosted here; null when it is elsewhere or gone. */
  @Nullable Slots slotsOf(ReplicaAddress address);
}
