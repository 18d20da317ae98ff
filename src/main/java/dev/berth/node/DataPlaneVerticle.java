package dev.berth.node;

import dev.berth.protocol.BusMessage;
import dev.berth.replica.ReplicaLoop;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Verticle of an event loop's routers and replicas: their bus consumers and their shared timer. */
final class DataPlaneVerticle extends VerticleBase {
  private final DataPlane plane;
  private final int loop;
  private final List<MessageConsumer<BusMessage>> consumers = new ArrayList<>();
  private long ticker;

  DataPlaneVerticle(DataPlane plane, int loop) {
    this.plane = plane;
    this.loop = loop;
  }

  @Override
  public Future<?> start() {
    plane.receive(
        loop,
        (address, receiver) -> {
          MessageConsumer<BusMessage> consumer = vertx.eventBus().localConsumer(address);
          consumers.add(consumer.handler(message -> receiver.accept(message.body())));
        });
    ticker =
        vertx.setPeriodic(
            TimeUnit.NANOSECONDS.toMillis(ReplicaLoop.TICK_NANOS), id -> plane.tick(loop));
    return Future.all(consumers.stream().map(MessageConsumer::completion).toList());
  }

  @Override
  public Future<?> stop() {
    vertx.cancelTimer(ticker);
    return Future.all(consumers.stream().map(MessageConsumer::unregister).toList());
  }
}
