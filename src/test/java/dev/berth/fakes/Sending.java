package dev.berth.fakes;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;

/** A {@link BusSender} that takes a message, or takes none now. */
@FunctionalInterface
public interface Sending {
  /** Returns whether the message was taken. */
  boolean send(String node, String address, BusMessage message);

  /** The sender of this. */
  static BusSender of(Sending sending) {
    return (node, address, message) -> result(sending.send(node, address, message));
  }

  static SendResult result(boolean sent) {
    return sent ? SendResult.SENT : SendResult.NOT_NOW;
  }
}
