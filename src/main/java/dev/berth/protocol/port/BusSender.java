package dev.berth.protocol.port;

import dev.berth.protocol.BusMessage;

/**
 * Sends messages, at most once, in order per (sender loop, receiver loop). Never blocks.
 *
 * <p>An implementation must: (1) return another result than {@link SendResult#SENT} only when the
 * message will certainly not arrive, so that a request can be tried elsewhere; (2) not call the
 * receiver on the caller's stack; (3) leave the message as it is; (4) throw nothing.
 */
@FunctionalInterface
public interface BusSender {
  /**
   * @param node the instance the address is on
   * @param address a bus address of {@link dev.berth.protocol.Addresses}
   * @return whether it was sent, and if not, whether a repeat is of use
   */
  SendResult send(String node, String address, BusMessage message);

  /**
   * Whether what an instance sends to itself may hold values of user code as they are. Not where
   * tests are to find what the codec makes of them.
   */
  default boolean sharesValues() {
    return false;
  }
}
