package dev.berth.node.loops;

import dev.berth.cluster.bus.BusCluster;
import dev.berth.cluster.bus.BusRegistrations;
import dev.berth.cluster.bus.ClusteredVertx;
import dev.berth.cluster.data.FakeNode;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.internal.VertxInternal;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;

/** From another process, whose event bus reaches the instance. */
final class ClusteredBusTransportIT extends ReplicaOverTransportContract {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final Vertx away;
  private final BusSender sender;

  ClusteredBusTransportIT() throws Exception {
    super(clustered(new BusCluster("n1~1", new BusRegistrations())));
    BusCluster cluster = new BusCluster("n0~1", new BusRegistrations());
    away = clustered(cluster);
    int port = ((VertxInternal) vertx).clusterManager().getNodeInfo().port();
    cluster.peers.add(FakeNode.member("n1~1", 1, port, 1));
    BusSender bus =
        new Transport(
            "n0",
            new EventBusSender(away.eventBus()),
            (to, address, message) ->
                cluster.peers.send(
                    away.eventBus(), to + "~1", address.replace(".n1.", ".n1~1."), message));
    sender =
        new BusSender() {
          /** Repeats a send beyond the bytes in flight: the contract counts the arrivals. */
          @Override
          public SendResult send(String node, String address, BusMessage message) {
            SendResult sent = bus.send(node, address, message);
            while (!sent.isSent() && node.equals("n1")) {
              Thread.onSpinWait();
              sent = bus.send(node, address, message);
            }
            return sent;
          }
        };
  }

  private static Vertx clustered(BusCluster cluster) {
    Vertx made =
        ClusteredVertx.build(
            Vertx.builder(), new VertxOptions(), FakeNode.config("n", TIMEOUT, TIMEOUT), cluster);
    made.eventBus().registerCodec(new BusMessageCodec());
    return made;
  }

  @AfterEach
  void closeTheOther() throws Exception {
    away.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  @Override
  BusSender sender() {
    return sender;
  }

  @Override
  void receive(String address, Consumer<BusMessage> receiver) throws Exception {
    EventBusTransportTest.consume(loop, vertx, address.replace(".n1.", ".n1~1."), receiver);
  }
}
