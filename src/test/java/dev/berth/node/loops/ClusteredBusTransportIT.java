package dev.berth.node.loops;

import dev.berth.cluster.bus.BusCluster;
import dev.berth.cluster.bus.BusPeers;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.internal.VertxInternal;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;

/** The sender is another process, whose bus reaches the instance. */
final class ClusteredBusTransportIT extends ReplicaOverTransportContract {
  private final BusPeers peers = new BusPeers();
  private final Vertx away;
  private final BusSender sender;

  ClusteredBusTransportIT() throws Exception {
    super(clustered(new BusCluster("n1", new BusPeers())));
    away = clustered(new BusCluster("n0", peers));
    int port = ((VertxInternal) vertx).clusterManager().getNodeInfo().port();
    peers.add("n1", "127.0.0.1", port);
    BusSender bus =
        new Transport(
            "n0",
            new EventBusSender(away.eventBus()),
            (to, address, message) ->
                peers.send(away.eventBus(), to, address, message)
                    ? SendResult.SENT
                    : SendResult.GONE);
    sender =
        new BusSender() {
          /** Again while too much is under way: the contract counts what arrives. */
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

  private static Vertx clustered(BusCluster cluster) throws Exception {
    Vertx made =
        Vertx.builder()
            .with(new VertxOptions().setEventBusOptions(new EventBusOptions().setHost("127.0.0.1")))
            .withClusterManager(cluster)
            .buildClustered()
            .toCompletionStage()
            .toCompletableFuture()
            .get(20, TimeUnit.SECONDS);
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
    EventBusTransportTest.consume(loop, vertx, address, receiver);
  }
}
