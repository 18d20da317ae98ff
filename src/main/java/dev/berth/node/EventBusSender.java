package dev.berth.node;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessageCodec;
import dev.berth.protocol.port.BusSender;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;

/** Sends over the Vert.x event bus of this instance; there is no other instance in this version. */
final class EventBusSender implements BusSender {
  /** Made once: options made per message would cost more than the message. */
  static final DeliveryOptions LOCAL =
      new DeliveryOptions().setCodecName(BusMessageCodec.NAME).setLocalOnly(true);

  private final String node;
  private final EventBus bus;

  EventBusSender(String node, EventBus bus) {
    this.node = node;
    this.bus = bus;
  }

  @Override
  public boolean send(String to, String address, BusMessage message) {
    if (!node.equals(to)) {
      return false;
    }
    bus.send(address, message, LOCAL);
    return true;
  }
}
