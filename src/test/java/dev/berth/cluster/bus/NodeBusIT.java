package dev.berth.cluster.bus;

import static dev.berth.cluster.link.LinkWorld.await;
import static dev.berth.cluster.link.LinkWorld.on;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cluster.data.DataFrame;
import dev.berth.cluster.data.FakeNode;
import dev.berth.cluster.data.LocalRegistration;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.metrics.Meters;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.SendResult;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Processes of a cluster with clustered event buses, on one machine. */
@Timeout(60)
class NodeBusIT {
  private static final Duration LONG = Duration.ofSeconds(30); // no silence in a test

  @TempDir private Path folder;
  private LinkWorld world;
  private final List<BusNode> nodes = new ArrayList<>();

  /** A process of two serving loops and one for pings, with data links beside its bus. */
  private final class BusNode {
    final Vertx vertx;
    final ContextInternal home;
    final FakeNode node;
    final NodeBus bus;
    final BusCluster cluster;
    final int port;
    Member member;
    CountDownLatch stopped = new CountDownLatch(0);

    BusNode(String name, long registration, Duration timeout) throws Exception {
      cluster = new BusCluster(name + "~1", new BusRegistrations());
      vertx =
          await(
              Vertx.builder()
                  .with(
                      new VertxOptions()
                          .setEventLoopPoolSize(4)
                          .setEventBusOptions(new EventBusOptions().setHost("127.0.0.1")))
                  .withClusterManager(cluster)
                  .buildClustered());
      node = new FakeNode(List.of(loop(), loop()), LinkTls.insecure(), name, timeout);
      node.start(registration);
      home = loop();
      port = cluster.port();
      bus =
          new NodeBus(
              node.config,
              node.busNode,
              registration,
              vertx.eventBus(),
              home,
              node.bus,
              node,
              node.clock);
      member = FakeNode.member(node.busNode, node.port(), port, registration);
      await(bus.start(node.loops));
      bus.register(new LocalRegistration("cluster-1", registration));
      nodes.add(this);
    }

    private ContextInternal loop() {
      return ((VertxInternal) vertx).createEventLoopContext();
    }

    void knows(Member other) {
      node.bus.add(other);
      cluster.peers.add(other);
      bus.add(other);
    }

    void forgets(BusNode other) {
      bus.remove(other.node.busNode);
      cluster.peers.remove(other.node.busNode);
    }

    SendResult send(int from, BusNode to, int loop, BusMessage message) throws Exception {
      String there = to.node.busNode;
      return on(
          node.loops.get(from), () -> bus.send(there, BusAddresses.router(there, loop), message));
    }

    /** Sends as soon as messages are accepted. */
    void sendSoon(BusNode to, BusMessage message) throws Exception {
      world.eventually(() -> send(0, to, 0, message).isSent());
    }

    List<Long> ids(int loop) {
      return node.routers(loop).stream()
          .filter(CallAccepted.class::isInstance)
          .map(message -> ((CallAccepted) message).callId())
          .toList();
    }

    double metric(String name) {
      Meters meters = new Meters("n", "127.0.0.1", "", false);
      meters.add(bus::show);
      return meters
          .scrape("text/plain")
          .lines()
          .filter(line -> line.startsWith(name))
          .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
          .sum();
    }

    long inFlight() {
      return (long) metric("berth_bus_inflight_bytes{");
    }

    /** Waits until a message is not taken for old, and returns its remaining accept time. */
    long youngMicros(BusNode from) throws Exception {
      long left = 0;
      while (left == 0) {
        left = acceptMicros(from);
      }
      return left;
    }

    /** The remaining accept time that a message of 20 s has here. */
    long acceptMicros(BusNode from) throws Exception {
      int before = node.routers(0).size();
      from.sendSoon(this, reserve());
      world.eventually(() -> node.routers(0).size() > before);
      return ((ReserveSlot) node.routers(0).get(before)).acceptMicros();
    }
  }

  @BeforeEach
  void begin() throws Exception {
    world = new LinkWorld(folder);
  }

  @AfterEach
  void close() throws Exception {
    for (BusNode each : nodes) {
      each.stopped.countDown();
    }
    for (BusNode each : nodes) {
      await(each.bus.stop().eventually(each.node.bus::stop).eventually(each.vertx::close));
    }
    world.close();
  }

  private static void acquaint(BusNode one, BusNode two) {
    one.knows(two.member);
    two.knows(one.member);
  }

  private static ReserveSlot reserve() {
    return new ReserveSlot(
        1,
        new RouterAddress("n1~1", 0),
        new AttemptId(1, 0, 1),
        new ReplicaAddress("n2~1", 0, 0, 1),
        5_000,
        20_000_000,
        1);
  }

  private static BusMessage accepted(long id) {
    return new CallAccepted(id, 0);
  }

  private static BusMessage large(long id) {
    return new StreamFrame(id, 0, Buffer.buffer(new byte[64 * 1024]), false, 0);
  }

  @Test
  void messagesKeepTheirOrderFromLoopToLoopAndUseNoLink() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    acquaint(one, two);
    one.sendSoon(two, accepted(0));
    two.sendSoon(one, accepted(0));
    for (int id = 1; id < 500; id++) {
      assertThat(one.send(id % 2, two, id / 2 % 2, accepted(id))).isEqualTo(SendResult.SENT);
    }
    world.eventually(() -> two.ids(0).size() + two.ids(1).size() == 500);
    for (int remainder = 0; remainder < 2; remainder++) {
      int from = remainder;
      for (int to = 0; to < 2; to++) {
        assertThat(two.ids(to).stream().filter(id -> id % 2 == from)).hasSize(125).isSorted();
      }
    }
    assertThat(one.node.sentOverLinks() + two.node.sentOverLinks()).as("over links").isZero();
    assertThat(one.metric("berth_bus_messages_sent_total")).isEqualTo(500);
    assertThat(two.metric("berth_bus_messages_received_total")).isEqualTo(500);
    world.eventually(() -> one.inFlight() == 0);
    assertThat(one.node.told).isEmpty();
  }

  @Test
  void nodeWithoutBusPortReceivesOverTheLink() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    one.knows(FakeNode.member("n2~1", two.node.port(), 2));
    two.knows(one.member);
    one.sendSoon(two, accepted(1));
    world.eventually(() -> two.ids(0).contains(1L));
    assertThat(one.node.sentOverLinks()).isOne();
    one.node.bus.remove("n2~1");
    assertThat(one.send(0, two, 0, accepted(2))).isEqualTo(SendResult.GONE);
  }

  @Test
  void messageWithoutWireFormIsUnfit() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    acquaint(one, two);
    one.sendSoon(two, accepted(1));
    BusMessage unfit = new StreamFrame(1, 0, Buffer.buffer(new byte[64 * 1024 + 1]), false, 0);
    assertThat(one.send(0, two, 0, unfit).reason())
        .isEqualTo("body: 65537 bytes (expected: at most 65536)");
    world.eventually(() -> one.inFlight() == 0);
  }

  @Test
  void firstMessagesWaitForThePingOfTheirPeer() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    one.knows(two.member);
    for (int id = 0; id < 20; id++) {
      assertThat(one.send(id % 2, two, 0, accepted(id))).isEqualTo(SendResult.SENT);
    }
    world.eventually(() -> two.metric("berth_bus_messages_dropped") > 2); // pings
    assertThat(fill(one, two)).isPositive();
    assertThat(one.inFlight()).isBetween(1L, FakeNode.CAP + 70_000);
    two.knows(one.member);
    world.eventually(() -> two.ids(0).size() == 20);
    assertThat(two.ids(0).stream().filter(id -> id % 2 == 0)).hasSize(10).isSorted();
    world.eventually(() -> one.inFlight() < 1_000);
    assertThat(one.node.told).isEmpty();
  }

  @Test
  void suspectedPeerWithoutAPingGetsNoMessages() throws Exception {
    BusNode one = new BusNode("n1", 1, Duration.ofMillis(500));
    BusNode two = new BusNode("n2", 2, LONG);
    one.knows(two.member);
    assertThat(one.send(0, two, 0, large(1))).isEqualTo(SendResult.SENT);
    world.eventually(() -> one.node.told.contains("broken n2~1 1"));
    assertThat(one.send(0, two, 0, accepted(2))).isEqualTo(SendResult.NOT_NOW);
    world.eventually(() -> one.inFlight() < 1_000);
    two.knows(one.member);
    one.sendSoon(two, accepted(3));
    world.eventually(() -> two.ids(0).equals(List.of(3L)));
  }

  @Test
  void otherRegistrationEndsTheWaits() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    acquaint(one, two);
    one.sendSoon(two, accepted(1));
    one.bus.add(FakeNode.member("n2~1", two.node.port(), two.port, 9));
    world.eventually(() -> one.node.told.contains("broken n2~1 1"));
    assertThat(one.node.told).containsExactly("broken n2~1 0", "broken n2~1 1");
    two.bus.register(new LocalRegistration("cluster-1", 9));
    world.eventually(() -> two.node.told.contains("broken n1~1 1"));
  }

  @Test
  void connectionBelongsToTheHomeLoopForEachFirstWriter() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    one.cluster.connectOn(one.home);
    two.knows(one.member);
    one.cluster.peers.add(two.member);
    ContextInternal user = one.node.loops.get(1);
    CountDownLatch written = new CountDownLatch(1);
    user.runOnContext(
        none ->
            one.vertx
                .eventBus()
                .sender(BusAddresses.bus("n2~1", 0))
                .write("of a user")
                .onComplete(done -> written.countDown()));
    assertThat(written.await(20, TimeUnit.SECONDS)).isTrue();
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch until = new CountDownLatch(1);
    one.stopped = until;
    user.runOnContext(
        none -> {
          blocked.countDown();
          try {
            until.await();
          } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
          }
        });
    assertThat(blocked.await(20, TimeUnit.SECONDS)).isTrue();
    one.node.bus.add(two.member);
    one.bus.add(two.member);
    one.sendSoon(two, accepted(1));
    world.eventually(() -> two.ids(0).contains(1L));
  }

  @Test
  void addressIsFoundOnTheHomeLoopAfterTheTaskOfItsWriter() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    one.cluster.connectOn(one.home);
    one.cluster.peers.add(FakeNode.member("n2~1", 1, 1, 1));
    CompletableFuture<Boolean> connects = new CompletableFuture<>();
    one.node
        .loops
        .get(1)
        .runOnContext(
            none -> {
              Promise<io.vertx.core.spi.cluster.NodeInfo> found = Promise.promise();
              one.cluster.getNodeInfo("n2~1", found);
              CompletableFuture<Void> passed = new CompletableFuture<>();
              one.home.runOnContext(here -> passed.complete(null));
              passed.join();
              found.future().onComplete(done -> connects.complete(one.home.inThread()));
            });
    assertThat(connects.get(20, TimeUnit.SECONDS)).isTrue();
  }

  // --- identity ---

  /** A difference between the two processes, after both sent messages. */
  enum Difference {
    CLUSTER(two -> two.bus.register(new LocalRegistration("cluster-2", 2))),
    OWN_REGISTRATION(two -> two.bus.register(new LocalRegistration("cluster-1", 9))),
    LOST(two -> two.bus.remove("n1~1")),
    REGISTRATION_OF_SENDER(two -> two.bus.add(FakeNode.member("n1~1", 1, 1, 9))),
    PROCESS_OF_SENDER(
        two -> {
          two.bus.remove("n1~1");
          two.bus.add(FakeNode.member("n1~2", 1, 1, 1));
        });

    private final Consumer<BusNode> step;

    Difference(Consumer<BusNode> step) {
      this.step = step;
    }
  }

  @ParameterizedTest
  @EnumSource
  void messageOfAnotherProcessIsDroppedAndCounted(Difference difference) throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    acquaint(one, two);
    one.sendSoon(two, accepted(1));
    world.eventually(() -> two.ids(0).contains(1L));
    difference.step.accept(two);
    double before = two.metric("berth_bus_messages_dropped");
    assertThat(one.send(0, two, 0, accepted(2))).isEqualTo(SendResult.SENT);
    assertThat(one.send(0, two, 0, reserve())).isEqualTo(SendResult.SENT);
    world.eventually(() -> two.metric("berth_bus_messages_dropped") >= before + 2);
    assertThat(two.ids(0)).containsExactly(1L);
  }

  @Test
  void messageWithAnotherSecretIsDropped() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    two.knows(one.member);
    NodeInfo node = two.member.node();
    NodeInfo other =
        new NodeInfo(
            node.name(),
            node.process(),
            false,
            null,
            node.labels(),
            node.host(),
            node.ports(),
            new NodeInfo.BusEndpoint(two.port, 3));
    one.knows(new Member(other, 2, two.member.state()));
    world.eventually(() -> two.metric("berth_bus_messages_dropped") > 1);
    assertThat(one.send(0, two, 0, accepted(1))).as("waits for a ping").isEqualTo(SendResult.SENT);
    one.vertx.eventBus().sender(BusAddresses.bus("n2~1", 0)).write("text");
    double before = two.metric("berth_bus_messages_dropped");
    one.vertx.eventBus().send(BusAddresses.bus("n2~1", 0), Buffer.buffer("forged"));
    world.eventually(() -> two.metric("berth_bus_messages_dropped") > before);
    assertThat(two.ids(0)).isEmpty();
  }

  // --- age ---

  @Test
  void messageAgesInTransit() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    acquaint(one, two);
    assertThat(two.youngMicros(one)).isBetween(15_000_000L, 19_999_999L);
    CountDownLatch until = two.node.stop();
    two.stopped = until;
    long begun = System.nanoTime();
    assertThat(one.send(0, two, 0, reserve())).isEqualTo(SendResult.SENT);
    world.after(1_000, until::countDown);
    world.eventually(() -> two.node.routers(0).size() == 2);
    long least = 20_000_000 - (System.nanoTime() - begun) / 1_000 - 100_000;
    assertThat(((ReserveSlot) two.node.routers(0).get(1)).acceptMicros())
        .isBetween(least, 20_000_000L - 950_000);
  }

  @Test
  void messageIsTooOldWithoutRecentPong() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, Duration.ofMillis(500));
    acquaint(one, two);
    assertThat(two.youngMicros(one)).isPositive();
    CountDownLatch until = new CountDownLatch(1);
    two.stopped = until;
    two.home.runOnContext(
        none -> {
          try {
            until.await();
          } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
          }
        });
    await(world.after(800, () -> {}));
    assertThat(two.acceptMicros(one)).isZero();
    until.countDown();
    assertThat(two.youngMicros(one)).isPositive();
  }

  @Test
  void messageIsTooOldAfterPauseUntilFreshPong() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, Duration.ofSeconds(1));
    acquaint(one, two);
    assertThat(two.youngMicros(one)).isPositive();
    CountDownLatch until = two.node.stop(); // its serving loops alone
    two.stopped = until;
    await(world.after(1_500, () -> {}));
    assertThat(one.send(0, two, 0, reserve())).isEqualTo(SendResult.SENT);
    until.countDown();
    world.eventually(() -> two.node.routers(0).size() == 2);
    assertThat(((ReserveSlot) two.node.routers(0).get(1)).acceptMicros()).isZero();
    assertThat(two.youngMicros(one)).isGreaterThan(15_000_000);
  }

  @Test
  void messageFromTheFutureIsTooOldUntilTheClockIsMeasuredAgain() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    acquaint(one, two);
    assertThat(two.youngMicros(one)).isPositive();
    on(
        one.home, // so that no ping comes between
        () -> {
          one.node.ahead.addAndGet(Duration.ofSeconds(10).toNanos());
          return one.bus.send("n2~1", BusAddresses.router("n2~1", 0), reserve());
        });
    world.eventually(() -> two.node.routers(0).size() == 2);
    assertThat(((ReserveSlot) two.node.routers(0).get(1)).acceptMicros()).isZero();
    assertThat(two.youngMicros(one)).isGreaterThan(15_000_000);
  }

  // --- bytes in flight, and the end of a peer ---

  /** A connection to a process that a test can hold and end. */
  private NetServer proxy(int port, List<NetSocket> held) throws Exception {
    return await(
        world
            .vertx
            .createNetServer()
            .connectHandler(
                from -> {
                  from.pause();
                  world
                      .vertx
                      .createNetClient()
                      .connect(port, "127.0.0.1")
                      .onSuccess(
                          to -> {
                            from.handler(to::write);
                            to.handler(from::write);
                            from.closeHandler(closed -> to.close());
                            from.resume();
                            held.add(from);
                          });
                })
            .listen(0, "127.0.0.1"));
  }

  private static int fill(BusNode one, BusNode two) throws Exception {
    int sent = 0;
    while (one.send(sent % 2, two, 0, large(sent)).isSent()) {
      assertThat(++sent).isLessThan(2_000);
    }
    return sent;
  }

  @Test
  void bytesInFlightAreBoundedAndReturnedWhenThePeerCloses() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    List<NetSocket> held = new CopyOnWriteArrayList<>();
    NetServer proxy = proxy(two.port, held);
    one.knows(FakeNode.member("n2~1", two.node.port(), proxy.actualPort(), 2));
    two.knows(one.member);
    one.sendSoon(two, accepted(1));
    world.eventually(() -> two.ids(0).contains(1L));
    held.forEach(NetSocket::pause);
    while (fill(one, two) > 0) {
      await(world.after(200, () -> {})); // what the kernels take
    }
    assertThat(one.inFlight()).isBetween(1L, FakeNode.CAP + 70_000);
    assertThat(one.send(0, two, 0, large(2))).isEqualTo(SendResult.NOT_NOW);
    assertThat(one.metric("berth_bus_sends_refused")).isGreaterThan(1);
    held.forEach(NetSocket::close);
    world.eventually(() -> one.inFlight() < 1_000); // of pings on a new connection
    assertThat(one.metric("berth_bus_writes_failed")).isPositive();
    one.sendSoon(two, accepted(3));
    world.eventually(() -> two.ids(0).contains(3L));
    assertThat(one.node.told).contains("broken n2~1 1").doesNotContain("suspected n2~1");
    await(proxy.close());
    held.forEach(NetSocket::close);
    world.eventually(() -> one.node.told.contains("suspected n2~1"));
    world.eventually(() -> one.send(0, two, 0, accepted(4)) == SendResult.NOT_NOW);
    one.forgets(two);
    assertThat(one.inFlight()).isZero();
  }

  @Test
  void silentPeerIsSuspectedAndWaitsForItEndOnce() throws Exception {
    BusNode one = new BusNode("n1", 1, Duration.ofMillis(500));
    BusNode two = new BusNode("n2", 2, LONG);
    acquaint(one, two);
    one.sendSoon(two, accepted(1));
    two.forgets(one);
    world.eventually(() -> one.node.told.stream().filter("suspected n2~1"::equals).count() > 2);
    assertThat(one.node.told).contains("broken n2~1 0", "broken n2~1 1").doesNotContain("leaving");
    assertThat(one.node.told.stream().filter(it -> it.startsWith("broken"))).hasSize(2);
  }

  @Test
  void leavingProcessNotifiesItsPeersOnce() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    acquaint(one, two);
    one.sendSoon(two, accepted(1));
    two.bus.leave();
    world.eventually(() -> one.node.told.contains("leaving n2~1"));
    await(world.after(200, () -> {}));
    assertThat(one.node.told).containsExactly("leaving n2~1");
  }

  @Test
  void unreadableMessageIsRefusedOverTheBus() throws Exception {
    BusNode one = new BusNode("n1", 1, LONG);
    BusNode two = new BusNode("n2", 2, LONG);
    two.node.bus.refuseOver(two.bus);
    acquaint(one, two);
    one.sendSoon(two, accepted(1));
    two.sendSoon(one, accepted(1));
    Buffer envelope =
        BusEnvelope.header("n1~1", new LocalRegistration("cluster-1", 1), 2, 2).appendLong(0);
    int start = envelope.length();
    DataFrame.write(envelope, BusAddresses.replica("n2~1", 0), reserve());
    envelope.setByte(start + 3, (byte) 99); // a version of messages that is not known
    one.vertx
        .eventBus()
        .send(
            BusAddresses.bus("n2~1", 0),
            new BusFrameCodec.BusFrame(envelope),
            BusFrameCodec.OPTIONS);
    world.eventually(
        () ->
            one.node.routers(0).stream()
                .anyMatch(it -> it instanceof CallRefused no && no.reason() == Refusal.UNREADABLE));
    assertThat(two.node.sentOverLinks()).isZero();
  }
}
