package dev.berth.cluster.control;

import static dev.berth.cluster.link.LinkWorld.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import dev.berth.cluster.control.ControlForm.Beat;
import dev.berth.cluster.control.ControlForm.Command;
import dev.berth.cluster.control.ControlForm.Event;
import dev.berth.cluster.control.ControlForm.Inventory;
import dev.berth.cluster.control.ControlWorld.Controller;
import dev.berth.cluster.control.ControlWorld.Node;
import dev.berth.cluster.link.LinkServer;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.Handshake;
import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.cluster.membership.Handshake.HandshakeRefused;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.MembershipStatus;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.fakes.LogLines;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.SocketAddress;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nodes and their controller over TLS on the loopback. */
@Timeout(60)
class ControlIT {
  private static final ClusterEpoch NEW = new ClusterEpoch("id-1", 1, 3, 1, "d1");
  private static final ClusterEpoch OLD = new ClusterEpoch("id-1", 1, 2, 9, "d9");
  private static final ClusterEpoch FIRST = new ClusterEpoch("id-1", 1, 1, 1, "d1");

  @TempDir private Path folder;
  private ControlWorld world;
  private Controller controller;

  @BeforeEach
  void begin() throws Exception {
    world = new ControlWorld(folder);
    controller = world.new Controller(FIRST);
  }

  @AfterEach
  void close() throws Exception {
    world.close();
  }

  private Node node(String name, String process) throws Exception {
    return world.new Node("prod", name, process, name, controller.port);
  }

  private void eventually(List<String> told, String... lines) throws Exception {
    world.links.eventually(() -> told.containsAll(List.of(lines)));
  }

  private void eventually(LogLines of, String refusal) throws Exception {
    String line = "controller unreachable: refused: " + refusal;
    world.links.eventually(
        () -> of.all().stream().anyMatch(each -> each.getFormattedMessage().equals(line)));
  }

  private void eventually(Controller of, Predicate<MembershipStatus> so) throws Exception {
    AtomicReference<MembershipStatus> last = new AtomicReference<>();
    world.links.eventually(
        () -> {
          of.server.status(last::set);
          return last.get() != null && so.test(last.get());
        });
  }

  @Test
  void aNodeIsToldNothingBeforeItsInventoryAndEverythingAfterIt() throws Exception {
    Node n2 = node("n2", "a").started();
    n2.client.event(Buffer.buffer("in the inventory"));
    eventually(n2.told, "welcomed 101 true", "command after it");
    assertThat(n2.told).containsSubsequence("no controller false", "welcomed 101 true");
    assertThat(n2.told).doesNotContain("command before the inventory");
    assertThat(controller.inventories).containsExactly(Buffer.buffer("nothing"));

    n2.client.event(Buffer.buffer("after it"));
    n2.client.bus(Buffer.buffer("metrics"));
    controller.server.bus("n2", Buffer.buffer("routes"));
    assertThat(await(n2.client.ask(Buffer.buffer("load"))))
        .isEqualTo(Buffer.buffer("answer to load"));
    eventually(n2.told, "bus routes");
    assertThat(controller.told)
        .containsExactly("joined n2 101 true", "event n2 after it", "bus metrics", "bus load");
  }

  @Test
  void allNodesKnowEachOther() throws Exception {
    Node n1 = world.new Node(controller).started();
    Node n2 = node("n2", "a").started();
    Node n3 = node("n3", "b").started();

    world.links.eventually(() -> n3.members.list().size() == 3 && n3.members.equals(n1.members));
    world.links.eventually(() -> n2.members.equals(n1.members));
    assertThat(n2.members).isEqualTo(controller.members);

    controller.server.cordon("n3", true);
    world.links.eventually(
        () -> n2.members.list().stream().anyMatch(m -> m.state() == Member.MemberState.CORDONED));
    eventually(controller, status -> status.nodes().size() == 3);
  }

  @Test
  void aNodeThatIsKilledIsLostAtOnce() throws Exception {
    Node n2 = node("n2", "a").started();
    eventually(n2.told, "command after it");

    await(n2.data.close());
    await(n2.client.stop());

    eventually(controller.told, "lost n2 101 connection refused");
  }

  @Test
  void aNodeThatStandsStillIsLostAndTheOthersAreNot() throws Exception {
    Node n2 = node("n2", "a").started();
    eventually(n2.told, "command after it"); // it is the first, with number 101
    Node n3 = node("n3", "b").started();
    eventually(n3.told, "command after it");
    CountDownLatch stands = new CountDownLatch(1);
    n2.around
        .links()
        .runOnContext(
            here -> {
              try {
                assertThat(stands.await(30, TimeUnit.SECONDS)).isTrue();
              } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
              }
            });

    eventually(controller.told, "suspected n2 true");
    world.links.eventually(
        () -> controller.told.stream().anyMatch(each -> each.startsWith("lost n2 101 silent")));
    Buffer big = Buffer.buffer(new byte[4 << 20]);
    controller.server.bus("n3", big);
    try (LogLines said = new LogLines(ControlClient.class, Level.WARN)) {
      stands.countDown();
      eventually(controller.told, "joined n2 103 true");
      eventually(n2.told, "welcomed 103 true");
      world.links.eventually(
          () ->
              List.copyOf(said.all()).stream()
                  .anyMatch(each -> each.getFormattedMessage().contains("blocked for")));
    }
    assertThat(controller.told).noneMatch(each -> each.startsWith("suspected n3"));
    assertThat(n3.told).doesNotContain("no controller true");
  }

  /** Of 1 024 questions at a time; answered ones stayed counted. */
  @Test
  void answeredQuestionsAreNotCounted() throws Exception {
    Node n2 = node("n2", "a").started();
    eventually(n2.told, "command after it");
    for (int round = 0; round < 3; round++) {
      List<Future<Buffer>> asked = new ArrayList<>();
      for (int i = 0; i < 500; i++) {
        asked.add(n2.client.ask(Buffer.buffer("x")));
      }
      await(Future.all(asked));
    }
  }

  @Test
  void openQuestionsFailWithTheirLink() throws Exception {
    world.answers = false;
    Node n2 = node("n2", "a").started();
    eventually(n2.told, "command after it");
    List<Future<Buffer>> asked = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      asked.add(n2.client.ask(Buffer.buffer("x")));
    }
    world.links.eventually(() -> controller.told.contains("bus x"));
    controller.sockets.get(0).close();
    await(Future.join(asked).otherwiseEmpty());
    assertThat(asked)
        .extracting(each -> each.cause().getMessage())
        .containsOnly("link to the controller closed");
    eventually(n2.told, "welcomed 101 false");
  }

  @Test
  void lossThatCannotBeCommittedIsNotAnnounced() throws Exception {
    Node n2 = node("n2", "a").started();
    eventually(n2.told, "command after it");
    world.commits = false;
    await(n2.data.close());
    await(n2.client.stop());
    eventually(controller.told, "suspected n2 true");
    assertThat(controller.told).noneMatch(each -> each.startsWith("lost"));
    assertThat(world.registry).containsKey("n2");
    world.commits = true;
    world.links.eventually(
        () -> controller.told.stream().anyMatch(each -> each.startsWith("lost")));
  }

  /** Its link ended while all were told, and the controller was not told then. */
  @Test
  void nodeThatReadsNothingKeepsNoNewsFromTheOthers() throws Exception {
    Node there = node("n2", "a"); // for its loop and its certificate
    FakeLine n2 = new FakeLine(there.around, "n2", "a", Map.of(), false);
    n2.until("Welcome");
    n2.onLoop(() -> n2.socket.channelHandlerContext().channel().config().setAutoRead(false));
    Map<String, String> labels = Map.of("k", "x".repeat(3_500));
    try (LogLines ends = new LogLines(ControlServer.class, Level.INFO)) {
      for (int i = 0; i < 150; i++) { // 40 MB of news, of which 16 MiB may wait
        n2.onLoop(() -> n2.line.send(new ControlForm.NodeBeat(List.of(), 0)));
        String name = "m" + i;
        new FakeLine(name, "b", labels, false);
        world.links.eventually(
            () -> controller.members.list().stream().anyMatch(m -> m.node().name().equals(name)));
      }
      assertThat(ends.all())
          .anyMatch(
              each ->
                  each.getFormattedMessage().contains("bytes unsent: the receiver does not read"));
    }
    for (int i = 0; i < controller.counts.size(); i++) {
      assertThat(controller.counts.get(i)).as("none is missing").isEqualTo(i + 1);
    }
  }

  /** A name that left may be another process's before its link has ended. */
  @Test
  void lateEndOfALinkLeavesTheNextOneOfItsName() throws Exception {
    FakeLine first = new FakeLine("n2", "a", Map.of(), true);
    first.until("Welcome");
    first.until("NodeLeft");
    FakeLine second = new FakeLine("n2", "b", Map.of(), false);
    second.until("Welcome");
    first.onLoop(() -> first.line.end("late"));
    controller.server.bus("n2", Buffer.buffer("routes"));
    second.until("Bus");
  }

  /** A node on the controller's own loop, which says what a test has it say. */
  private final class FakeLine implements ControlConnection.ControlConnectionHandler {
    final List<String> heard = new CopyOnWriteArrayList<>();
    private final ControlLoops at;
    private final boolean leaves;
    ControlConnection line;
    NetSocketInternal socket; // none on the controller's own loop

    FakeLine(String name, String process, Map<String, String> labels, boolean leaves) {
      this(controller.around, name, process, labels, leaves);
    }

    FakeLine(
        ControlLoops at, String name, String process, Map<String, String> labels, boolean leaves) {
      this.at = at;
      this.leaves = leaves;
      NodeInfo.NodePorts ports = new NodeInfo.NodePorts(1, 1, 1, List.of());
      NodeInfo node = new NodeInfo(name, process, false, null, labels, "h", ports, null);
      HandshakeHello hello =
          new HandshakeHello(
              Handshake.VERSION, WireCodec.VERSION, "prod", node, 0, false, null, List.of());
      Function<ControlConnection, ControlConnection.ControlConnectionHandler> user =
          made -> {
            line = made;
            return this;
          };
      if (at == controller.around) {
        onLoop(() -> controller.server.local().connect(null, user));
        onLoop(() -> line.send(hello));
      } else {
        onLoop(
            () ->
                at.dialer()
                    .connect(controller.port, "127.0.0.1")
                    .onSuccess(
                        made -> {
                          socket = (NetSocketInternal) made;
                          new SocketControlConnection(at.links(), at.tls(), "n1", user)
                              .attach(made);
                          line.send(hello);
                        }));
      }
    }

    void onLoop(Runnable task) {
      at.run(task);
    }

    void until(String message) throws Exception {
      world.links.eventually(() -> heard.contains(message));
    }

    @Override
    public void onMessage(Record message) {
      heard.add(message.getClass().getSimpleName());
      if (message instanceof Welcome && leaves) {
        line.send(new ControlForm.Leaving());
        at.later(() -> controller.server.onNodeDrained("n2"));
      }
    }

    @Override
    public void onEnded(String reason) {}
  }

  @Test
  void aNodeThatComesBackKeepsItsNumber() throws Exception {
    Node n2 = node("n2", "a").started();
    eventually(n2.told, "command after it");
    Future<Buffer> asked = n2.client.ask(Buffer.buffer("x"));
    await(asked);

    controller.sockets.get(0).close();
    n2.client.event(Buffer.buffer("in the next inventory, or before"));

    eventually(n2.told, "no controller true", "welcomed 101 false");
    eventually(controller.told, "joined n2 101 false");
    world.links.eventually(() -> controller.inventories.size() == 2);
    assertThat(controller.told).noneMatch(each -> each.startsWith("lost"));
  }

  @Test
  void aSecondProcessWaitsUntilTheFirstIsLost() throws Exception {
    Node first = node("n2", "a").started();
    eventually(first.told, "command after it");
    Node second;
    try (LogLines there = new LogLines(ControlClient.class, Level.WARN)) {
      second = node("n2", "b").started();
      eventually(
          there, "node n2: previous process still registered (expected: retry after it is lost)");
    }

    await(first.data.close());
    await(first.client.stop());

    eventually(second.told, "welcomed 102 true");
  }

  @Test
  void whoIsNotOfTheClusterIsRefusedWithOneLineOnBothSides() throws Exception {
    try (LogLines here = new LogLines(ControlServer.class, Level.WARN);
        LogLines there = new LogLines(ControlClient.class, Level.WARN)) {
      world.new Node("staging", "n2", "a", "n2", controller.port).started();
      String wrong = "refused: cluster: staging (expected: prod)";
      eventually(there, "cluster: staging (expected: prod)");
      world.new Node("prod", "n3", "a", "n4", controller.port).started();
      eventually(there, "a certificate of [n4] (expected: of n3 or worker.prod)");
      int calls = controller.sockets.size();
      world.links.eventually(() -> controller.sockets.size() > calls + 3); // they ask again

      assertThat(here.all())
          .filteredOn(each -> each.getFormattedMessage().equals("node n2: " + wrong))
          .hasSize(1);
      assertThat(there.all())
          .filteredOn(each -> each.getFormattedMessage().equals("controller unreachable: " + wrong))
          .hasSize(1);
    }
    assertThat(world.registry).isEmpty();
  }

  @Test
  void whoseHandshakeFailsIsToldWhatDiffersOnBothSides() throws Exception {
    Controller insecure = world.new Controller(FIRST, LinkTls.insecure());
    int tls = controller.port;
    int plain = insecure.port;
    saidOnBothSides(
        world.links.strange(false, "n2"),
        tls,
        "its certificate is signed by another CA than those of berth.cluster.tls.ca_file",
        "it rejects our certificate (expected: a valid one of its CA)");
    saidOnBothSides(
        world.links.strange(true, "n3"),
        tls,
        "it rejects our certificate (expected: a valid one of its CA)",
        "its certificate is signed by another CA than those of berth.cluster.tls.ca_file");
    saidOnBothSides(
        LinkTls.insecure(),
        tls,
        "closed by the peer (expected: no TLS, by berth.cluster.insecure here)",
        "it does not use TLS (expected: TLS 1.3, by berth.cluster.tls here)");
    saidOnBothSides(
        world.links.tls("n5"),
        plain,
        "closed during the handshake (expected: TLS 1.3, by berth.cluster.tls here)",
        "127.0.0.1: it uses TLS (expected: none, since berth.cluster.insecure is set here)");
    assertThat(world.registry).isEmpty();
  }

  private void saidOnBothSides(LinkTls tls, int port, String atNode, String atController)
      throws Exception {
    try (LogLines listener = new LogLines(LinkServer.class, Level.WARN);
        LogLines here = new LogLines(ControlServer.class, Level.WARN);
        LogLines there = new LogLines(ControlClient.class, Level.WARN)) {
      Node node = world.new Node("prod", "n9", "a", tls, port).started();
      List<String> told = new ArrayList<>();
      world.links.eventually(
          () -> {
            told.clear();
            listener.all().forEach(each -> told.add(each.getFormattedMessage()));
            here.all().forEach(each -> told.add(each.getFormattedMessage()));
            there.all().forEach(each -> told.add(each.getFormattedMessage()));
            return told.size() >= 2;
          });
      await(node.client.stop());
      String at = "127.0.0.1:" + port + ": ";
      assertThat(told)
          .containsExactlyInAnyOrder(
              "controller unreachable: " + at + atNode, "control links: refused: " + atController);
    }
  }

  @Test
  void whatCannotBeReadEndsItsLinkWithOneLine() throws Exception {
    String why = "not applied: java.lang.IllegalArgumentException: garbage";
    Node n2 = node("n2", "a").started();
    eventually(n2.told, "command after it");
    try (LogLines here = new LogLines(ControlServer.class, Level.INFO);
        LogLines there = new LogLines(ControlClient.class, Level.WARN)) {
      n2.client.bus(Buffer.buffer("garbage"));
      eventually(n2.told, "no controller true", "welcomed 101 false");
      assertThat(here.all())
          .filteredOn(each -> each.getFormattedMessage().contains(why))
          .singleElement()
          .satisfies(each -> assertThat(each.getThrowableProxy()).isNull());

      n2.told.clear();
      controller.server.bus("n2", Buffer.buffer("garbage"));
      eventually(n2.told, "no controller true", "welcomed 101 false");
      assertThat(there.all())
          .filteredOn(
              each ->
                  each.getFormattedMessage()
                      .contains("controller refused: message of the controller " + why))
          .hasSize(1);
      assertThat(here.all())
          .as("the controller knows")
          .anyMatch(each -> each.getFormattedMessage().contains("n2: refuses this controller: "));
    }
    n2.client.bus(Buffer.buffer("metrics"));
    eventually(controller.told, "bus metrics");
  }

  @Test
  void goodbyeIsAnsweredWhenItIsCommittedTheControllersOwnNodeTooSays() throws Exception {
    Node n1 = world.new Node(controller).started();
    Node n2 = node("n2", "a").started();
    eventually(n1.told, "command after it");
    eventually(n2.told, "command after it");

    for (Node node : List.of(n2, n1)) {
      String name = node == n1 ? "n1" : "n2";
      Future<Void> left = node.client.leave();
      eventually(controller.told, "leaving " + name);
      assertThat(left.isComplete()).isFalse();
      controller.server.onNodeDrained(name);
      await(left);
      eventually(controller.told, "left " + name);
    }
    assertThat(world.registry).isEmpty();
    assertThat(controller.told).noneMatch(each -> each.startsWith("lost"));
  }

  @Test
  void aControllerOfAnOldStateFindsOutAndCommandsNobody() throws Exception {
    controller.authority = new ClusterEpoch("id-1", 1, 3, 1, "d1");
    Controller old = world.new Controller(new ClusterEpoch("id-1", 1, 2, 1, "d1"));
    Node n2 = world.new Node("prod", "n2", "a", "n2", controller.port, old.port).started();
    eventually(n2.told, "command after it");

    controller.stop();

    eventually(old.told, "stands by");
    eventually(old, status -> status.standsBy() != null);
    assertThat(old.told).noneMatch(each -> each.startsWith("joined"));
  }

  @Test
  void aNodeRefusesAnOldControllerAndWhatAnOldOneCommands() throws Exception {
    Queue<ClusterEpoch> next = new ArrayDeque<>(List.of(NEW, OLD));
    List<String> ended = new CopyOnWriteArrayList<>();
    Node n2 =
        world
            .new Node(
                controller,
                "n2",
                line ->
                    new ControlConnection.ControlConnectionHandler() {
                      @Override
                      public void onMessage(Record message) {
                        if (message instanceof HandshakeHello && !next.isEmpty()) {
                          line.send(new Welcome(next.remove(), "n1", 7, true));
                          line.send(new Command(NEW, Buffer.buffer("new")));
                          line.send(new Command(OLD, Buffer.buffer("old")));
                        } else if (message instanceof HandshakeRefused it) {
                          ended.add("told: " + it.reason());
                        } else if (message instanceof Inventory) {
                          line.end("over");
                        }
                      }

                      @Override
                      public void onEnded(String reason) {
                        ended.add(reason);
                      }
                    })
            .started();

    String why =
        "generation 1, term 2, revision 9 (expected: at least 1, 3, 1, which a node has seen)";
    eventually(ended, "told: " + why, "controller refused: " + why);
    assertThat(n2.told)
        .containsExactly(
            "no controller false", "welcomed 7 true", "command new", "no controller true");
  }

  @Test
  void nodeRemembersNothingOfARefusedController() throws Exception {
    ClusterEpoch stranger = new ClusterEpoch("id-2", 9, 9, 9, "d9");
    List<HandshakeHello> hellos = new CopyOnWriteArrayList<>();
    Node n2 =
        world
            .new Node(
                controller,
                "n2",
                line ->
                    new ControlConnection.ControlConnectionHandler() {
                      @Override
                      public void onMessage(Record message) {
                        if (message instanceof HandshakeHello it) {
                          hellos.add(it);
                          line.send(new Welcome(stranger, "n9", 7, true)); // expected: n1
                          line.send(new Beat(stranger, 0));
                        }
                      }

                      @Override
                      public void onEnded(String reason) {}
                    })
            .started();

    world.links.eventually(() -> hellos.size() > 1);
    assertThat(hellos.get(1).seen()).isNull();
    assertThat(n2.told).isEmpty();
  }

  /** Who says to the controller what it wants, and what it was told. */
  private Told speaks() throws Exception {
    Told told = new Told(new CopyOnWriteArrayList<>(), new CopyOnWriteArrayList<>());
    LinkWorld.on(
        controller.around.links(),
        () -> {
          controller.server.local().connect(SocketAddress.inetSocketAddress(1, "unused"), told::on);
          return told;
        });
    return told;
  }

  @Test
  void whatAnInventoryHasIsNotTakenAgain() throws Exception {
    Told n2 = speaks();
    Node other = world.new Node("prod", "n2", "a", "n2", controller.port);
    n2.say(
        controller,
        new HandshakeHello(
            Handshake.VERSION, WireCodec.VERSION, "prod", other.info, 0, false, null, List.of()));
    eventually(controller.told, "joined n2 101 true");

    n2.say(controller, new Inventory(5, Buffer.buffer("all")));
    n2.say(controller, new Event(5, Buffer.buffer("in it")));
    n2.say(controller, new Event(6, Buffer.buffer("after it")));

    eventually(controller.told, "event n2 after it");
    assertThat(controller.told).containsExactly("joined n2 101 true", "event n2 after it");
  }

  @Test
  void whoseWordsAreNotTakenTellsAllOfItAgain() throws Exception {
    Node n2 = node("n2", "a").started();
    eventually(n2.told, "command after it");

    n2.client.event(Buffer.buffer(ControlWorld.UNFIT));

    eventually(n2.told, "no controller true", "welcomed 101 false");
    world.links.eventually(() -> controller.inventories.size() == 2);
    assertThat(controller.told).noneMatch(each -> each.startsWith("lost"));
  }

  @Test
  void whoNeverTellsWhatItRunsIsLostThoughItIsHeard() throws Exception {
    Node n2 = node("n2", "a");
    n2.inventory = Buffer.buffer(ControlWorld.UNFIT);
    n2.started();

    eventually(controller.told, "lost n2 101 it does not send its inventory");
  }

  @Test
  void whoSaysNothingOrIsRefusedAndStaysIsEnded() throws Exception {
    Told silent = speaks();
    Told refused = speaks();
    refused.say(
        controller,
        new HandshakeHello(
            Handshake.VERSION,
            WireCodec.VERSION,
            "other",
            world.new Node("prod", "n2", "a", "n2", 1).info,
            0,
            false,
            null,
            List.of()));

    world.links.eventually(() -> !silent.ends.isEmpty() && !refused.ends.isEmpty());

    assertThat(silent.ends)
        .containsExactly("not admitted within 2000 ms (expected: HELLO, and WELCOME)");
    assertThat(refused.said.get(0)).isInstanceOf(HandshakeRefused.class);
    assertThat(world.registry).isEmpty();
  }

  @Test
  void aControllerThatSaysNothingHasAsLong() throws Exception {
    LinkServer silent = new LinkServer(world.links.tls("n1"), "test");
    int port = await(silent.listen(List.of(world.links.loop()), "127.0.0.1", 0, taken -> {}));
    try (LogLines said = new LogLines(ControlClient.class, Level.WARN)) {
      world.new Node("prod", "n2", "a", "n2", port).started();
      world.links.eventually(() -> !said.all().isEmpty());
      assertThat(said.all())
          .asString()
          .isEqualTo("[[WARN] controller unreachable: 127.0.0.1:" + port + ": silent for 2000 ms]");
    }
  }

  /** Sends messages over one line, and returns the messages that the other end received. */
  private List<Record> sent(Record... messages) throws Exception {
    LinkTls tls = world.links.tls("n1");
    CompletableFuture<NetSocket> accepted = new CompletableFuture<>();
    var loop = world.links.loop();
    int port =
        await(
            new LinkServer(tls, "test")
                .listen(
                    List.of(loop), "127.0.0.1", 0, socket -> accepted.complete(socket.pause())));
    List<Record> said = new CopyOnWriteArrayList<>();
    List<String> ended = new CopyOnWriteArrayList<>();
    NetSocket socket =
        await(LinkWorld.on(loop, () -> tls.dialer(world.links.vertx).connect(port, "127.0.0.1")));
    NetSocket other = accepted.get(10, TimeUnit.SECONDS);
    LinkWorld.on(
        loop,
        () -> {
          new SocketControlConnection(loop, tls, "there", line -> new Told(said, ended))
              .attach(other);
          SocketControlConnection line =
              new SocketControlConnection(loop, tls, "there", own -> new Told(said, ended));
          line.attach(socket);
          List.of(messages).forEach(line::send);
          return line;
        });

    world.links.eventually(() -> said.size() == messages.length);
    return said;
  }

  @Test
  void aBeatOvertakesWhatIsLong() throws Exception {
    Event big = new Event(7, Buffer.buffer(new byte[8 << 20]));

    assertThat(sent(big, new Beat(FIRST, 0))).containsExactly(new Beat(FIRST, 0), big);
  }

  @Test
  void aChangedBeatArrivesAsItIs() throws Exception {
    Record[] beats = {new Beat(FIRST, 0), new Beat(FIRST, 5), new Beat(NEW, 5), new Beat(FIRST, 6)};

    assertThat(sent(beats)).containsExactly(beats);
  }

  private static final class Told implements ControlConnection.ControlConnectionHandler {
    final List<Record> said;
    final List<String> ends;
    private ControlConnection line;

    Told(List<Record> said, List<String> ends) {
      this.said = said;
      this.ends = ends;
    }

    Told on(ControlConnection made) {
      line = made;
      return this;
    }

    void say(Controller to, Record message) {
      to.around.later(() -> line.send(message));
    }

    @Override
    public void onMessage(Record message) {
      said.add(message);
    }

    @Override
    public void onEnded(String reason) {
      ends.add(reason);
    }
  }

  @Test
  void whatIsAskedWithoutAControllerFails() throws Exception {
    Node alone = world.new Node("prod", "n2", "a", "n2", 1).started();

    assertThatThrownBy(() -> await(alone.client.ask(Buffer.buffer("x"))))
        .hasRootCauseMessage("controller unreachable or overloaded");
  }
}
