package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.cluster.bus.BusCluster;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.BusMessageCodec;
import dev.berth.view.LogFeed;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nodes whose event bus reaches other nodes, in this JVM. */
@Timeout(120)
class BusNodesIT {
  private static final String APP =
      """
      applications:
        - name: a
          route_prefix: /a
          import_path: dev.berth.node.TestApplications:where
          deployments: [{name: where, num_replicas: 1}]
      """;

  @TempDir private Path folder;
  private final List<TestNode> nodes = new ArrayList<>();
  private final int control = ClusterIT.freePort();

  @AfterEach
  void end() {
    for (int i = nodes.size(); i > 0; i--) {
      nodes.get(i - 1).close();
    }
  }

  private String yaml(String name, String messages, String cluster) {
    return """
        http_options: {host: 127.0.0.1, port: 0}
        berth:
          event_loops: 2
          messages: %s
          admin: {port: 0}
          state_dir: %s
          cluster:
            name: t
            node: %s
            role: %s
            control: ["n1@127.0.0.1:%d"]
            bind: 127.0.0.1
            insecure: true
            detection: {interval_ms: 100, timeout_ms: 1000}
            ports: {control: %d, data: 0, consensus: %d, https: 0, bus: 0}
            %s
        """
        .formatted(
            messages,
            folder.resolve(name),
            name,
            name.equals("n1") ? "control" : "worker",
            control,
            name.equals("n1") ? control : 0,
            ClusterIT.freePort(),
            cluster);
  }

  private TestNode start(String name, String messages, String cluster) throws Exception {
    TestNode node = new TestNode(yaml(name, messages, cluster));
    nodes.add(node);
    return node;
  }

  private static VertxInternal vertx(TestNode node) {
    return node.node.control.home().owner();
  }

  /** Returns the TCP ports on which this JVM listens, as Linux shows them. */
  private static Set<Integer> listeningPorts() throws IOException {
    Set<String> own = new HashSet<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (Path each : all) {
        own.add(Files.isSymbolicLink(each) ? Files.readSymbolicLink(each).toString() : "");
      }
    }
    Set<Integer> ports = new TreeSet<>();
    for (String family : List.of("tcp", "tcp6")) {
      for (String line : Files.readAllLines(Path.of("/proc/self/net", family))) {
        String[] parts = line.strip().split("\\s+");
        if (parts[3].equals("0A") && own.contains("socket:[" + parts[9] + "]")) {
          ports.add(Integer.parseInt(parts[1].replaceAll(".*:", ""), 16));
        }
      }
    }
    return ports;
  }

  /** Returns the ports that a start opens. */
  private static Set<Integer> portsOf(Callable<TestNode> start) throws Exception {
    Set<Integer> before = listeningPorts();
    start.call();
    Set<Integer> opened = listeningPorts();
    opened.removeAll(before);
    return opened;
  }

  private static BusCluster bus(TestNode node) {
    return node.node.running().side.bus;
  }

  /** Returns the ports of a node as operators see them. */
  private static JsonObject ports(TestNode asked, int index) {
    JsonArray all = new JsonObject(get(asked, "/api/v1/cluster")).getJsonArray("nodes");
    return all.getJsonObject(index).getJsonObject("ports");
  }

  private static String get(TestNode node, String path) {
    return node.admin("GET", path, "").body();
  }

  @Test
  void nodesExchangeMessagesOverTheBusAndServeRequests() throws Exception {
    TestNode one = start("n1", "event_bus", "");
    TestNode two = start("n2", "event_bus", "");
    String busName = bus(two).getNodeId();
    String address = BusAddresses.router(busName, 77);
    CompletableFuture<BusMessage> received = new CompletableFuture<>();
    TestNode.await(
        vertx(two)
            .eventBus()
            .<BusMessage>consumer(address, message -> received.complete(message.body()))
            .completion());
    TestNode.until(
        () -> bus(one).peers.member(busName) != null, () -> "n1 does not know the bus of n2");
    BusMessage sent = new BusMessage.CallAccepted(5, 0);
    vertx(one)
        .eventBus()
        .send(address, sent, new DeliveryOptions().setCodecName(BusMessageCodec.NAME));
    assertThat(received.get(20, TimeUnit.SECONDS)).isEqualTo(sent);

    assertThat(one.admin("PUT", "/api/serve/applications/", APP).statusCode()).isEqualTo(200);
    for (TestNode node : nodes) {
      TestNode.until(() -> node.get("/a").statusCode() == 200, () -> "a node does not serve");
    }

    nodes.remove(two);
    two.close();
    TestNode.until(() -> bus(one).peers.member(busName) == null, () -> "n2 remains a peer");
  }

  @Test
  void statusShowsTheBusPortAndNoOutputShowsTheSecret() throws Exception {
    Set<Integer> opened = portsOf(() -> start("n1", "direct", "event_bus: true"));
    TestNode one = nodes.get(0);
    assertThat(opened).contains(bus(one).port()).hasSize(7);
    TestNode two = start("n2", "direct", "");
    TestNode.until(() -> one.node.running().side.members.list().size() == 2, () -> "n2 is missing");
    assertThat(ports(two, 0).getInteger("bus")).isEqualTo(bus(one).port());
    assertThat(ports(one, 1).fieldNames()).containsExactlyInAnyOrder("data", "https", "http");

    long secret = two.node.running().side.members.list().get(0).node().bus().secret();
    assertThat(secret).isNotZero();
    assertThat(two.node.running().side.members.toString())
        .contains("bus=port " + bus(one).port())
        .doesNotContain(String.valueOf(secret), Long.toHexString(secret));
    for (TestNode node : nodes) {
      for (String path :
          List.of(
              "/api/v1/cluster",
              "/api/serve/applications/",
              "/api/v1/logs",
              "/api/v1/explain",
              "/metrics")) {
        assertThat(get(node, path))
            .as(path)
            .isNotEmpty()
            .doesNotContain(String.valueOf(secret), Long.toHexString(secret));
      }
    }
  }

  @Test
  void nodeWithoutAnEventBusOpensNoFurtherPort() throws Exception {
    String yaml =
        "http_options: {host: 127.0.0.1, port: 0}\n"
            + "berth: {admin: {port: 0}, messages: event_bus, ephemeral: true}";
    Set<Integer> alone =
        portsOf(
            () -> {
              TestNode made = new TestNode(yaml);
              nodes.add(made);
              return made;
            });
    TestNode first = nodes.get(0);
    assertThat(vertx(first).isClustered()).isFalse();
    assertThat(alone).containsExactlyInAnyOrder(first.node.port(), first.node.adminPort());

    Set<Integer> direct = portsOf(() -> start("n1", "direct", ""));
    TestNode node = nodes.get(1);
    assertThat(vertx(node).isClustered()).isFalse();
    JsonObject ports = ports(node, 0);
    assertThat(direct)
        .hasSize(6)
        .contains(
            node.node.port(),
            node.node.adminPort(),
            control,
            ports.getInteger("data"),
            ports.getInteger("https"));
  }

  @Test
  void startFailsInOneSentenceIfThePortOfTheBusIsInUse() throws Exception {
    try (ServerSocket used = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String busy = yaml("n1", "event_bus", "").replace("bus: 0", "bus: " + used.getLocalPort());
      assertThatThrownBy(
              () ->
                  TestNode.await(
                      BerthNode.start(
                          TestNode.read(busy), LogFeed.NONE, new CompletableFuture<>())))
          .rootCause()
          .hasMessageStartingWith(
              "berth.cluster.ports.bus: cannot listen on 127.0.0.1:" + used.getLocalPort() + ": ")
          .hasMessageContaining("Address already in use");
    }
  }
}
