package dev.berth.node;

import dev.berth.protocol.BusMessage;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.ArrayList;
import java.util.List;

/** Verticle of an event loop's routers and replicas: their bus consumers and their ticks. */
final class DataPlaneVerticle extends VerticleBase {
  private final DataPlane plane;
  private final int loop;
  private final Runnable woken;
  private final List<MessageConsumer<BusMessage>> consumers = new ArrayList<>();

  /**
   * @param woken called on the loop whenever it has work again
   */
  DataPlaneVerticle(DataPlane plane, int loop, Runnable woken) {
    this.plane = plane;
    this.loop = loop;
    this.woken = woken;
  }

  @Override
  public Future<?> start() {
    plane.receive(
        loop,
        (address, receiver) -> {
          MessageConsumer<BusMessage> consumer = vertx.eventBus().localConsumer(address);
          consumers.add(consumer.handler(message -> receiver.accept(message.body())));
        });
    plane.startTicks(loop, woken);
    return Future.all(consumers.stream().map(MessageConsumer::completion).toList());
  }

  @Override
  public Future<?> stop() {
    plane.stopTicks(loop);
    return Future.all(consumers.stream().map(MessageConsumer::unregister).toList());
  }
}
