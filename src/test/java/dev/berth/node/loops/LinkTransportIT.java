package dev.berth.node.loops;

import dev.berth.cluster.data.FakeNode;
import dev.berth.cluster.data.LinkBus;
import dev.berth.cluster.data.LinkListener;
import dev.berth.cluster.data.LocalRegistration;
import dev.berth.cluster.link.LinkTls;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import io.vertx.core.internal.ContextInternal;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;

/** From one instance to the other, whose name is "n1~1". */
final class LinkTransportIT extends ReplicaOverTransportContract {
  /** In the names that links know. */
  private static final String PROCESS = "~1";

  private static final Duration INTERVAL = Duration.ofMillis(500);

  private final InstanceBus there = new InstanceBus();
  private final LinkBus sender = bus("n0~1", loop);
  private final LinkBus receiver = bus("n1~1", (ContextInternal) vertx.getOrCreateContext());

  private LinkBus bus(String name, ContextInternal on) {
    return new LinkBus(
        FakeNode.config("n0", INTERVAL, Duration.ofSeconds(10)),
        name,
        List.of(on),
        LinkTls.insecure(),
        there,
        new Nobody(),
        System::nanoTime);
  }

  @BeforeEach
  void acquaint() throws Exception {
    start(sender, "n0~1", receiver);
    start(receiver, "n1~1", sender);
  }

  private static void start(LinkBus own, String name, LinkBus other) throws Exception {
    int port =
        own.start("127.0.0.1", 0)
            .toCompletionStage()
            .toCompletableFuture()
            .get(10, TimeUnit.SECONDS);
    own.register(new LocalRegistration("cluster", 1));
    other.add(FakeNode.member(name, port, 1));
  }

  @Override
  BusSender sender() {
    return (node, address, message) -> sender.send(node + PROCESS, named(address), message);
  }

  @Override
  void receive(String address, Consumer<BusMessage> receiver) {
    there.receive(named(address), loop, new LoopTurn(), receiver);
  }

  private static String named(String address) {
    return address.replace(".n1.", ".n1" + PROCESS + ".");
  }

  record Nobody() implements LinkListener {
    @Override
    public void broken(String busNode, int loop) {}

    @Override
    public void leaving(String busNode) {}

    @Override
    public void suspected(String busNode) {}
  }
}
