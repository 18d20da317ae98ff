package dev.berth.protocol;

import static dev.berth.protocol.Wire.WireForm.FIXED;

/**
 * The address of a replica's messages.
 *
 * @param node the instance that hosts the replica
 * @param loop the event loop that receives the messages, an index within the instance; with {@code
 *     spread} the caller's own loop on the same instance
 * @param ordinal index in the instance's table of replicas
 * @param epoch the replica's incarnation: a new number at each start of a replica
 */
@Wire.WireKey
public record ReplicaAddress(String node, int loop, int ordinal, @Wire(FIXED) long epoch) {
  /** Returns the address of the same replica on another loop of its instance. */
  public ReplicaAddress onLoop(int other) {
    return other == loop ? this : new ReplicaAddress(node, other, ordinal, epoch);
  }

  /** Returns the bus address of the receiving loop. */
  public String busAddress() {
    return BusAddresses.replica(node, loop);
  }
}
