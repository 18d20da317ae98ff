package dev.berth.protocol;

import static dev.berth.protocol.Wire.Form.FIXED;

/**
 * Where a replica takes messages.
 *
 * @param node the instance that hosts it
 * @param loop the event loop its messages go to, an index within the instance; with {@code spread}
 *     the caller's own loop on the same instance
 * @param ordinal its place in the instance's table of replicas
 * @param epoch its incarnation: another number each time a replica is started
 */
@Wire.Key
public record ReplicaAddress(String node, int loop, int ordinal, @Wire(FIXED) long epoch) {
  /** The same replica, reached through another of its loops. */
  public ReplicaAddress onLoop(int other) {
    return other == loop ? this : new ReplicaAddress(node, other, ordinal, epoch);
  }

  /** The bus address of the receiving loop. */
  public String busAddress() {
    return Addresses.replica(node, loop);
  }
}
