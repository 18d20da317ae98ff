package dev.berth.routing;

import dev.berth.protocol.Addresses;
import dev.berth.protocol.BusMessage;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.concurrent.TimeUnit;

/** The shell of a {@link RouterLoop}: its one bus consumer and its one timer. */
public final class RouterVerticle extends VerticleBase {
  private final Routers routers;
  private final String node;
  private final int index;

  public RouterVerticle(Routers routers, String node, int index) {
    this.routers = routers;
    this.node = node;
    this.index = index;
  }

  @Override
  public Future<?> start() {
    RouterLoop loop = routers.loop(index);
    MessageConsumer<BusMessage> consumer =
        vertx.eventBus().localConsumer(Addresses.router(node, index));
    consumer.handler(message -> loop.onMessage(message.body()));
    vertx.setPeriodic(
        TimeUnit.NANOSECONDS.toMillis(DeadlineRing.TICK_NANOS),
        timer -> {
          loop.tick();
          if (index == 0) {
            routers.tick();
          }
        });
    return consumer.completion();
  }
}
