package dev.berth.node.loops;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;

/**
 * The transport of an instance's messages: one sender for the event loops of the instance, and one
 * for other instances. Either can be another kind: mailboxes or the event bus inside, data links
 * between nodes. Thread-safe as both senders are.
 *
 * @param node the process's own name on the bus
 * @param inside sends to the event loops of this instance, whatever the name of the node
 * @param between sends to other instances
 */
public record Transport(String node, BusSender inside, BusSender between) implements BusSender {
  /** The transport of an instance that is no node of a cluster. */
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
