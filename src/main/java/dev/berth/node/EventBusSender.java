package dev.berth.node;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.eventbus.EventBus;

/**
 * Sends over the event bus of Vert.x, to the consumers that the verticles of routers and replicas
 * have there. Within an instance the codec passes a message as it is; its wire form is for others,
 * of which there are none in this version.
 *
 * @param bus knows {@link BusMessageCodec}
 */
record EventBusSender(String node, EventBus bus) implements BusSender {

  @Override
  public boolean send(String to, String address, BusMessage message) {
    if (!node.equals(to)) {
      return false;
    }
    bus.send(address, message, RoutingLink.LOCAL);
    return true;
  }

  @Override
  public boolean sharesValues() {
    return true;
  }
}
