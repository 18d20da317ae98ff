package dev.berth.protocol;

/**
 * The address of a router loop's replies.
 *
 * @param node its instance
 * @param loop its event loop
 */
@Wire.WireKey
public record RouterAddress(String node, int loop) {
  /** Returns the bus address of the loop. */
  public String busAddress() {
    return BusAddresses.router(node, loop);
  }
}
