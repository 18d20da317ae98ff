package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.controller.RoutingPublisher;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.eventbus.DeliveryOptions;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/**
 * The way from the controller to the routers of every instance: what it publishes goes to those who
 * pulled it. A controller that follows another one has its own. Belongs to the control loop.
 */
final class RoutingLink {
  /** For messages on the event bus that stay in this instance. */
  static final DeliveryOptions LOCAL =
      new DeliveryOptions().setLocalOnly(true).setCodecName(BusMessageCodec.NAME);

  private final BiConsumer<String, BusMessage> instances;
  private final String node;
  private final Predicate<DeploymentId> isDeclared;
  private RoutingPublisher publisher; // of the controller there is, or is to be the first

  /**
   * @param instances sends a message to the routers of an instance, by its name
   * @param isDeclared whether a deployment is to exist, be it that nothing of it runs yet
   */
  RoutingLink(
      BiConsumer<String, BusMessage> instances, String node, Predicate<DeploymentId> isDeclared) {
    this.instances = instances;
    this.node = node;
    this.isDeclared = isDeclared;
    this.publisher = new RoutingPublisher(0, isDeclared, instances);
  }

  /** A controller begins: instances pull from it what they knew from the one before. */
  void begin(long term) {
    publisher = new RoutingPublisher(term, isDeclared, instances);
    publisher.greet(node);
  }

  /** Publishes to the routers, and answers them. */
  RoutingPublisher publisher() {
    return publisher;
  }
}
