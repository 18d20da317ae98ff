package dev.berth.node;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import io.vertx.core.internal.ContextInternal;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Sends to the event loops of this instance, past the event bus: its messages cost more than what
 * they carry (decision 0011). There is no other instance in this version.
 */
final class InstanceBus implements BusSender {
  private final String node;
  private final Map<String, LoopMailbox> mailboxes = new ConcurrentHashMap<>(); // by address

  InstanceBus(String node) {
    this.node = node;
  }

  /** Takes the messages of an address on a loop from now on; those sent before are dropped. */
  void receive(String address, ContextInternal loop, Consumer<BusMessage> receiver) {
    mailboxes.put(address, new LoopMailbox(loop, receiver));
  }

  @Override
  public boolean send(String to, String address, BusMessage message) {
    if (!node.equals(to)) {
      return false;
    }
    LoopMailbox mailbox = mailboxes.get(address);
    if (mailbox != null) { // else lost, as a message may be
      mailbox.put(message);
    }
    return true;
  }

  @Override
  public boolean sharesValues() {
    return true;
  }
}
