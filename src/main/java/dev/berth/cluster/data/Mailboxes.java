package dev.berth.cluster.data;

import dev.berth.protocol.BusMessage;
import java.util.function.Consumer;

/** The receivers of one's own instance. Any thread. */
public interface Mailboxes {
  /**
   * Runs a task on the event loop of an address, after those that it was given before; nothing
   * happens when no one takes messages there.
   *
   * @param task gets who takes them
   */
  void deliver(String address, Consumer<Consumer<BusMessage>> task);
}
