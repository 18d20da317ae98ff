package dev.berth.routing.slots;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.port.Slots;
import java.util.Map;
import java.util.OptionalInt;

/** A replica of this instance, for tests of the queue alone. */
final class QueueFixture {
  private QueueFixture() {}

  static LocalReplica replica(Slots slots, WaiterQueue queue) {
    ReplicaInfo info =
        new ReplicaInfo(
            "r",
            new DeploymentId("app", "model"),
            new ReplicaAddress("here", 0, 0, slots.epoch()),
            slots.maxOngoing(),
            true,
            false,
            null,
            OptionalInt.empty(),
            null,
            Map.of());
    return new LocalReplica(info, true, slots, queue, 1);
  }
}
