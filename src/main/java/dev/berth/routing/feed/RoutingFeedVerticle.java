package dev.berth.routing.feed;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.TickTimer;
import dev.berth.routing.Routers;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The verticle of the {@link RoutingFeed}: the one consumer of its address, on the control event
 * loop, and one tick. After its start, every new router pulls its snapshot.
 */
public final class RoutingFeedVerticle extends VerticleBase {
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final TickTimer.LoopTick ticks;
  private final String node;
  private final Routers routers;
  private final LongSupplier nanoClock;
  private final RoutingFeed feed;
  private @Nullable MessageConsumer<BusMessage> consumer;
  private volatile @Nullable Context home;

  /**
   * @param control timer of the control event loop
   * @param node this instance's id
   * @param incarnation 64 random bits of this start
   * @param controller sends to the controller; never calls back on the caller's stack
   */
  public RoutingFeedVerticle(
      TickTimer control,
      String node,
      long incarnation,
      Routers routers,
      Consumer<BusMessage> controller,
      LongSupplier nanoClock) {
    this.ticks = control.every(TICK_NANOS);
    this.node = node;
    this.routers = routers;
    this.nanoClock = nanoClock;
    this.feed =
        new RoutingFeed(node, incarnation, routers::update, controller, nanoClock.getAsLong());
  }

  @Override
  public Future<?> start() {
    home = context;
    ticks.start(() -> feed.tick(nanoClock.getAsLong()), () -> {});
    consumer = vertx.eventBus().localConsumer(BusAddresses.routing(node));
    consumer.handler(message -> onMessage(message.body()));
    routers.watch(this::want, this::forget);
    return consumer.completion();
  }

  /** Handles a message that did not come over the event bus. Confined to the control loop. */
  public void onMessage(BusMessage message) {
    feed.on(message, nanoClock.getAsLong());
    ticks.need(); // it may have begun a pull
  }

  /** Thread-safe. */
  private void want(DeploymentId deployment) {
    onHome(
        () -> {
          if (routers.find(deployment) != null) { // else removed again meanwhile
            feed.want(deployment, nanoClock.getAsLong());
            ticks.need();
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
    ticks.stop();
    return Objects.requireNonNull(consumer).unregister(); // Vert.x stops only started verticles
  }
}
