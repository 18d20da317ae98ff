package dev.berth.cluster.control;

import dev.berth.cluster.link.LinkServer;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.MemberAction.MemberLeaving;
import dev.berth.cluster.membership.MemberAction.MembershipEvent;
import dev.berth.cluster.membership.MemberAction.PublishMembers;
import dev.berth.cluster.membership.MemberAction.RemovedAsLeft;
import dev.berth.cluster.membership.MemberAction.RemovedAsLost;
import dev.berth.cluster.membership.MemberAction.SuspicionChanged;
import dev.berth.cluster.membership.MemberList;
import dev.berth.cluster.membership.MembershipRules;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.cluster.membership.NodeRegistration;
import dev.berth.config.ClusterConfig.JoinAddress;
import dev.berth.protocol.port.LoopExecutor;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A controller and nodes in one process, over sockets, faster than they are set up. */
final class ControlWorld {
  static final Duration INTERVAL = Duration.ofMillis(100);
  static final Duration TIMEOUT = Duration.ofMillis(1_000);

  /** What no controller takes. */
  static final String UNFIT = "unfit";

  final LinkWorld links;
  volatile boolean commits = true; // that a node is gone
  volatile boolean answers = true; // what nodes ask
  final Map<String, NodeRegistration> registry = new ConcurrentHashMap<>(new TreeMap<>());
  private final List<Node> nodes = new CopyOnWriteArrayList<>();
  private long lastNumber = 100;

  ControlWorld(Path folder) throws Exception {
    links = new LinkWorld(folder);
  }

  void close() throws Exception {
    for (Node node : nodes) {
      LinkWorld.await(node.client.stop());
    }
    links.close();
  }

  private static String read(Buffer payload) {
    if (payload.toString().equals("garbage")) {
      throw new IllegalArgumentException("garbage (expected: a message)");
    }
    return payload.toString();
  }

  private record OnContext(ContextInternal context) implements LoopExecutor {
    @Override
    public void execute(Runnable task) {
      context.runOnContext(here -> task.run());
    }

    @Override
    public boolean isHere() {
      return context.inThread();
    }
  }

  private ControlLoops around(LinkTls tls) {
    return new ControlLoops(
        links.loop(), new OnContext(links.loop()), tls, tls.dialer(links.vertx), System::nanoTime);
  }

  /** Commits in memory. */
  private final class Committed implements RegistrationStore {
    @Override
    public synchronized Future<Void> register(String name, String process) {
      registry.computeIfAbsent(name, n -> new NodeRegistration(n, process, ++lastNumber));
      return Future.succeededFuture();
    }

    @Override
    public Future<Void> remove(String name, long number) {
      if (!commits) {
        return Future.failedFuture("no room");
      }
      registry.computeIfPresent(name, (n, who) -> who.number() == number ? null : who);
      return Future.succeededFuture();
    }

    @Override
    public boolean includes(ClusterEpoch seen) {
      return true;
    }

    @Override
    public Collection<NodeRegistration> registeredNodes() {
      return registry.values();
    }
  }

  /** A controller on n1, and what it was told, as text. */
  final class Controller implements ControlServer.ControlServerListener {
    final List<String> told = new CopyOnWriteArrayList<>();
    final List<Buffer> inventories = new CopyOnWriteArrayList<>();
    final List<NetSocket> sockets = new CopyOnWriteArrayList<>();
    final List<Long> counts = new CopyOnWriteArrayList<>(); // of what it was told of members
    final ControlLoops around;
    final ControlServer server;
    private final LinkServer listener;
    volatile ClusterEpoch authority;
    volatile MemberList members = MemberList.NONE;
    int port;

    Controller(ClusterEpoch authority) throws Exception {
      this(authority, links.tls("n1"));
    }

    Controller(ClusterEpoch authority, LinkTls tls) throws Exception {
      this.authority = authority;
      around = around(tls);
      MembershipRules rules =
          new MembershipRules(
              "prod", "n1", "p1", Set.of("n1"), INTERVAL.toNanos(), TIMEOUT.toNanos());
      server = new ControlServer(around, rules, new Committed(), () -> this.authority, this);
      server.start();
      listener = new LinkServer(tls, "control links");
      port =
          LinkWorld.await(
              listener.listen(
                  List.of(around.links()),
                  "127.0.0.1",
                  0,
                  socket -> {
                    sockets.add(socket);
                    server.accept(socket);
                  }));
    }

    void stop() throws Exception {
      server.stop();
      LinkWorld.await(listener.close());
    }

    @Override
    public void onNodeJoined(Member member, boolean fresh) {
      told.add("joined %s %d %s".formatted(member.node().name(), member.registration(), fresh));
      server.command(member.node().name(), Buffer.buffer("before the inventory"));
    }

    private void take(Buffer payload) {
      if (payload.toString().equals(UNFIT)) {
        throw new IllegalArgumentException(UNFIT);
      }
    }

    @Override
    public void onInventory(Member member, Buffer payload) {
      take(payload);
      inventories.add(payload);
      server.command(member.node().name(), Buffer.buffer("after it"));
    }

    @Override
    public void onEvent(Member member, Buffer payload) {
      take(payload);
      told.add("event " + member.node().name() + " " + payload);
    }

    @Override
    public void onBusMessage(Member member, Buffer payload, @Nullable Consumer<Buffer> answer) {
      told.add("bus " + read(payload));
      if (answer != null && answers) {
        answer.accept(Buffer.buffer("answer to ").appendBuffer(payload));
      }
    }

    @Override
    public void onMembershipEvent(MembershipEvent news) {
      if (news instanceof PublishMembers it) {
        members = it.members();
        counts.add(members.count());
      } else if (news instanceof SuspicionChanged it) {
        told.add("suspected " + it.member().node().name() + " " + it.suspected());
      } else if (news instanceof MemberLeaving it) {
        told.add("leaving " + it.member().node().name());
      } else if (news instanceof RemovedAsLost it) {
        told.add("lost " + it.who().name() + " " + it.who().number() + " " + it.reason());
      } else if (news instanceof RemovedAsLeft it) {
        told.add("left " + it.who().name());
      } else {
        told.add("stands by");
      }
    }
  }

  /** A node, and what it was told, as text. */
  final class Node implements ControlClient.ControlClientListener {
    final List<String> told = new CopyOnWriteArrayList<>();
    final ControlLoops around;
    final ControlClient client;
    final NodeInfo info;
    final LinkServer data;
    final List<Long> renewals = new CopyOnWriteArrayList<>(); // of the lease
    volatile MemberList members = MemberList.NONE;
    volatile Buffer inventory = Buffer.buffer("nothing");

    /** One that calls some ports in turn; by any names in its certificate. */
    Node(String cluster, String name, String process, String certificate, int... ports)
        throws Exception {
      this(cluster, name, process, links.tls(certificate), ports);
    }

    Node(String cluster, String name, String process, LinkTls tls, int... ports) throws Exception {
      around = around(tls);
      data = new LinkServer(tls, "data");
      int dataPort =
          LinkWorld.await(data.listen(List.of(around.links()), "127.0.0.1", 0, NetSocket::close));
      ControlClient.ControlClientSettings self = self(cluster, name, process, dataPort);
      info = self.node();
      client =
          new ControlClient(
              around,
              self,
              new SocketConnector(
                  around.links(),
                  tls,
                  around.dialer(),
                  IntStream.of(ports)
                      .mapToObj(port -> new JoinAddress("localhost", port, port == ports[0]))
                      .toList()),
              new Random(1),
              this);
    }

    /** The controller's own. */
    Node(Controller controller) {
      this(controller, "n1", controller.server.local());
    }

    /** On the loops of a controller, whoever it is commanded by. */
    Node(
        Controller beside,
        String name,
        Function<ControlConnection, ControlConnection.ControlConnectionHandler> controller) {
      this(
          beside,
          name,
          (to, user) ->
              InProcessControlConnection.connect(beside.around.links(), user, controller));
    }

    Node(Controller beside, String name, Connector connector) {
      around = beside.around;
      data = new LinkServer(around.tls(), "data");
      ControlClient.ControlClientSettings self = self("prod", name, "p1", 0);
      info = self.node();
      client = new ControlClient(around, self, connector, new Random(1), this);
    }

    private static ControlClient.ControlClientSettings self(
        String cluster, String name, String process, int data) {
      return new ControlClient.ControlClientSettings(
          cluster,
          new NodeInfo(
              name,
              process,
              name.equals("n1"),
              null,
              Map.of(),
              "127.0.0.1",
              new NodeInfo.NodePorts(data, 0, 0, List.of()),
              null),
          Set.of("n1"),
          INTERVAL,
          TIMEOUT);
    }

    Node started() {
      nodes.add(this);
      client.start();
      return this;
    }

    @Override
    public void onWelcome(Welcome welcome) {
      told.add("welcomed %d %s".formatted(welcome.registration(), welcome.fresh()));
    }

    @Override
    public Buffer inventory() {
      return inventory;
    }

    @Override
    public void onCommand(Buffer payload) {
      told.add("command " + payload);
    }

    @Override
    public void onBusMessage(Buffer payload) {
      told.add("bus " + read(payload));
    }

    @Override
    public void onMembers(MemberList all) {
      members = all;
    }

    @Override
    public Collection<String> unreachable() {
      return List.of("n9");
    }

    @Override
    public void onLeaseRenewed(long sentNanos) {
      renewals.add(sentNanos);
    }

    @Override
    public void onNoController(boolean none) {
      told.add("no controller " + none);
    }
  }
}
