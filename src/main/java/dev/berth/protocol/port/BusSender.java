package dev.berth.protocol.port;

import dev.berth.protocol.BusMessage;

/**
 * Sends messages, at most once, in order per (sender loop, receiver loop). Never blocks.
 *
 * <p>Duties of an implementation: (1) Return another result than {@link SendResult#SENT} only when
 * the message will certainly not arrive, so that the router can try another replica. (2) Do not
 * call the receiver on the caller's stack. (3) Leave the message unchanged. (4) Throw nothing.
 */
@FunctionalInterface
public interface BusSender {
  /**
   * Sends a message.
   *
   * @param node the instance of the address
   * @param address a bus address of {@link dev.berth.protocol.BusAddresses}
   * @return whether the message was sent; if not, whether a retry may succeed
   */
  SendResult send(String node, String address, BusMessage message);

  /**
   * Returns whether messages within the instance may contain values of user code by reference.
   * False where tests exercise the codec.
   */
  default boolean sharesValues() {
    return false;
  }
}
