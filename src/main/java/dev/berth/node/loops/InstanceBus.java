package dev.berth.node.loops;

import dev.berth.cluster.data.LocalMailboxes;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import io.vertx.core.internal.ContextInternal;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Sender to the event loops of this instance without the event bus, whose messages cost more than
 * their content (decision 0011).
 */
public final class InstanceBus implements BusSender, LocalMailboxes {
  private final Map<String, LoopMailbox> mailboxes = new ConcurrentHashMap<>(); // by address

  /** Subscribes a receiver on a loop to an address; messages sent before are dropped. */
  public void receive(
      String address, ContextInternal loop, LoopTurn turn, Consumer<BusMessage> receiver) {
    mailboxes.put(address, new LoopMailbox(loop, turn, receiver));
  }

  @Override
  public SendResult send(String to, String address, BusMessage message) {
    LoopMailbox mailbox = mailboxes.get(address);
    if (mailbox != null) { // without a receiver, the message is lost
      mailbox.put(message);
    }
    return SendResult.SENT;
  }

  @Override
  public void deliver(String address, Consumer<Consumer<BusMessage>> task) {
    LoopMailbox mailbox = mailboxes.get(address);
    if (mailbox != null) {
      mailbox.run(task);
    }
  }

  @Override
  public boolean sharesValues() {
    return true;
  }
}
