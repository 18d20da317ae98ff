package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.controller.RoutingPublisher;
import dev.berth.protocol.BusMessage;
import java.util.Collection;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The way from the controller to the routers of every instance: what it publishes goes to those who
 * pulled it. A controller that follows another one has its own. Belongs to the control loop.
 */
final class RoutingLink {
  private final BiConsumer<String, BusMessage> instances;
  private final Supplier<Collection<String>> nodes;
  private final Predicate<DeploymentId> isDeclared;
  private RoutingPublisher publisher; // of the controller there is, or is to be the first

  /**
   * @param instances sends a message to the routers of an instance, by its name
   * @param nodes names of the instances that a controller which begins waits for
   * @param isDeclared whether a deployment is to exist, be it that nothing of it runs yet
   */
  RoutingLink(
      BiConsumer<String, BusMessage> instances,
      Supplier<Collection<String>> nodes,
      Predicate<DeploymentId> isDeclared) {
    this.instances = instances;
    this.nodes = nodes;
    this.isDeclared = isDeclared;
    this.publisher = new RoutingPublisher(0, isDeclared, instances);
  }

  /** A controller begins: instances pull from it what they knew from the one before. */
  void begin(long term) {
    publisher = new RoutingPublisher(term, isDeclared, instances);
    nodes().forEach(publisher::greet);
  }

  /** Names of the instances that a controller which begins waits for. */
  Collection<String> nodes() {
    return nodes.get();
  }

  /** Publishes to the routers, and answers them. */
  RoutingPublisher publisher() {
    return publisher;
  }
}
