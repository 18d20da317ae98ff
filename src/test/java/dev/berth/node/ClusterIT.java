package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.view.LogFeed;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three nodes in this JVM that are one cluster. */
class ClusterIT {
  private static final String APP =
      """
      applications:
        - name: a
          route_prefix: /a
          import_path: dev.berth.node.TestApplications:where
          deployments: [{name: where, num_replicas: %d, max_ongoing_requests: 1}]
      """;

  private static final String NODE = "/api/v1/cluster/nodes/";

  @TempDir private Path folder;
  private final List<TestNode> nodes = new ArrayList<>();
  private int control;
  private String file = ""; // what it declares

  private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

  /** Below those that a port of 0 is given; none twice. */
  static int freePort() {
    while (true) {
      int port = ThreadLocalRandom.current().nextInt(20_000, 32_000);
      if (!GIVEN.add(port)) {
        continue;
      }
      try (ServerSocket socket = new ServerSocket(port)) {
        return socket.getLocalPort();
      } catch (IOException used) {
        // another one
      }
    }
  }

  private TestNode start(String name, String role) throws Exception {
    TestNode node = new TestNode(yaml(name, role, control, 0));
    nodes.add(node);
    return node;
  }

  private String yaml(String name, String role, int control, int admin) {
    return """
        http_options: {host: 127.0.0.1, port: 0}
        berth:
          event_loops: 2
          admin: {port: %d}
          state_dir: %s
          cluster:
            name: t
            node: %s
            role: %s
            control: ["n1@127.0.0.1:%d"]
            bind: 127.0.0.1
            insecure: true
            ports: {control: %d, data: 0, consensus: %d, https: 0}
            detection: {interval_ms: 100, timeout_ms: 1000}
        """
            .formatted(
                admin,
                folder.resolve(name),
                name,
                role,
                control,
                name.equals("n1") ? control : 0,
                freePort())
        + file;
  }

  @BeforeEach
  void three() throws Exception {
    control = freePort();
    start("n1", "control");
    start("n2", "worker");
    start("n3", "worker");
  }

  @AfterEach
  void end() {
    for (int i = nodes.size(); i > 0; i--) {
      nodes.get(i - 1).close();
    }
  }

  /** Which node each replica that runs is on, as a node's admin server says. */
  private static Map<String, String> replicas(TestNode asked) {
    return replicas(asked, "where");
  }

  private static Map<String, String> replicas(TestNode asked, String of) {
    Map<String, String> nodes = new HashMap<>();
    JsonObject said =
        new JsonObject(asked.admin("GET", "/api/serve/applications/", "").body())
            .getJsonObject("applications");
    JsonObject deployment = said.getJsonObject("a").getJsonObject("deployments").getJsonObject(of);
    if (deployment != null) { // else its code is not read yet
      deployment.getJsonArray("replicas").stream()
          .map(JsonObject.class::cast)
          .filter(replica -> replica.getString("state").equals("RUNNING"))
          .forEach(
              replica ->
                  nodes.put(
                      replica.getString("replica_id"),
                      replica.getString("node_id").replaceAll("~.*", "")));
    }
    return nodes;
  }

  private void deploy(int number) {
    deploy(APP.formatted(number), "where", number);
  }

  private void deploy(String app, String of, int number) {
    var deployed = nodes.get(0).admin("PUT", "/api/serve/applications/", app);
    assertThat(deployed.statusCode()).as(deployed.body()).isEqualTo(200);
    TestNode.until(
        () -> replicas(nodes.get(0), of).size() == number, () -> number + " replicas do not run");
  }

  private static void until200(TestNode node) {
    TestNode.until(() -> node.get("/a").statusCode() == 200, () -> "it does not answer");
  }

  @Test
  void aNodeThatFindsNoControllerEndsWhenItIsTold() {
    CompletableFuture<String> stop = new CompletableFuture<>();
    Future<BerthNode> started =
        BerthNode.start(TestNode.read(yaml("n4", "worker", freePort(), 0)), LogFeed.NONE, stop);
    stop.complete("SIGTERM");
    assertThatThrownBy(() -> TestNode.await(started))
        .hasMessageEndingWith("SIGTERM arrived before the start was complete");
  }

  @Test
  void drainOfWorkerDrainsThisNodeAlone() throws Exception {
    TestNode worker = nodes.get(1);
    assertThat(worker.admin("POST", "/api/v1/drain", "").statusCode()).isEqualTo(202);
    assertThat(TestNode.await(worker.node.stopAsked())).isEqualTo("POST /api/v1/drain");
    assertThat(nodes.get(0).node.stopAsked().isComplete()).as("the control node").isFalse();
  }

  @Test
  void oneReplicaAnswersWhatIsAskedAtAnyNode() {
    deploy(1);
    String replica = replicas(nodes.get(0)).keySet().iterator().next();
    for (TestNode node : nodes) {
      until200(node);
      for (int i = 0; i < 20; i++) {
        assertThat(node.get("/a").body()).isEqualTo(replica);
      }
    }
  }

  private static final String RESERVATIONS =
      "/api/v1/applications/a/deployments/where/reservations";

  private static String reserved(TestNode keeper) {
    var made = keeper.admin("POST", RESERVATIONS, "{\"ttl_s\": 2, \"wait_timeout_s\": 5}");
    assertThat(made.statusCode()).as(made.body()).isEqualTo(201);
    return new JsonObject(made.body()).getString("token");
  }

  @Test
  void aTokenIsWorthTheSameAtEachNodeUntilItsKeeperIsGone() {
    deploy(1);
    nodes.forEach(ClusterIT::until200);
    for (TestNode keeper : nodes) {
      for (TestNode user : nodes) {
        String token = reserved(keeper);
        assertThat(nodes.get(0).get("/a", "X-Request-Timeout-Seconds", "0.1").statusCode())
            .as("the only slot is held")
            .isEqualTo(408);
        String path = RESERVATIONS + "/" + token;
        assertThat(user.admin("PATCH", path, "").statusCode()).isEqualTo(200);
        assertThat(user.get("/a", "X-Berth-Reservation", token).statusCode()).isEqualTo(200);
        assertThat(user.get("/a", "X-Berth-Reservation", token).statusCode()).isEqualTo(409);
        assertThat(user.admin("DELETE", path, "").statusCode()).isEqualTo(409);
        String other = RESERVATIONS + "/" + reserved(keeper);
        assertThat(user.admin("DELETE", other, "").statusCode()).isEqualTo(204);
      }
    }
    String token = reserved(nodes.get(2));
    nodes.remove(2).close();
    var lost = nodes.get(1).get("/a", "X-Berth-Reservation", token);
    assertThat(lost.statusCode()).isEqualTo(410);
    assertThat(lost.body()).isEqualTo("The node that held the reservation is lost.");
  }

  @Test
  void whatHandlersAskOfOthersCrossesNodes() {
    String app =
        """
        applications:
          - name: a
            route_prefix: /a
            import_path: dev.berth.node.OverNodes:build
            deployments:
              - {name: front, num_replicas: 3}
              - {name: back, num_replicas: %d, max_ongoing_requests: 20}
        """;
    deploy(app.formatted(1), "back", 1);
    TestNode.until(() -> replicas(nodes.get(0), "front").size() == 3, () -> "front runs on all");
    String back = replicas(nodes.get(0), "back").keySet().iterator().next();
    String body = "0123456789abcdef".repeat(40_000);
    for (TestNode node : nodes) {
      TestNode.until(() -> node.get("/a/where").statusCode() == 200, () -> "it does not answer");
      assertThat(node.get("/a/where").body()).isEqualTo(back);
      assertThat(node.send("POST", "/a/echo", body).body()).isEqualTo(body);

      int hung = OverNodes.HUNG.get();
      int cancelled = OverNodes.CANCELLED.get();
      var left = node.getAsync("/a/hang");
      TestNode.until(() -> OverNodes.HUNG.get() > hung, () -> "it does not come to the replica");
      left.cancel(true);
      TestNode.until(() -> OverNodes.CANCELLED.get() > cancelled, () -> "it is not cancelled");
    }
    nodes.forEach(this::explains);

    deploy(app.formatted(3), "back", 3);
    for (TestNode node : nodes) {
      TestNode.until(
          () -> node.get("/a/all").body().split(",").length == 3, () -> "it asks not all of them");
      assertThat(node.get("/a/all").body().split(","))
          .containsExactlyInAnyOrderElementsOf(replicas(nodes.get(0), "back").keySet());
    }
  }

  /** Asked at the next node, in one timeline: what the front's replica did, and what it asked. */
  private void explains(TestNode node) {
    String id = "x-" + nodes.indexOf(node);
    node.get("/a/where", "X-Berth-Explain", "1", "X-Request-ID", id);
    TestNode next = nodes.get((nodes.indexOf(node) + 1) % nodes.size());
    String path = "/api/v1/requests/" + id + "/explain?format=text";
    TestNode.until(
        () -> next.admin("GET", path, "").body().contains("back"), () -> id + " is not explained");
    String told = next.admin("GET", path, "").body();
    String back = replicas(node, "back").keySet().iterator().next();
    assertThat(told).contains(back.substring(back.lastIndexOf('#') + 1)).contains("front");
    assertThat(told.split("handler settled", -1)).hasSizeGreaterThan(2);
  }

  @Test
  void replicasAreSpreadAndThoseOfANodeThatLeavesAreMadeUpFor() {
    deploy(3);
    assertThat(replicas(nodes.get(0)).values()).containsExactlyInAnyOrder("n1", "n2", "n3");
    nodes.forEach(ClusterIT::until200);
    nodes.remove(2).close();
    assertThat(replicas(nodes.get(0)).values()).containsOnly("n1", "n2").hasSize(3);
    nodes.forEach(ClusterIT::until200);
  }

  @Test
  void operatorsSeeTheClusterAtAnyNodeAndMoveReplicasOffOne() throws Exception {
    deploy(3);
    nodes.forEach(ClusterIT::until200);
    for (TestNode node : nodes) {
      assertThat(states(node)).isEqualTo(Map.of("n1", "ALIVE", "n2", "ALIVE", "n3", "ALIVE"));
    }
    JsonObject second = node(nodes.get(2), "n2");
    assertThat(second.getString("role")).isEqualTo("worker");
    assertThat(second.getInteger("replicas")).isEqualTo(1);
    assertThat(second.getJsonArray("unreachable_from")).isEmpty();

    assertThat(nodes.get(0).admin("POST", NODE + "n9/drain", "").statusCode()).isEqualTo(404);
    assertThat(nodes.get(2).admin("POST", NODE + "n2/drain", "").statusCode()).isEqualTo(202);
    TestNode.until(
        () -> node(nodes.get(0), "n2").getInteger("replicas") == 0, () -> "replicas stay on n2");
    assertThat(replicas(nodes.get(0)).values()).hasSize(3).doesNotContain("n2");
    assertThat(node(nodes.get(1), "n2").getString("state")).isEqualTo("CORDONED");
    until200(nodes.get(1));

    nodes.get(0).admin("POST", "/api/v1/controller/restart", "");
    nodes.remove(1).close();
    nodes.add(1, start("n2", "worker"));
    nodes.remove(3);
    TestNode.until(
        () -> "CORDONED".equals(states(nodes.get(0)).get("n2")), () -> "n2 is taken for a new one");
    deploy(4);
    assertThat(replicas(nodes.get(0)).values()).doesNotContain("n2");

    assertThat(nodes.get(1).admin("POST", NODE + "n2/uncordon", "").statusCode()).isEqualTo(200);
    assertThat(states(nodes.get(0))).containsEntry("n2", "ALIVE");
    deploy(5);
    assertThat(replicas(nodes.get(0)).values()).contains("n2");

    nodes.get(0).admin("DELETE", "/api/serve/applications/", "");
    nodes.remove(0).close();
    TestNode.until(
        () -> states(nodes.get(0)).equals(Map.of("n2", "ALIVE", "n3", "ALIVE")),
        () -> "n2 does not say what it knows");
    assertThat(cluster(nodes.get(0)).getString("control")).isNull();
    assertThat(nodes.get(0).admin("POST", NODE + "n3/drain", "").statusCode()).isEqualTo(503);
  }

  @Test
  void aControlNodeThatIsGivenAnOldStateCommandsNobodyAndSaysSo() throws Exception {
    nodes.remove(0).close();
    Path earlier = folder.resolve("earlier");
    copy(folder.resolve("n1"), earlier);
    startAgain();
    deploy(3);
    nodes.forEach(ClusterIT::until200);
    nodes.remove(0).close();
    Files.move(folder.resolve("n1"), folder.resolve("newer"));
    Files.move(earlier, folder.resolve("n1"));

    int admin = freePort();
    CompletableFuture<String> stop = new CompletableFuture<>();
    Future<BerthNode> old =
        BerthNode.start(TestNode.read(yaml("n1", "control", control, admin)), LogFeed.NONE, stop);

    TestNode.until(() -> cluster(admin).contains("\"stands_by\""), () -> "it does not stand by");
    assertThat(TestNode.at(admin, "GET", "/page/main.js", "").statusCode()).isEqualTo(200);
    String path = "/api/serve/applications/";
    var refused = TestNode.at(admin, "PUT", path, APP.formatted(1));
    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(refused.body()).contains("the controller stands by: generation 1, term ");
    assertThat(nodes.get(0).get("/a").statusCode()).as("others serve on").isEqualTo(200);
    assertThat(nodes.get(1).get("/a").statusCode()).isEqualTo(200);

    stop.complete("SIGTERM");
    assertThatThrownBy(() -> TestNode.await(old)).hasMessageContaining("SIGTERM");
  }

  /** What is said there, without nulls; empty when nobody is there. */
  private static String cluster(int admin) {
    try {
      JsonObject said = new JsonObject(TestNode.at(admin, "GET", "/api/v1/cluster", "").body());
      List.copyOf(said.fieldNames()).stream()
          .filter(each -> said.getValue(each) == null)
          .forEach(said::remove);
      return said.encode();
    } catch (CompletionException nobody) {
      return "";
    }
  }

  @Test
  void anEmptyControlNodeDeclaresNothingOfItsFileWhileOthersKnowAnotherCluster() throws Exception {
    deploy(3);
    nodes.forEach(ClusterIT::until200);
    nodes.remove(0).close();
    Files.move(folder.resolve("n1"), folder.resolve("newer"));
    file = APP.formatted(1);

    startAgain();

    TestNode.until(() -> cluster(nodes.get(0)).getBoolean("strangers"), () -> "nobody calls");
    var closed = nodes.get(0).admin("GET", "/api/serve/applications/", "");
    assertThat(closed.statusCode()).isEqualTo(503);
    assertThat(closed.body()).contains("nodes of another cluster connect: cluster id: ");
    assertThat(nodes.get(0).admin("PUT", "/api/serve/applications/", file).statusCode())
        .as("nothing is acknowledged")
        .isEqualTo(503);
    assertThat(nodes.get(1).get("/a").statusCode()).as("others serve on").isEqualTo(200);

    nodes.remove(2).close();
    nodes.remove(1).close();
    nodes.remove(0).close();
    start("n1", "control");
    assertThat(applications(nodes.get(0))).as("nobody knows better").containsExactly("a");
  }

  private static Set<String> applications(TestNode asked) {
    String said = asked.admin("GET", "/api/serve/applications/", "").body();
    return new JsonObject(said).getJsonObject("applications").fieldNames();
  }

  private void startAgain() throws Exception {
    nodes.add(0, start("n1", "control"));
    nodes.remove(3);
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path each : all.toList()) {
        Files.copy(each, to.resolve(from.relativize(each).toString()));
      }
    }
  }

  private static JsonObject cluster(TestNode asked) {
    return new JsonObject(asked.admin("GET", "/api/v1/cluster", "").body());
  }

  private static JsonObject node(TestNode asked, String name) {
    return cluster(asked).getJsonArray("nodes").stream()
        .map(JsonObject.class::cast)
        .filter(each -> each.getString("name").equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static Map<String, String> states(TestNode asked) {
    Map<String, String> states = new HashMap<>();
    cluster(asked).getJsonArray("nodes").stream()
        .map(JsonObject.class::cast)
        .forEach(each -> states.put(each.getString("name"), each.getString("state")));
    return states;
  }
}
