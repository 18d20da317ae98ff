package dev.berth.cluster.data;

import dev.berth.protocol.BusMessage;
import java.util.function.Consumer;

/** The receivers of the local instance. Thread-safe. */
public interface LocalMailboxes {
  /**
   * Runs a task on the event loop of an address, after all earlier tasks. No effect when the
   * address has no receiver.
   *
   * @param task takes the receiver
   */
  void deliver(String address, Consumer<Consumer<BusMessage>> task);
}
