package dev.berth.node.loops;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;

final class EventBusTransportTest extends ReplicaOverTransportContract {
  private final BusSender sender = new Transport("n1", new EventBusSender(vertx.eventBus()));

  @BeforeEach
  void registerTheCodec() {
    vertx.eventBus().registerCodec(new BusMessageCodec());
  }

  @Override
  BusSender sender() {
    return sender;
  }

  /** As the verticles do. */
  @Override
  void receive(String address, Consumer<BusMessage> receiver) throws Exception {
    consume(loop, vertx, address, receiver);
  }

  static void consume(Context loop, Vertx vertx, String address, Consumer<BusMessage> receiver)
      throws Exception {
    CompletableFuture<Void> known = new CompletableFuture<>();
    loop.runOnContext(
        none ->
            vertx
                .eventBus()
                .<BusMessage>consumer(address, message -> receiver.accept(message.body()))
                .completion()
                .onComplete((done, failure) -> known.complete(null)));
    known.get(10, TimeUnit.SECONDS);
  }
}
