package dev.berth.cluster.data;

import static dev.berth.cluster.link.LinkWorld.await;
import static dev.berth.cluster.link.LinkWorld.on;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.cluster.link.LinkServer;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.fakes.LogLines;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.SendResult;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Instances on one machine, with the links between them as they are. */
@Timeout(60)
class LinkBusIT {
  private static final Duration LONG = Duration.ofSeconds(30); // no silence in a test

  @TempDir private Path folder;
  private LinkWorld world;
  private final List<FakeNode> nodes = new ArrayList<>();
  private final List<CountDownLatch> stopped = new ArrayList<>();

  /** The first handshake of a JVM may take longer than one may: it has the most code to load. */
  @BeforeAll
  static void shakeHandsOnce(@TempDir Path folder) throws Exception {
    LinkBusIT first = new LinkBusIT();
    first.folder = folder;
    first.begin();
    FakeNode one = first.node("n1", LONG);
    FakeNode two = first.node("n2", LONG);
    FakeNode.acquaint(one, two);
    first.arrives(one, two, reserve(1));
    first.close();
  }

  @BeforeEach
  void begin() throws Exception {
    world = new LinkWorld(folder);
  }

  @AfterEach
  void close() throws Exception {
    stopped.forEach(CountDownLatch::countDown);
    for (FakeNode node : nodes) {
      await(node.bus.stop());
    }
    world.close();
  }

  private FakeNode node(String name, Duration timeout) throws Exception {
    return node(world.tls(name), name, timeout);
  }

  private FakeNode node(LinkTls tls, String name, Duration timeout) throws Exception {
    FakeNode node = new FakeNode(world, tls, name, timeout).start(nodes.size() + 1);
    nodes.add(node);
    return node;
  }

  private CountDownLatch stop(FakeNode node) {
    CountDownLatch until = node.stop();
    stopped.add(until);
    return until;
  }

  private static ReserveSlot reserve(long acceptMicros) {
    return reserve(new RouterAddress("n1~1", 0), acceptMicros);
  }

  private static ReserveSlot reserve(RouterAddress from, long acceptMicros) {
    return new ReserveSlot(
        1,
        from,
        new AttemptId(1, 0, 1),
        new ReplicaAddress("n2~1", 0, 0, 1),
        5_000,
        acceptMicros,
        1);
  }

  private static BusMessage large(long id) {
    return new StreamFrame(id, 0, Buffer.buffer(new byte[64 * 1024]), false, 0);
  }

  private static List<Long> ids(List<BusMessage> messages) {
    return messages.stream()
        .filter(CallAccepted.class::isInstance)
        .map(message -> ((CallAccepted) message).callId())
        .toList();
  }

  @Test
  void messagesGoBothWaysInOrderFromLoopToLoopFromTheFirstOneOn() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    for (int id = 0; id < 500; id++) {
      assertThat(one.send(id % 2, two, id / 2 % 2, new CallAccepted(id, 0))).isTrue();
      assertThat(two.send(one, id)).isTrue();
    }
    world.eventually(() -> two.routers(0).size() + two.routers(1).size() == 500);
    for (int remainder = 0; remainder < 2; remainder++) {
      int from = remainder;
      for (int to = 0; to < 2; to++) {
        assertThat(ids(two.routers(to)).stream().filter(id -> id % 2 == from))
            .hasSize(125)
            .isSorted();
      }
    }
    world.eventually(() -> one.routers(0).size() == 500);
    assertThat(ids(one.routers(0))).isSorted();
    LinkCounters counted = one.bus.counters;
    assertThat(counted.links.sum()).as("two of its own, one of the other's").isEqualTo(3);
    assertThat(counted.framesSent.sum()).isEqualTo(500);
    assertThat(counted.framesReceived.sum()).isEqualTo(500);
    assertThat(counted.bytesSent.sum()).isBetween(5_000L, 10_000L);
    assertThat(two.bus.counters.bytesReceived.sum()).isEqualTo(counted.bytesSent.sum());
    world.eventually(() -> one.inFlight(two) == 0);
    assertThat(one.told).isEmpty();
    assertThat(one.bus.counters.refusedSends.sum()).isZero();
    assertThat(one.bus.send("n3~1", "berth.router.n3~1.0", new CallAccepted(1, 0)))
        .isEqualTo(SendResult.GONE);
    assertThat(one.bus.send(two.busNode, "berth.router.n2~1.0", new CallAccepted(9, 0)))
        .as("from another thread")
        .isEqualTo(SendResult.SENT);
    world.eventually(() -> ids(two.routers(0)).contains(9L));
  }

  // --- time ---

  private long acceptMicros(FakeNode from, FakeNode to) throws Exception {
    int before = to.routers(0).size();
    arrives(from, to, reserve(20_000_000));
    return ((ReserveSlot) to.routers(0).get(before)).acceptMicros();
  }

  /** Sends it, and again when it was handed back: on a busy machine a handshake may fail. */
  private void arrives(FakeNode from, FakeNode to, BusMessage message) throws Exception {
    int before = to.routers(0).size();
    while (to.routers(0).size() == before) {
      int handedBack = from.routers(0).size();
      world.eventually(() -> from.send(0, to, 0, message));
      world.eventually(() -> to.routers(0).size() > before || from.routers(0).size() > handedBack);
    }
  }

  /** What is left of a message's 20 s once it is not thought to be old, after a pause. */
  private long youngMicros(FakeNode from, FakeNode to) throws Exception {
    long left = 0;
    while (left == 0) {
      left = acceptMicros(from, to);
    }
    return left;
  }

  @Test
  void whatIsOnItsWayAgesByThatAndByNothingElse() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    for (String with : List.of("the handshake", "a link that is there")) {
      CountDownLatch until = stop(two);
      long begun = System.nanoTime();
      one.send(0, two, 0, reserve(20_000_000));
      world.after(1_000, until::countDown);
      int arrived = two.routers(0).size();
      world.eventually(() -> two.routers(0).size() > arrived);
      long most = 20_000_000 - 950_000;
      long least = 20_000_000 - (System.nanoTime() - begun) / 1_000 - 100_000;
      assertThat(((ReserveSlot) two.routers(0).get(arrived)).acceptMicros())
          .as("waits for %s", with)
          .isBetween(least, most);
      assertThat(acceptMicros(one, two)).isBetween(15_000_000L, 19_999_999L);
    }
  }

  @Test
  void aLoopThatStoodStillFindsTheLinksThatItMade() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", Duration.ofMillis(300));
    FakeNode.acquaint(one, two);
    acceptMicros(one, two);
    CountDownLatch until = stop(one);
    await(world.after(1_000, until::countDown));
    assertThat(youngMicros(one, two)).isGreaterThan(15_000_000L);
    assertThat(one.told).isEmpty();
    assertThat(two.told).isEmpty();
  }

  @Test
  void whoWaitsForAnAnswerToWhatCannotBeReadIsTold() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    on(
        two.loops.get(0),
        () -> {
          EventLoopLinks links = new EventLoopLinks(two.bus, two.loops.get(0), 0);
          Buffer frame = Buffer.buffer();
          DataFrame.write(frame, BusAddresses.replica(two.busNode, 0), reserve(1));
          frame.setByte(3, (byte) 99); // a version of messages that is not known
          links.deliver(
              BusAddresses.replica(two.busNode, 0),
              List.of(new TimestampedFrame(frame, TimestampedFrame.LONG_AGO)));
          return null;
        });
    world.eventually(() -> one.routers(0).size() == 1);
    assertThat(one.routers(0).get(0)).isInstanceOf(CallRefused.class);
  }

  @Test
  void afterAPauseOfItsLoopNothingIsYoungUntilAFreshPingWasAnswered() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", Duration.ofSeconds(1));
    FakeNode.acquaint(one, two);
    acceptMicros(one, two);
    CountDownLatch until = stop(two);
    await(world.after(1_500, () -> {}));
    one.send(0, two, 0, reserve(20_000_000)); // just now: its age alone would say nothing
    until.countDown();
    world.eventually(() -> two.routers(0).size() == 2);
    assertThat(((ReserveSlot) two.routers(0).get(1)).acceptMicros()).isZero();
    assertThat(youngMicros(one, two)).isGreaterThan(15_000_000);
    assertThat(one.told).isEmpty();
  }

  @Test
  void aFrameFromTheFutureEndsTheLinkAndTheNextOneIsSound() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    acceptMicros(one, two);
    on(
        one.loops.get(0),
        () -> {
          one.ahead.addAndGet(Duration.ofSeconds(10).toNanos()); // the other was suspended
          return one.bus.send(two.busNode, BusAddresses.router(two.busNode, 0), reserve(1));
        });
    world.eventually(() -> one.told.contains("broken n2~1 0"));
    world.eventually(() -> two.told.contains("broken n1~1 0"));
    int before = two.routers(0).size();
    world.eventually(() -> one.send(two, 2) && two.routers(0).size() > before);
  }

  @Test
  void aLinkWithNothingToDoIsClosedAndNobodyIsToldThatItBroke() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    acceptMicros(one, two);
    for (FakeNode node : List.of(two, one)) { // in this order nothing comes from the future
      node.ahead.addAndGet(OutboundLink.IDLE.toNanos() + TimeUnit.SECONDS.toNanos(1));
    }
    world.eventually(() -> two.bus.counters.links.sum() == 0);
    world.eventually(() -> one.bus.counters.links.sum() == 0);
    assertThat(one.send(two, 8)).isTrue();
    world.eventually(() -> ids(two.routers(0)).contains(8L));
    assertThat(one.told).isEmpty();
    assertThat(two.told).isEmpty();
  }

  private int fill(FakeNode one, FakeNode two, int loop) throws Exception {
    int sent = 0;
    while (one.send(loop, two, 0, large(sent))) {
      sent++;
    }
    return sent;
  }

  @Test
  void capIsOfAllLinksToAPeerTogether() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    for (int loop : new int[] {0, 1}) {
      int from = loop;
      world.eventually(() -> one.send(from, two, 1, new CallAccepted(from, 0)));
    }
    world.eventually(() -> two.routers(1).size() == 2);
    stop(two);
    while (fill(one, two, 0) > 0) {
      await(world.after(200, () -> {})); // what the kernels take
    }
    assertThat(one.result(1, two, 0, large(1))).isEqualTo(SendResult.NOT_NOW);
  }

  @Test
  void linkWithBytesToWriteIsNotIdle() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    acceptMicros(one, two);
    CountDownLatch until = stop(two);
    int sent = fill(one, two, 0);
    assertThat(one.inFlight(two)).as("not with the kernel").isPositive();
    one.bus.idle = Duration.ofMillis(50);
    await(world.after(2_500, () -> {})); // longer than a link waits for an answer to its BYE
    until.countDown();
    world.eventually(() -> two.routers(0).size() == sent + 1);
    assertThat(one.told).isEmpty();
    assertThat(two.told).isEmpty();
  }

  @Test
  void endOfAnEarlierLinkLeavesTheNewerAlone() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    acceptMicros(one, two);
    CountDownLatch until = stop(two);
    one.bus.idle = Duration.ofMillis(50);
    await(world.after(400, () -> {})); // it has said BYE, and two has not read it
    one.bus.idle = OutboundLink.IDLE;
    assertThat(one.send(two, 8)).isTrue();
    until.countDown();
    world.eventually(() -> ids(two.routers(0)).contains(8L));
    world.eventually(() -> one.bus.counters.links.sum() == 1);
    assertThat(one.bus.counters.opened.sum()).isEqualTo(2);
    assertThat(one.bus.counters.failed.sum()).isZero();
    assertThat(one.told).isEmpty();
    assertThat(two.told).isEmpty();
  }

  /** After a state that was restored a registration may be lower than before. */
  @Test
  void lowerRegistrationReplacesTheOneBefore() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    acceptMicros(one, two);
    two.bus.register(new LocalRegistration("cluster-1", 1));
    one.bus.add(FakeNode.member(two.busNode, two.port(), 1));
    world.eventually(() -> one.send(two, 4) && ids(two.routers(0)).contains(4L));
  }

  @Test
  void messageWithoutAWireFormIsSaidToHaveNoneAndDisturbsNoOther() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    BusMessage unfit = new StreamFrame(1, 0, Buffer.buffer(new byte[64 * 1024 + 1]), false, 0);
    SendResult result = one.result(0, two, 0, unfit);
    assertThat(result.kind()).isEqualTo(SendResult.SendResultKind.UNFIT);
    assertThat(result.reason()).isEqualTo("body: 65537 bytes (expected: at most 65536)");
    assertThat(one.send(two, 5)).isTrue();
    world.eventually(() -> ids(two.routers(0)).contains(5L));
    assertThat(one.bus.counters.refusedSends.sum()).isZero();
    one.bus.remove(two.busNode);
    world.eventually(() -> one.result(0, two, 0, reserve(1)) == SendResult.GONE);
  }

  @Test
  void whoEndsTellsThoseThatSendToItAndThoseThatCome() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode three = node("n3", LONG);
    FakeNode.acquaint(one, two, three);
    world.eventually(() -> one.send(two, 1) && !two.routers(0).isEmpty());

    two.bus.leave();

    world.eventually(() -> one.told.contains("leaving n2~1"));
    int before = two.routers(0).size();
    world.eventually(() -> one.send(two, 2) && two.routers(0).size() > before);
    assertThat(three.told).isEmpty();
    world.eventually(() -> three.send(two, 3) && three.told.contains("leaving n2~1"));
    assertThat(two.told).isEmpty();
  }

  // --- who is not let in ---

  /** What is told wrong, and what is said of it. */
  enum Wrong {
    CLUSTER(
        world -> world.one().bus.register(new LocalRegistration("cluster-2", 1)),
        "cluster id: cluster-2 (expected: cluster-1)"),
    OWN_REGISTRATION(
        world -> world.one().bus.register(new LocalRegistration("cluster-1", 9)),
        "sender's registration: 9 (expected: 1)"),
    OTHER_REGISTRATION(
        world -> world.one().bus.add(FakeNode.member("n2~1", world.two().port(), 9)),
        "receiver's registration: 9 (expected: 2)"),
    PROCESS(
        world -> world.one().bus.add(FakeNode.member("n2~7", world.two().port(), 2)),
        "receiver: n2~7 (expected: n2~1)"),
    UNKNOWN(world -> world.two().bus.remove("n1~1"), "n1~1 is not known here");

    /** Two that would know each other. */
    record Two(FakeNode one, FakeNode two) {}

    private final Consumer<Two> step;
    private final String said;

    Wrong(Consumer<Two> step, String said) {
      this.step = step;
      this.said = said;
    }
  }

  @ParameterizedTest
  @EnumSource
  void whoIsNotWhoHeIsThoughtToBeIsRefusedAndBothSidesSayWhy(Wrong wrong) throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    wrong.step.accept(new Wrong.Two(one, two));
    String to = wrong == Wrong.PROCESS ? "n2~7" : "n2~1";
    assertRefused(one, to, "refused: " + wrong.said, "n1~1 is refused: " + wrong.said);
    assertThat(one.told.contains("suspected " + to)).isEqualTo(wrong == Wrong.PROCESS);
    assertThat(two.routers(0)).isEmpty();
  }

  private void assertRefused(FakeNode from, String to, String there, String here) throws Exception {
    try (LogLines said = new LogLines(EventLoopLinks.class, Level.INFO)) {
      assertThat(
              on(
                  from.loops.get(0),
                  () ->
                      from.bus.send(to, BusAddresses.router(to, 0), new CallAccepted(1, 0)).isSent()
                          && from.bus
                              .send(
                                  to,
                                  BusAddresses.replica(to, 0),
                                  reserve(new RouterAddress(from.busNode, 0), 1))
                              .isSent()))
          .isTrue();
      world.eventually(() -> wasHandedBack(from));
      world.eventually(
          () -> said.all().stream().anyMatch(line -> line.getFormattedMessage().contains(there)));
      world.eventually(
          () -> said.all().stream().anyMatch(line -> line.getFormattedMessage().contains(here)));
    }
    assertThat(from.told).as("nothing was lost by it").noneMatch(each -> each.startsWith("broken"));
  }

  /** Whether who waits for the one reserve is told that it never left. */
  private static boolean wasHandedBack(FakeNode from) {
    return from.routers(0).equals(List.of(new CallRefused(1, Refusal.TOO_LATE, LoadReport.NONE)));
  }

  @Test
  void aCertificateIsOfTheNodeThatItIsShownFor() throws Exception {
    FakeNode one = node(world.tls("other"), "n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode worker = node(world.tls("any", "worker.prod"), "n3", LONG);
    FakeNode.acquaint(one, two, worker);
    String differs = "a certificate of [other] (expected: of n1 or worker.prod)";
    assertRefused(one, "n2~1", "refused: " + differs, "n1~1 is refused: " + differs);
    assertRefused(two, "n1~1", differs, differs);
    worker.send(two, 3);
    two.send(worker, 4);
    world.eventually(() -> ids(two.routers(0)).contains(3L) && ids(worker.routers(0)).contains(4L));
  }

  @Test
  void nodeThatWasDownForAWhileIsDialledAgain() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    arrives(one, two, reserve(1));
    await(two.bus.stop());
    world.eventually(() -> !one.send(two, 1) && one.told.contains("suspected n2~1"));
    FakeNode again = new FakeNode(world, world.tls("n2"), "n2", LONG).start(2, two.port());
    nodes.add(again);
    FakeNode.acquaint(one, again);
    arrives(one, again, reserve(1));
  }

  // --- who goes ---

  @Test
  void whoIsNoNodeAnyMoreHasNoLinkAtOnce() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    acceptMicros(one, two);
    acceptMicros(two, one);
    one.bus.remove(two.busNode);
    assertThat(one.send(two, 1)).isFalse();
    world.eventually(() -> one.told.size() == 3 && two.told.size() == 3);
    assertThat(one.bus.counters.links.sum()).isZero();
    assertThat(two.bus.counters.links.sum()).isZero();
    assertThat(one.told).containsOnly("broken n2~1 0", "broken n2~1 1");
    assertThat(two.told).containsOnly("broken n1~1 0", "broken n1~1 1");
  }

  @Test
  void whoIsSilentIsSuspectedAndWhatWaitedForItIsLetGo() throws Exception {
    FakeNode one = node("n1", Duration.ofMillis(500));
    FakeNode two = node("n2", LONG);
    FakeNode.acquaint(one, two);
    acceptMicros(one, two);
    CountDownLatch resumed = stop(two);
    for (int id = 0; id < 40; id++) {
      one.send(0, two, 0, large(id));
    }
    long begun = System.nanoTime();
    world.eventually(() -> one.told.contains("suspected n2~1"));
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun)).isBetween(300L, 5_000L);
    world.eventually(() -> one.told.contains("broken n2~1 0"));
    assertThat(one.inFlight(two)).isZero();
    resumed.countDown();
    world.eventually(() -> two.told.contains("broken n1~1 0"));
  }

  @Test
  void whoDoesNotSayWhoHeIsHasTwoSecondsAndNoMore() throws Exception {
    FakeNode one = node("n1", LONG);
    ContextInternal loop = world.loop();
    LinkTls tls = world.tls("n2");
    NetClient dialer = tls.dialer(world.vertx);
    int silent =
        await(new LinkServer(tls, "test").listen(List.of(loop), "127.0.0.1", 0, taken -> {}));
    one.bus.add(FakeNode.member("n2~1", silent, 2));
    long begun = System.nanoTime();
    on(one.loops.get(0), () -> one.bus.send("n2~1", BusAddresses.router("n2~1", 0), reserve(1)));
    NetSocket mute = await(on(loop, () -> dialer.connect(one.port(), "127.0.0.1")));
    CountDownLatch ended = new CountDownLatch(1);
    mute.closeHandler(closed -> ended.countDown());
    world.eventually(() -> one.told.contains("suspected n2~1") && ended.getCount() == 0);
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun)).isBetween(2_000L, 6_000L);
  }

  /** Of all loops, whichever has accepted the link that is cut: no loop takes it for lost. */
  @Test
  void whatNeverLeftIsHandedBackBeforeWhatLeftIsLost() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode two = node("n2", LONG);
    two.bus.add(FakeNode.member(one.busNode, one.port(), 1));
    try (ServerSocket silent = new ServerSocket(0, 2, InetAddress.getLoopbackAddress())) {
      one.bus.add(FakeNode.member(two.busNode, silent.getLocalPort(), 2));
      two.send(one, 7);
      world.eventually(() -> ids(one.routers(0)).contains(7L));
      for (int loop : new int[] {0, 1}) {
        ReserveSlot asked = reserve(new RouterAddress(one.busNode, loop), 1);
        on(
            one.loops.get(loop),
            () -> one.bus.send(two.busNode, BusAddresses.replica(two.busNode, 0), asked));
      }
      world.eventually(() -> one.receivedBeforeBroken.size() == 2);
    }
    CallRefused handedBack = new CallRefused(1, Refusal.TOO_LATE, LoadReport.NONE);
    assertThat(one.receivedBeforeBroken.values()).allMatch(each -> each.contains(handedBack));
  }

  @Test
  void whoHangsDisturbsNobodyElse() throws Exception {
    FakeNode one = node("n1", LONG);
    FakeNode stuck = node("n2", LONG);
    FakeNode sound = node("n3", LONG);
    FakeNode.acquaint(one, stuck, sound);
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      one.bus.add(FakeNode.member("n4~1", silent.getLocalPort(), 4));
      acceptMicros(one, stuck);
      acceptMicros(one, sound);
      on(one.loops.get(0), () -> one.bus.send("n4~1", "berth.replica.n4~1.0", reserve(1)));
      stop(stuck);
      int refused = 0;
      for (long id = 100; id < 500; id++) {
        one.loops
            .get(0)
            .runOnContext(none -> one.bus.send("n4~1", "berth.router.n4~1.0", large(1)));
        refused += one.send(0, stuck, 0, large(id)) ? 0 : 1;
        assertThat(one.inFlight(stuck)).isLessThanOrEqualTo(FakeNode.CAP);
        assertThat(one.inFlight("n4~1")).isLessThanOrEqualTo(FakeNode.CAP);
        long begun = System.nanoTime();
        long now = id;
        assertThat(one.send(sound, id)).isTrue();
        world.eventually(() -> ids(sound.routers(0)).contains(now));
        assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun)).isLessThan(2_000);
      }
      assertThat(refused).isPositive();
      assertThat(one.bus.counters.refusedSends.sum()).isGreaterThan(refused);
      world.eventually(() -> one.told.contains("suspected n4~1"));
      world.eventually(() -> one.inFlight("n4~1") == 0);
      world.eventually(() -> wasHandedBack(one));
      assertThat(one.told).allMatch(line -> line.contains("n4~1"));
    }
  }
}
