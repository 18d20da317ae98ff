package dev.berth.cluster.control;

import dev.berth.cluster.link.LinkServer;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.Authority;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.MemberAction.Leaves;
import dev.berth.cluster.membership.MemberAction.Left;
import dev.berth.cluster.membership.MemberAction.Lost;
import dev.berth.cluster.membership.MemberAction.News;
import dev.berth.cluster.membership.MemberAction.Suspect;
import dev.berth.cluster.membership.MemberAction.Tell;
import dev.berth.cluster.membership.Members;
import dev.berth.cluster.membership.MembershipRules;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.cluster.membership.Registered;
import dev.berth.config.ClusterConfig.JoinAddress;
import dev.berth.protocol.port.Loop;
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
  final Map<String, Registered> registry = new ConcurrentHashMap<>(new TreeMap<>());
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

  private record OnContext(ContextInternal context) implements Loop {
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
  private final class Committed implements Registrations {
    @Override
    public synchronized Future<Void> register(String name, String process) {
      registry.computeIfAbsent(name, n -> new Registered(n, process, ++lastNumber));
      return Future.succeededFuture();
    }

    @Override
    public Future<Void> gone(String name, long number) {
      if (!commits) {
        return Future.failedFuture("no room");
      }
      registry.computeIfPresent(name, (n, who) -> who.number() == number ? null : who);
      return Future.succeededFuture();
    }

    @Override
    public boolean includes(Authority seen) {
      return true;
    }

    @Override
    public Collection<Registered> known() {
      return registry.values();
    }
  }

  /** A controller on n1, and what it was told, as text. */
  final class Controller implements ControlServer.Listener {
    final List<String> told = new CopyOnWriteArrayList<>();
    final List<Buffer> inventories = new CopyOnWriteArrayList<>();
    final List<NetSocket> sockets = new CopyOnWriteArrayList<>();
    final List<Long> counts = new CopyOnWriteArrayList<>(); // of what it was told of members
    final ControlLoops around;
    final ControlServer server;
    private final LinkServer listener;
    volatile Authority authority;
    volatile Members members = Members.NONE;
    int port;

    Controller(Authority authority) throws Exception {
      this(authority, links.tls("n1"));
    }

    Controller(Authority authority, LinkTls tls) throws Exception {
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
    public void joined(Member member, boolean fresh) {
      told.add("joined %s %d %s".formatted(member.node().name(), member.registration(), fresh));
      server.command(member.node().name(), Buffer.buffer("before the inventory"));
    }

    private void take(Buffer payload) {
      if (payload.toString().equals(UNFIT)) {
        throw new IllegalArgumentException(UNFIT);
      }
    }

    @Override
    public void inventory(Member member, Buffer payload) {
      take(payload);
      inventories.add(payload);
      server.command(member.node().name(), Buffer.buffer("after it"));
    }

    @Override
    public void event(Member member, Buffer payload) {
      take(payload);
      told.add("event " + member.node().name() + " " + payload);
    }

    @Override
    public void bus(Member member, Buffer payload, @Nullable Consumer<Buffer> answer) {
      told.add("bus " + read(payload));
      if (answer != null && answers) {
        answer.accept(Buffer.buffer("answer to ").appendBuffer(payload));
      }
    }

    @Override
    public void news(News news) {
      if (news instanceof Tell it) {
        members = it.members();
        counts.add(members.count());
      } else if (news instanceof Suspect it) {
        told.add("suspected " + it.member().node().name() + " " + it.suspected());
      } else if (news instanceof Leaves it) {
        told.add("leaving " + it.member().node().name());
      } else if (news instanceof Lost it) {
        told.add("lost " + it.who().name() + " " + it.who().number() + " " + it.reason());
      } else if (news instanceof Left it) {
        told.add("left " + it.who().name());
      } else {
        told.add("stands by");
      }
    }
  }

  /** A node, and what it was told, as text. */
  final class Node implements ControlClient.Listener {
    final List<String> told = new CopyOnWriteArrayList<>();
    final ControlLoops around;
    final ControlClient client;
    final NodeInfo info;
    final LinkServer data;
    volatile Members members = Members.NONE;
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
      ControlClient.Self self = self(cluster, name, process, dataPort);
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
    Node(Controller beside, String name, Function<Line, Line.User> controller) {
      this(beside, name, (to, user) -> LocalLine.connect(beside.around.links(), user, controller));
    }

    private Node(Controller beside, String name, Connector connector) {
      around = beside.around;
      data = new LinkServer(around.tls(), "data");
      ControlClient.Self self = self("prod", name, "p1", 0);
      info = self.node();
      client = new ControlClient(around, self, connector, new Random(1), this);
    }

    private static ControlClient.Self self(String cluster, String name, String process, int data) {
      return new ControlClient.Self(
          cluster,
          new NodeInfo(
              name,
              process,
              name.equals("n1"),
              null,
              Map.of(),
              "127.0.0.1",
              new NodeInfo.Ports(data, 0, 0)),
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
    public void welcomed(Welcome welcome) {
      told.add("welcomed %d %s".formatted(welcome.registration(), welcome.fresh()));
    }

    @Override
    public Buffer inventory() {
      return inventory;
    }

    @Override
    public void command(Buffer payload) {
      told.add("command " + payload);
    }

    @Override
    public void bus(Buffer payload) {
      told.add("bus " + read(payload));
    }

    @Override
    public void members(Members all) {
      members = all;
    }

    @Override
    public Collection<String> unreachable() {
      return List.of("n9");
    }

    @Override
    public void noController(boolean none) {
      told.add("no controller " + none);
    }
  }
}
