package dev.berth.node.loops;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;

/**
 * Sends over the event bus of Vert.x, to the consumers that the verticles of routers and replicas
 * have there. Within an instance the codec passes a message as it is; its wire form is for others.
 *
 * @param node the own process's name on the bus
 * @param bus knows {@link BusMessageCodec}
 * @param others sends to other processes
 */
public record EventBusSender(String node, EventBus bus, BusSender others) implements BusSender {
  /** For messages on the event bus that stay in this instance. */
  public static final DeliveryOptions LOCAL =
      new DeliveryOptions().setLocalOnly(true).setCodecName(BusMessageCodec.NAME);

  @Override
  public SendResult send(String to, String address, BusMessage message) {
    if (!node.equals(to)) {
      return others.send(to, address, message);
    }
    bus.send(address, message, LOCAL);
    return SendResult.SENT;
  }

  @Override
  public boolean sharesValues() {
    return true;
  }
}
