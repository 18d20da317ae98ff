package dev.berth.node.loops;

import dev.berth.cluster.bus.BusCluster;
import dev.berth.cluster.bus.BusRegistrations;
import dev.berth.cluster.bus.ClusteredVertx;
import dev.berth.cluster.bus.NodeBus;
import dev.berth.cluster.data.FakeNode;
import dev.berth.cluster.data.LinkBus;
import dev.berth.cluster.data.LocalRegistration;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.Member;
import dev.berth.config.ClusterConfig;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.internal.ContextInternal;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** From one process to another, whose name is "n1~1", over the event bus between nodes. */
final class ClusteredBusTransportIT extends ReplicaOverTransportContract {
  private static final ClusterConfig CONFIG =
      FakeNode.config("n", Duration.ofMillis(50), Duration.ofSeconds(10));

  private final InstanceBus there = new InstanceBus();
  private final ContextInternal away;
  private final NodeBus sender;
  private final NodeBus receiver;

  ClusteredBusTransportIT() throws Exception {
    super(clustered("n1~1"));
    away = (ContextInternal) clustered("n0~1").getOrCreateContext();
    sender = bus("n0~1", away, 1);
    receiver = bus("n1~1", loop, 2);
    acquaint(away, sender, "n1~1", loop, 2);
    acquaint(loop, receiver, "n0~1", away, 1);
  }

  private static Vertx clustered(String name) {
    return ClusteredVertx.build(
        Vertx.builder(), new VertxOptions(), CONFIG, new BusCluster(name, new BusRegistrations()));
  }

  private static BusCluster cluster(ContextInternal of) {
    return (BusCluster) of.owner().clusterManager();
  }

  private NodeBus bus(String name, ContextInternal on, long number) throws Exception {
    LinkBus links =
        new LinkBus(
            CONFIG,
            name,
            List.of(on),
            LinkTls.insecure(),
            there,
            new LinkTransportIT.Nobody(),
            System::nanoTime);
    await(links.start("127.0.0.1", 0));
    NodeBus made =
        new NodeBus(
            CONFIG,
            name,
            number,
            on.owner().eventBus(),
            on,
            links,
            new LinkTransportIT.Nobody(),
            System::nanoTime);
    made.register(new LocalRegistration("cluster", number));
    await(made.start(List.of(on)));
    return made;
  }

  private static void acquaint(
      ContextInternal own, NodeBus bus, String name, ContextInternal other, long number) {
    Member member = FakeNode.member(name, 1, cluster(other).port(), number);
    cluster(own).peers.add(member);
    bus.add(member);
  }

  private static <T> T await(Future<T> done) throws Exception {
    return done.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  /** Until the receiver knows the clock of the sender. */
  @BeforeEach
  void open() {
    while (!sender.send("n1~1", "berth.router.n1~1.9", message(0)).isSent()) {
      Thread.onSpinWait();
    }
  }

  @AfterEach
  void closeTheOther() throws Exception {
    await(away.owner().close());
  }

  @Override
  BusSender sender() {
    return this::send;
  }

  /** Repeats a send beyond the bytes in flight: the contract counts the arrivals. */
  private SendResult send(String node, String address, BusMessage message) {
    SendResult sent = SendResult.NOT_NOW;
    while (sent == SendResult.NOT_NOW) {
      sent = sender.send(node + "~1", address.replace(".n1.", ".n1~1."), message);
    }
    return sent;
  }

  @Override
  void receive(String address, Consumer<BusMessage> receiver) {
    there.receive(address.replace(".n1.", ".n1~1."), loop, new LoopTurn(), receiver);
  }
}
