package dev.berth.cluster.bus;

import static dev.berth.cluster.link.LinkWorld.await;
import static dev.berth.protocol.port.SendResult.GONE;
import static dev.berth.protocol.port.SendResult.NOT_NOW;
import static dev.berth.protocol.port.SendResult.SENT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.cluster.data.FakeNode;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.ClusterConfig;
import dev.berth.ingress.IngressTransport;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.wire.BusMessageCodec;
import dev.berth.protocol.wire.WireCodec;
import dev.berth.stream.CountingLimit;
import io.netty.util.concurrent.EventExecutor;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.core.spi.cluster.ClusterManager;
import io.vertx.core.spi.cluster.RegistrationInfo;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The event bus between processes with certificates, which know each other as members. */
@Timeout(60)
class BusClusterIT {
  private static final String N1 = "n1~0a";
  private static final String N2 = "n2~0b";
  private static final String ADDRESS = BusAddresses.router(N2, 0);
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  @TempDir Path folder;
  private LinkWorld world;
  private final List<Process> processes = new ArrayList<>();
  private Process one;
  private Process two;

  /** One process. */
  private static final class Process {
    final String name;
    final BusCluster cluster;
    final BusPeers peers;
    final Vertx vertx;
    final Map<String, CountingLimit> inFlight = new ConcurrentHashMap<>();
    final BlockingQueue<BusMessage> received = new LinkedBlockingQueue<>();

    Process(String name, ClusterConfig.ClusterTls certificate) {
      this.name = name;
      cluster = new BusCluster(name, new BusRegistrations());
      peers = cluster.peers;
      vertx =
          ClusteredVertx.build(
              IngressTransport.preferred().builder(),
              new VertxOptions(),
              FakeNode.config(name, certificate, TIMEOUT, TIMEOUT),
              cluster);
      vertx.eventBus().registerCodec(new BusMessageCodec());
    }

    Member member(long registration) {
      return FakeNode.member(name, 1, cluster.port(), registration);
    }

    void consumes(String address) throws Exception {
      await(
          vertx
              .eventBus()
              .<BusMessage>consumer(address, message -> received.add(message.body()))
              .completion());
    }

    /** Bytes in flight to a peer, which {@code NodeBus} bounds in the same way. */
    CountingLimit inFlight(String peer) {
      return inFlight.computeIfAbsent(peer, first -> new CountingLimit(1024 * 1024));
    }

    SendResult send(String to, String address, BusMessage message) {
      Buffer form = Buffer.buffer();
      WireCodec.encode(message, form);
      int bytes = form.length();
      CountingLimit taken = inFlight(to);
      if (peers.member(to) == null || !taken.tryTake(bytes)) {
        return peers.member(to) == null ? GONE : NOT_NOW;
      }
      vertx
          .eventBus()
          .<BusMessage>sender(address, options())
          .write(message)
          .onComplete(accepted -> taken.give(bytes));
      return SENT;
    }

    SendResult send(String to, String address, long id) {
      return send(to, address, message(id));
    }

    long next() throws Exception {
      BusMessage next = received.poll(20, TimeUnit.SECONDS);
      assertThat(next).isNotNull();
      return ((BusMessage.CallAccepted) next).callId();
    }
  }

  private static BusMessage message(long id) {
    return new BusMessage.CallAccepted(id, 0);
  }

  @BeforeEach
  void start() throws Exception {
    world = new LinkWorld(folder);
    one = process(N1, world);
    two = process(N2, world);
    one.peers.add(two.member(2));
    two.peers.add(one.member(1));
  }

  private Process process(String name, LinkWorld authority) throws Exception {
    Process made = new Process(name, authority.certificate(NodeInfo.nameOf(name)));
    processes.add(made);
    return made;
  }

  @AfterEach
  void stop() throws Exception {
    for (Process each : processes) {
      await(each.vertx.close());
    }
    world.close();
  }

  @Test
  void messageReachesTheProcessInItsAddress() throws Exception {
    two.consumes(ADDRESS);
    one.consumes(ADDRESS); // receives nothing: the address names another process
    for (int i = 0; i < 100; i++) {
      assertThat(one.send(N2, ADDRESS, i)).isEqualTo(SENT);
    }
    for (int i = 0; i < 100; i++) {
      assertThat(two.next()).isEqualTo(i);
    }
    assertThat(one.received).isEmpty();
  }

  @Test
  void busReceivesOnTheFirstLoopOfItsPool() throws Exception {
    AtomicBoolean released = new AtomicBoolean(true);
    CountDownLatch blocks = new CountDownLatch(1);
    BlockingQueue<Boolean> afterRelease = new LinkedBlockingQueue<>();
    two.vertx.eventBus().consumer(ADDRESS, message -> afterRelease.add(released.get()));
    one.send(N2, ADDRESS, 1); // connects
    assertThat(afterRelease.poll(20, TimeUnit.SECONDS)).isTrue();

    released.set(false);
    EventExecutor first = ((VertxInternal) two.vertx).nettyEventLoopGroup().iterator().next();
    CountDownLatch blocked = new CountDownLatch(1);
    first.execute(
        () -> {
          blocked.countDown();
          assertThatNoException().isThrownBy(blocks::await);
        });
    // A loop reads its sockets before it runs its tasks: the send waits for the block.
    assertThat(blocked.await(20, TimeUnit.SECONDS)).isTrue();
    one.send(N2, ADDRESS, 2);
    world.after(
        200,
        () -> {
          released.set(true);
          blocks.countDown();
        });
    assertThat(afterRelease.poll(20, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void replyReturnsToItsSender() throws Exception {
    two.vertx.eventBus().consumer(ADDRESS, asks -> asks.reply(7L));
    assertThat(await(one.vertx.eventBus().request(ADDRESS, "term?")).body()).isEqualTo(7L);
  }

  @Test
  void lostProcessReceivesNothing() throws Exception {
    two.consumes(ADDRESS);
    assertThat(one.send("n3~0c", BusAddresses.router("n3~0c", 0), 1)).isEqualTo(GONE);
    assertThat(one.send(N2, ADDRESS, 2)).isEqualTo(SENT);
    assertThat(two.next()).isEqualTo(2);

    one.peers.remove(N2);
    assertThat(one.send(N2, ADDRESS, 3)).isEqualTo(GONE);
    assertThatThrownBy(() -> await(one.vertx.eventBus().request(ADDRESS, "direct")))
        .as("from a sender that does not look it up: nothing connects to it")
        .hasMessageContaining("No handlers");

    two.peers.remove(N1);
    one.peers.add(two.member(3));
    assertThat(one.send(N2, ADDRESS, 4)).isEqualTo(SENT);
    assertThat(two.next()).isEqualTo(4);
  }

  @Test
  void successorReceivesNoMessageToItsPredecessor() throws Exception {
    Process successor = process("n2~0d", world);
    one.peers.remove(N2);
    one.peers.add(successor.member(3));
    successor.consumes(BusAddresses.router(successor.name, 0));
    assertThat(one.send(N2, ADDRESS, 1)).isEqualTo(GONE);
    assertThat(one.send(successor.name, BusAddresses.router(successor.name, 0), 2)).isEqualTo(SENT);
    assertThat(successor.next()).isEqualTo(2);
  }

  @Test
  void consumerOfAnApplicationReceivesFromItsOwnProcess() throws Exception {
    two.consumes("orders");
    one.consumes("orders");
    one.vertx.eventBus().publish("orders", message(1), options());
    assertThat(one.next()).isOne();
    assertThatThrownBy(() -> await(one.vertx.eventBus().request("else", "there")))
        .hasMessageContaining("No handlers");
    assertThat(two.received).isEmpty();
  }

  private static DeliveryOptions options() {
    return new DeliveryOptions().setCodecName(BusMessageCodec.NAME);
  }

  @Test
  void registrationsOfBerthsAddressesHaveNoEffect() throws Exception {
    ClusterManager before = new BusCluster(N1, new BusRegistrations());
    one.consumes(BusAddresses.router(N1, 0));
    one.consumes("orders");
    for (String address : List.of(BusAddresses.router(N1, 0), "orders")) {
      Promise<List<RegistrationInfo>> found = Promise.promise();
      one.cluster.getRegistrations(address, found);
      assertThat(await(found.future())).isEmpty();
    }
    Promise<List<RegistrationInfo>> unknown = Promise.promise();
    before.getRegistrations(ADDRESS, unknown);
    assertThat(await(unknown.future())).isEmpty();
    Promise<List<RegistrationInfo>> computed = Promise.promise();
    one.cluster.getRegistrations(BusAddresses.replica(N2, 5), computed);
    assertThat(await(computed.future()))
        .as("although it has no consumer there")
        .containsExactly(new RegistrationInfo(N2, 0, false));
  }

  @Test
  void bytesInFlightToASilentPeerAreBoundedAndReturned() throws Exception {
    NetServerOptions options = world.tls("hung").secured(new NetServerOptions());
    NetServer silent = two.vertx.createNetServer(options).connectHandler(NetSocket::pause);
    await(silent.listen(0, "127.0.0.1"));
    one.peers.add(FakeNode.member("hung~1", 1, silent.actualPort(), 7));
    BusMessage large =
        new BusMessage.StreamFrame(1, 0, Buffer.buffer(new byte[64 * 1024]), true, 0);
    String there = BusAddresses.router("hung~1", 0);
    AtomicInteger sent = new AtomicInteger();
    AtomicInteger full = new AtomicInteger();
    world.eventually( // the buffers of both kernels are full
        () -> {
          int before = sent.get();
          while (one.send("hung~1", there, large).isSent()) {
            assertThat(sent.incrementAndGet()).isLessThan(1_000);
          }
          boolean connected = sent.get() > 20;
          full.set(connected && sent.get() == before ? full.get() + 1 : 0);
          return full.get() == 40;
        });
    assertThat(sent.get()).isGreaterThanOrEqualTo(15);
    assertThat(one.send("hung~1", there, large)).isEqualTo(NOT_NOW);
    two.consumes(ADDRESS);
    assertThat(one.send(N2, ADDRESS, 9)).as("to another").isEqualTo(SENT);
    assertThat(two.next()).isEqualTo(9);
    assertThat(one.inFlight("hung~1").inUse()).isPositive();
    world.eventually(() -> one.inFlight("hung~1").inUse() == 0); // its connection has timed out
  }

  @Test
  void clientWithACertificateOfAnotherAuthorityIsRefused() throws Exception {
    Process stranger = new Process("n4~0f", world.foreignCertificate("n4"));
    processes.add(stranger);
    two.consumes(ADDRESS);
    stranger.peers.add(two.member(2));
    DeliveryOptions limited = options().setSendTimeout(1_000);
    assertThatThrownBy(() -> await(stranger.vertx.eventBus().request(ADDRESS, message(1), limited)))
        .isNotNull();
    assertThat(one.send(N2, ADDRESS, 2)).isEqualTo(SENT);
    assertThat(two.next()).as("the first message that arrives").isEqualTo(2);
  }

  @Test
  void serverWithACertificateOfAnotherAuthorityIsRefused() throws Exception {
    LinkWorld foreign = new LinkWorld(folder.resolve("foreign"));
    Process stranger = process("n3~0e", foreign);
    foreign.close();
    two.consumes(ADDRESS);
    stranger.peers.add(two.member(2));
    assertThatThrownBy(() -> await(stranger.vertx.eventBus().sender(ADDRESS).write("hello")))
        .hasMessageContaining("SSL");
    assertThat(two.received).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"map", "lock", "counter"})
  void nodesShareNothing(String what) {
    var data = one.vertx.sharedData();
    assertThatThrownBy(
            () ->
                await(
                    switch (what) {
                      case "map" -> data.getAsyncMap("mine").mapEmpty();
                      case "lock" -> data.getLock("mine").mapEmpty();
                      default -> data.getCounter("mine").mapEmpty();
                    }))
        .hasMessageContaining(what + " mine: nodes share no maps, locks or counters");
    assertThat(data.getLocalMap("mine")).isEmpty();
  }
}
