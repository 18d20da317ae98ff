package dev.berth.cluster.bus;

import static dev.berth.cluster.link.LinkWorld.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.cluster.link.LinkWorld;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetSocket;
import io.vertx.core.spi.cluster.ClusterManager;
import io.vertx.core.spi.cluster.RegistrationInfo;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Processes of a cluster, each with a clustered Vert.x, that know of each other what is said. */
@Timeout(60)
class BusClusterIT {
  private static final String N1 = "n1~0a";
  private static final String N2 = "n2~0b";
  private static final String ADDRESS = BusAddresses.router(N2, 0);

  @TempDir Path folder;
  private LinkWorld world;
  private final List<Process> processes = new ArrayList<>();
  private Process one;
  private Process two;

  /** One process. */
  private static final class Process {
    final String name;
    final BusPeers peers = new BusPeers();
    final BusCluster cluster;
    final Vertx vertx;
    final BlockingQueue<BusMessage> received = new LinkedBlockingQueue<>();

    Process(String name, EventBusOptions bus) throws Exception {
      this.name = name;
      cluster = new BusCluster(name, peers);
      vertx =
          await(
              Vertx.builder()
                  .with(new VertxOptions().setEventBusOptions(bus.setHost("127.0.0.1")))
                  .withClusterManager(cluster)
                  .buildClustered());
      vertx.eventBus().registerCodec(new BusMessageCodec());
    }

    int port() {
      return cluster.getNodeInfo().port();
    }

    void knows(Process other) {
      peers.add(other.name, "127.0.0.1", other.port());
    }

    void consumes(String address) throws Exception {
      await(
          vertx
              .eventBus()
              .<BusMessage>consumer(address, message -> received.add(message.body()))
              .completion());
    }

    boolean send(String to, String address, long id) {
      return peers.send(vertx.eventBus(), to, address, message(id));
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
    one = process(N1, world.bus("n1"));
    two = process(N2, world.bus("n2"));
    one.knows(two);
    two.knows(one);
  }

  private Process process(String name, EventBusOptions bus) throws Exception {
    Process made = new Process(name, bus);
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
  void aMessageGoesToTheProcessThatItsAddressNames() throws Exception {
    two.consumes(ADDRESS);
    one.consumes(ADDRESS); // a consumer of another process's address gets nothing of it
    for (int i = 0; i < 100; i++) {
      assertThat(one.send(N2, ADDRESS, i)).isTrue();
    }
    for (int i = 0; i < 100; i++) {
      assertThat(two.next()).isEqualTo(i);
    }
    assertThat(one.received).isEmpty();
  }

  @Test
  void aReplyComesBack() throws Exception {
    two.peers.controller(N2);
    one.peers.controller(N2);
    two.vertx.eventBus().consumer(BusAddresses.CONTROLLER, asks -> asks.reply(7L));
    assertThat(await(one.vertx.eventBus().request(BusAddresses.CONTROLLER, "term?")).body())
        .isEqualTo(7L);
  }

  @Test
  void theControllersAddressGoesWhereItIsSaidToBe() throws Exception {
    one.consumes(BusAddresses.CONTROLLER);
    two.consumes(BusAddresses.CONTROLLER);
    one.peers.controller(N2);
    assertThat(one.send(N2, BusAddresses.CONTROLLER, 1)).isTrue();
    assertThat(two.next()).isOne();
    one.peers.controller(N1);
    one.vertx.eventBus().send(BusAddresses.CONTROLLER, message(2), options());
    assertThat(one.next()).isEqualTo(2);
  }

  @Test
  void nothingIsSentToWhoIsNotThereOrIsLost() throws Exception {
    two.consumes(ADDRESS);
    assertThat(one.send("n3~0c", BusAddresses.router("n3~0c", 0), 1)).isFalse();
    assertThat(one.send(N2, ADDRESS, 2)).isTrue();
    assertThat(two.next()).isEqualTo(2);

    one.peers.remove(N2);
    assertThat(one.send(N2, ADDRESS, 3)).isFalse();
    assertThatThrownBy(() -> await(one.vertx.eventBus().request(ADDRESS, "direct")))
        .as("nor by who sends without asking: nobody dials it")
        .hasMessageContaining("No handlers");

    two.peers.remove(N1);
    one.knows(two);
    assertThat(one.send(N2, ADDRESS, 4)).isTrue();
    assertThat(two.next()).isEqualTo(4);
  }

  @Test
  void itsSuccessorGetsNothingOfWhatWasForIt() throws Exception {
    Process successor = process("n2~0d", world.bus("n2"));
    one.peers.remove(N2);
    one.knows(successor);
    successor.consumes(BusAddresses.router(successor.name, 0));
    assertThat(one.send(N2, ADDRESS, 1)).isFalse();
    assertThat(one.send(successor.name, BusAddresses.router(successor.name, 0), 2)).isTrue();
    assertThat(successor.next()).isEqualTo(2);
  }

  @Test
  void aHandlersOwnAddressIsItsProcesss() throws Exception {
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

  /** Whoever consumes what, no process keeps it of another, or of itself for others. */
  @Test
  void noSubscriptionIsStored() throws Exception {
    ClusterManager before = new BusCluster(N1, new BusPeers());
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
        .as("though nobody consumes it there")
        .containsExactly(new RegistrationInfo(N2, 0, false));
  }

  @Test
  void whatIsUnderWayToAPeerThatReadsNothingIsBounded() throws Exception {
    NetServer silent = two.vertx.createNetServer().connectHandler(NetSocket::pause);
    await(silent.listen(0, "127.0.0.1"));
    one.peers.add("hung~1", "127.0.0.1", silent.actualPort());
    BusMessage large =
        new BusMessage.StreamFrame(1, 0, Buffer.buffer(new byte[64 * 1024]), true, 0);
    String there = BusAddresses.router("hung~1", 0);
    int sent = 0;
    while (one.peers.send(one.vertx.eventBus(), "hung~1", there, large)) {
      assertThat(++sent).isLessThan(1_000);
    }
    assertThat(sent).isGreaterThanOrEqualTo(15);
    assertThat(one.peers.refused()).isOne();
    two.consumes(ADDRESS);
    assertThat(one.send(N2, ADDRESS, 9)).as("to another").isTrue();
    assertThat(two.next()).isEqualTo(9);
  }

  @Test
  void aCertificateOfAnotherAuthorityGetsNothing() throws Exception {
    LinkWorld foreign = new LinkWorld(folder.resolve("foreign"));
    Process stranger = process("n3~0e", foreign.bus("n2"));
    foreign.close();
    two.consumes(ADDRESS);
    stranger.knows(two);
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
