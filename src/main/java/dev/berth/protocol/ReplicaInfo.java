package dev.berth.protocol;

import static dev.berth.protocol.Wire.Form.TOLD;

import dev.berth.api.DeploymentId;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * A replica as routers know it. Immutable for the life of its incarnation, but for the number of
 * slots, which every answer reports anew.
 *
 * @param replicaId unique among all replicas ever started
 * @param deployment whose replica it is
 * @param address where its messages go
 * @param maxOngoing slots when this was published
 * @param wholeBodyBytes a body of at most so many bytes is gathered before its handler is called; 0
 *     when that takes bodies as they arrive
 * @param reservable whether it can hold a slot for a choose; one that cannot is skipped by choose
 * @param spread one handler per event loop behind one ledger: reached on the caller's own loop
 * @param host where it can be reached directly, if anywhere
 * @param port the port there; 0 is a port, empty is none
 * @param zone its availability zone
 * @param metadata what it published of itself
 */
public record ReplicaInfo(
    String replicaId,
    @Wire(TOLD) DeploymentId deployment,
    ReplicaAddress address,
    int maxOngoing,
    int wholeBodyBytes,
    boolean reservable,
    boolean spread,
    @Nullable String host,
    OptionalInt port,
    @Nullable String zone,
    Map<String, String> metadata) {
  public ReplicaInfo {
    metadata = Map.copyOf(metadata);
  }
}
