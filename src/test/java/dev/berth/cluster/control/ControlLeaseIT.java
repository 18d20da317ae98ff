package dev.berth.cluster.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cluster.control.ControlForm.Beat;
import dev.berth.cluster.control.ControlForm.NodeBeat;
import dev.berth.cluster.control.ControlWorld.Controller;
import dev.berth.cluster.control.ControlWorld.Node;
import dev.berth.cluster.link.LinkServer;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.config.ClusterConfig.JoinAddress;
import io.vertx.core.Future;
import io.vertx.core.net.SocketAddress;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Renewals of a node's lease: as of the time at which the node sent what its controller received.
 */
@Timeout(60)
class ControlLeaseIT {
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

  /** Replies to the fourth heartbeat, and counts each before as not received. */
  private static final class SlowController implements ControlConnection.ControlConnectionHandler {
    final List<Long> helloNanos;
    final List<Long> beatNanos; // of arrivals
    private final ControlConnection line;

    SlowController(ControlConnection line, List<Long> helloNanos, List<Long> beatNanos) {
      this.line = line;
      this.helloNanos = helloNanos;
      this.beatNanos = beatNanos;
    }

    @Override
    public void onMessage(Record message) {
      if (message instanceof HandshakeHello) {
        helloNanos.add(System.nanoTime());
        line.send(new Welcome(FIRST, "n1", 7, true));
      } else if (message instanceof NodeBeat && beatNanos.size() < 4) {
        beatNanos.add(System.nanoTime());
        line.send(new Beat(FIRST, beatNanos.size() < 4 ? 0 : 4));
      } else if (message instanceof NodeBeat) {
        line.send(new Beat(FIRST, 4));
      }
    }

    @Override
    public void onEnded(String reason) {}
  }

  @Test
  void leaseCountsFromTheSendingOfTheAnsweredMessage() throws Exception {
    List<Long> hellos = new CopyOnWriteArrayList<>();
    List<Long> beats = new CopyOnWriteArrayList<>();
    Node node =
        world.new Node(controller, "n2", line -> new SlowController(line, hellos, beats)).started();

    world.links.eventually(() -> node.renewals.size() == 2 && beats.size() == 4);

    assertThat(node.renewals.get(0) - hellos.get(0)).isNegative();
    assertThat(node.renewals.get(1) - hellos.get(0)).isPositive();
    assertThat(node.renewals.get(1) - beats.get(0)).isNegative();
  }

  @Test
  void heartbeatsRenewTheLeasesOfAWorkerAndOfTheControllersNode() throws Exception {
    Node own = world.new Node(controller).started();
    Node worker = world.new Node("prod", "n2", "p2", "n2", controller.port).started();

    for (Node node : List.of(own, worker)) {
      world.links.eventually(() -> node.renewals.size() > 5);
      assertThat(node.renewals).isSorted();
      assertThat(node.renewals.get(5) - System.nanoTime()).isNegative();
    }
  }

  private static int closedPort() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      return server.getLocalPort();
    }
  }

  @Test
  void refusalByEachAddressRenewsAsOfTheFirstDial() throws Exception {
    long start = System.nanoTime();
    Node node = world.new Node("prod", "n2", "p2", "n2", closedPort(), closedPort()).started();

    world.links.eventually(() -> node.renewals.size() > 1);

    assertThat(node.renewals.get(0) - start).isPositive();
    assertThat(node.renewals).isSorted().doesNotHaveDuplicates();
  }

  @Test
  void oneAddressThatAcceptsOrIsUnknownRenewsNothing() throws Exception {
    AtomicInteger accepted = new AtomicInteger();
    LinkServer stranger = new LinkServer(world.links.tls("n1"), "stranger");
    int open =
        LinkWorld.await(
            stranger.listen(
                List.of(world.links.loop()),
                "127.0.0.1",
                0,
                socket -> {
                  accepted.incrementAndGet();
                  socket.close();
                }));
    Node node =
        world.new Node("prod", "n2", "p2", "n2", closedPort(), open, closedPort()).started();
    AtomicInteger rounds = new AtomicInteger();
    SocketConnector real =
        new SocketConnector(
            controller.around.links(),
            controller.around.tls(),
            controller.around.dialer(),
            List.of(new JoinAddress("127.0.0.1", closedPort(), false)));
    Node other = world.new Node(controller, "n3", new Unresolved(real, rounds)).started();

    world.links.eventually(() -> accepted.get() > 2 && rounds.get() > 3);

    assertThat(node.renewals).isEmpty();
    assertThat(other.renewals).isEmpty();
  }

  /** A connector one of whose names is not resolved. */
  private record Unresolved(Connector real, AtomicInteger rounds) implements Connector {
    @Override
    public Future<ControllerAddresses> addresses() {
      rounds.incrementAndGet();
      return real.addresses().map(found -> new ControllerAddresses(found.all(), false));
    }

    @Override
    public void connect(
        SocketAddress address,
        Function<ControlConnection, ControlConnection.ControlConnectionHandler> user) {
      real.connect(address, user);
    }
  }
}
