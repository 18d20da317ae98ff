package dev.berth.node.loops;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;

/**
 * Transport of an instance's messages: one sender for the event loops of the instance, and one for
 * other instances. Mailboxes or the event bus carry messages inside, data links between nodes.
 * Thread-safe if both senders are.
 *
 * @param node bus name of the process
 * @param inside sends to the event loops of this instance
 * @param between sends to other instances
 */
public record Transport(String node, BusSender inside, BusSender between) implements BusSender {
  /** Creates the transport of an instance without a cluster. */
  public Transport(String node, BusSender inside) {
    this(node, inside, (to, address, message) -> SendResult.GONE);
  }

  @Override
  public SendResult send(String to, String address, BusMessage message) {
    return (node.equals(to) ? inside : between).send(to, address, message);
  }

  @Override
  public boolean sharesValues() {
    return inside.sharesValues();
  }
}
