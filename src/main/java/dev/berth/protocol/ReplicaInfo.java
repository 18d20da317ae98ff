package dev.berth.protocol;

import static dev.berth.protocol.Wire.WireForm.TOLD;

import dev.berth.api.DeploymentId;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * A replica, as published to routers. Immutable for the life of the replica's incarnation, except
 * for the number of slots, which each reply reports.
 *
 * @param replicaId unique among all replicas ever started
 * @param deployment the replica's deployment
 * @param address receives the replica's messages
 * @param maxOngoing slots at the time of publication
 * @param wholeBodyBytes maximum size of a body that is buffered before the handler is called; 0
 *     when the handler accepts bodies as they arrive
 * @param reservable whether {@code choose} may reserve a slot of the replica; {@code choose} skips
 *     other replicas
 * @param spread whether the replica has one handler per event loop behind one ledger, called on the
 *     caller's own loop
 * @param host host for direct connections, if any
 * @param port port for direct connections; empty means none, 0 is a port
 * @param zone its availability zone
 * @param metadata published by the replica; {@link #UPSTREAM} is the key of its upstream, {@link
 *     #BATCHED} names its methods that take batches
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
  /** Name in the metadata of the upstream that the replica represents. */
  public static final String UPSTREAM = "upstream";

  /** Name in the metadata of the methods that take batches, separated by commas. */
  public static final String BATCHED = "batched";

  public ReplicaInfo {
    metadata = Map.copyOf(metadata);
  }

  /** Returns whether requests of a method join batches. */
  public boolean batches(String method) {
    String batched = metadata.get(BATCHED);
    return batched != null && List.of(batched.split(",", -1)).contains(method);
  }
}
