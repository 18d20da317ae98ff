package dev.berth.node.loops;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;

/**
 * Sender over the event bus of Vert.x, to the consumers of this instance's router and replica
 * verticles. The codec passes a message unchanged; its wire form is for other nodes.
 *
 * @param bus event bus with a registered {@link BusMessageCodec}
 */
public record EventBusSender(EventBus bus) implements BusSender {
  /** Delivery options for messages on the event bus that stay in this instance. */
  public static final DeliveryOptions LOCAL =
      new DeliveryOptions().setLocalOnly(true).setCodecName(BusMessageCodec.NAME);

  @Override
  public SendResult send(String to, String address, BusMessage message) {
    bus.send(address, message, LOCAL);
    return SendResult.SENT;
  }

  @Override
  public boolean sharesValues() {
    return true;
  }
}
