package dev.berth.routing.slots;

import dev.berth.api.DeploymentId;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.port.Slots;

/** A replica of this instance, for tests of the queue alone. */
final class QueueFixture {
  private QueueFixture() {}

  static LocalReplica replica(Slots slots, WaiterQueue queue) {
    ReplicaInfo info =
        Replicas.info(
            "r",
            new DeploymentId("app", "model"),
            new ReplicaAddress("here", 0, 0, 1),
            slots.maxOngoing());
    return new LocalReplica(info, true, slots, queue, 1);
  }
}
