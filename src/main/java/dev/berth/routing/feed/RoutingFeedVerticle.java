package dev.berth.routing.feed;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.routing.Routers;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The verticle of the {@link RoutingFeed}: the one consumer of its address, on the control event
 * loop, and one timer. After its start, every new router pulls its snapshot.
 */
public final class RoutingFeedVerticle extends VerticleBase {
  private static final long TICK_MS = 250;

  private final String node;
  private final Routers routers;
  private final LongSupplier nanoClock;
  private final RoutingFeed feed;
  private @Nullable MessageConsumer<BusMessage> consumer;
  private long timer;
  private volatile @Nullable Context home;

  /**
   * @param node this instance's id
   * @param incarnation 64 random bits of this start
   * @param controller sends to the controller; never calls back on the caller's stack
   */
  public RoutingFeedVerticle(
      String node,
      long incarnation,
      Routers routers,
      Consumer<BusMessage> controller,
      LongSupplier nanoClock) {
    this.node = node;
    this.routers = routers;
    this.nanoClock = nanoClock;
    this.feed =
        new RoutingFeed(node, incarnation, routers::update, controller, nanoClock.getAsLong());
  }

  @Override
  public Future<?> start() {
    home = context;
    timer = vertx.setPeriodic(TICK_MS, id -> feed.tick(nanoClock.getAsLong()));
    consumer = vertx.eventBus().localConsumer(BusAddresses.routing(node));
    consumer.handler(message -> onMessage(message.body()));
    routers.watch(this::want, this::forget);
    return consumer.completion();
  }

  /** Handles a message that did not come over the event bus. Confined to the control loop. */
  public void onMessage(BusMessage message) {
    feed.on(message, nanoClock.getAsLong());
  }

  /** Thread-safe. */
  private void want(DeploymentId deployment) {
    onHome(
        () -> {
          if (routers.find(deployment) != null) { // else removed again meanwhile
            feed.want(deployment, nanoClock.getAsLong());
          }
        });
  }

  /** Thread-safe. */
  private void forget(DeploymentId deployment) {
    onHome(() -> feed.forget(deployment));
    want(deployment); // a router created again meanwhile has no snapshot
  }

  private void onHome(Runnable task) {
    Context own = home;
    if (own != null) {
      own.runOnContext(none -> task.run());
    }
  }

  @Override
  public Future<?> stop() {
    vertx.cancelTimer(timer);
    return Objects.requireNonNull(consumer).unregister(); // Vert.x stops only started verticles
  }
}
