import dev.berth.cluster.bus.ApplicationBus;
import dev.berth.cluster.bus.BusCluster;
import dev.berth.cluster.bus.ClusteredVertx;
import dev.berth.cluster.bus.NodeBus;
import dev.berth.cluster.data.LinkBus;
import dev.berth.cluster.data.LinkListener;
import dev.berth.cluster.data.LocalRegistration;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.ClusterConfig;
import dev.berth.ingress.IngressTransport;
import dev.berth.metrics.Meters;
import dev.berth.node.loops.EventBusSender;
import dev.berth.node.loops.EventLoops;
import dev.berth.node.loops.InstanceBus;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.node.loops.Transport;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.wire.BusMessageCodec;
import dev.berth.replica.hooks.ApplicationWorkers;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The carriers of a node with two serving loops, wired as a node of a cluster wires them. Each
 * serving loop receives at the address of its router, from all carriers.
 */
final class CarrierNode implements LinkListener {
  private static final int LOOPS = 2;
  private static final int OTHER_LOOPS = 3; // control, links, the event bus between nodes
  private static final long LIMIT_S = 20;
  private static final String CLUSTER_ID = "carriers";

  /** Receiver of a loop's messages. Confined to the loop. */
  static final class Inbox implements Consumer<BusMessage> {
    Consumer<BusMessage> now = message -> {};

    @Override
    public void accept(BusMessage message) {
      now.accept(message);
    }
  }

  final String busName;
  final List<LoopVerticle> loops;
  final List<Inbox> inboxes = new ArrayList<>();
  private final Vertx vertx;
  private final BusCluster cluster;
  private final InstanceBus mailboxes = new InstanceBus();
  private final LinkBus links;
  private final NodeBus bus;
  private final Meters meters;
  private final Member member;
  private volatile String failure = "";

  /**
   * Starts a node, which then listens for the other one.
   *
   * @param folder certificates that {@code berth cluster init} created
   * @param name name of the node
   * @param number registration of the node
   */
  CarrierNode(Path folder, String name, long number) throws Exception {
    busName = name + "~1";
    ClusterConfig config = config(folder, name);
    cluster = BusCluster.of(config, busName, System::nanoTime);
    VertxOptions options = new VertxOptions().setEventLoopPoolSize(LOOPS + OTHER_LOOPS);
    vertx = ClusteredVertx.build(IngressTransport.preferred().builder(), options, config, cluster);
    if (!vertx.isNativeTransportEnabled()) {
      throw new IllegalStateException("no native transport (expected: epoll)");
    }
    meters = new Meters(name, "127.0.0.1", "", true);
    vertx.eventBus().registerDefaultCodec(BusMessage.class, new BusMessageCodec());
    ApplicationBus.install(vertx.eventBus(), busName, cluster, meters);
    LinkTls tls = await(LinkTls.read(vertx, config.tls().files()));
    loops =
        await(
                EventLoops.of(
                    vertx,
                    LOOPS,
                    new LoopVerticle("control loop"),
                    new LoopVerticle("links loop"),
                    new ApplicationWorkers(1)))
            .serving();
    List<ContextInternal> serving = loops.stream().map(LoopVerticle::home).toList();
    ContextInternal home = EventLoops.ofBus((VertxInternal) vertx);
    links = new LinkBus(config, busName, serving, tls, mailboxes, this, System::nanoTime);
    cluster.connectOn(home);
    bus =
        new NodeBus(config, busName, number, vertx.eventBus(), home, links, this, System::nanoTime);
    meters.add(links::show);
    meters.add(bus::show);
    for (int index = 0; index < LOOPS; index++) {
      receive(index);
    }
    await(bus.start(serving));
    int port = await(links.start("127.0.0.1", 0));
    LocalRegistration own = new LocalRegistration(CLUSTER_ID, number);
    links.register(own);
    bus.register(own);
    member =
        new Member(
            new NodeInfo(
                name,
                "1",
                false,
                null,
                Map.of(),
                "127.0.0.1",
                new NodeInfo.NodePorts(port, 0, 0, List.of()),
                new NodeInfo.BusEndpoint(cluster.port(), number)),
            number,
            Member.MemberState.ALIVE);
  }

  /** Returns the defaults of {@code berth.cluster}, with any free ports. */
  private static ClusterConfig config(Path folder, String name) {
    return new ClusterConfig(
        "trial",
        name,
        null,
        Map.of(),
        ClusterConfig.ClusterRole.WORKER,
        List.of(),
        List.of(),
        "127.0.0.1",
        "127.0.0.1",
        new ClusterConfig.ClusterPorts(0, 0, 0, 0, 0),
        new ClusterConfig.ClusterTls(
            folder.resolve(name + ".pem"),
            folder.resolve(name + "-key.pem"),
            folder.resolve("ca.pem"),
            true),
        Duration.ofMillis(500),
        Duration.ofMillis(3_000),
        8L << 20,
        true,
        false,
        0);
  }

  private void receive(int index) throws Exception {
    LoopVerticle loop = loops.get(index);
    String address = BusAddresses.router(busName, index);
    Inbox inbox = new Inbox();
    inboxes.add(inbox);
    mailboxes.receive(address, loop.home(), loop.turn(), inbox);
    await(
        loop.call(
            () ->
                vertx
                    .eventBus()
                    .<BusMessage>localConsumer(address)
                    .handler(message -> inbox.accept(message.body()))
                    .completion()));
  }

  /** Lets this node send to another node, and receive its messages. */
  void add(CarrierNode other) {
    cluster.peers.add(other.member);
    bus.add(other.member);
    links.add(other.member);
  }

  /** Returns the transport of a node's messages under the setting that uses a carrier. */
  Transport transport(Carrier carrier) {
    boolean direct = carrier == Carrier.MAILBOX || carrier == Carrier.DATA_LINK;
    BusSender inside = direct ? mailboxes : new EventBusSender(vertx.eventBus());
    return new Transport(busName, inside, direct ? links : bus);
  }

  /** Returns the sum of a counter over its labels. */
  double counter(String name) {
    return meters
        .scrape("text/plain")
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** Fails if a carrier to or from the other node broke. */
  void check() {
    if (!failure.isEmpty()) {
      throw new IllegalStateException(busName + ": " + failure);
    }
  }

  static <T> T await(Future<T> done) throws Exception {
    return done.toCompletionStage().toCompletableFuture().get(LIMIT_S, TimeUnit.SECONDS);
  }

  @Override
  public void broken(String peer, int loop) {
    failure = "connection to " + peer + " broken";
  }

  @Override
  public void leaving(String peer) {
    failure = peer + " leaves";
  }

  @Override
  public void suspected(String peer) {
    failure = peer + " suspected";
  }
}
