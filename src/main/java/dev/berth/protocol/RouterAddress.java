package dev.berth.protocol;

/**
 * Where a router loop takes answers.
 *
 * @param node its instance
 * @param loop its event loop
 */
@Wire.Key
public record RouterAddress(String node, int loop) {
  /** The bus address of the loop. */
  public String busAddress() {
    return Addresses.router(node, loop);
  }
}
