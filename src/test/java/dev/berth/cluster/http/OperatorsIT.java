package dev.berth.cluster.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.AdminAuthFilter;
import dev.berth.admin.AdminRoutes;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.node.TestNode;
import dev.berth.view.ControllerCommands;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Operators ask any node, and are answered for the whole cluster. */
@Timeout(60)
class OperatorsIT {
  @AutoClose private static PeerRig rig;

  @BeforeAll
  static void makeCertificates(@TempDir Path certificates) throws Exception {
    rig = new PeerRig(certificates);
  }

  private static final ServeConfig FILE = ConfigReader.read("f", Path.of(""), "applications: []");
  private static final String FOLLOWS = CommandGate.name("id-1", 2);
  private static final int BYTES = 20_000_000; // more than sockets hold

  private final List<NodeInfo> members = new CopyOnWriteArrayList<>();
  private volatile @Nullable NodeInfo control;
  private volatile boolean heard = true;
  private final ControlNodeClient node =
      new ControlNodeClient(rig.vertx, rig.client, () -> control, () -> heard, () -> FOLLOWS);
  private final ForwardRoutes forward = new ForwardRoutes("w1", node, FILE);

  private final int port =
      rig.operators(
          new FanOutRoutes(rig.client, () -> members),
          router -> router.get("/own").handler(context -> context.end("own")),
          forward);

  private final HttpClient client = HttpClient.newHttpClient();

  private HttpRequest.Builder to(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
        .timeout(Duration.ofSeconds(20));
  }

  private HttpResponse<String> ask(HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), BodyHandlers.ofString());
  }

  private JsonObject json(String path) throws Exception {
    HttpResponse<String> response = ask(to(path));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return new JsonObject(response.body());
  }

  private static NodeInfo closed(String name) {
    try (ServerSocket socket = new ServerSocket(0)) {
      return PeerRig.node(name, socket.getLocalPort(), ClusterRole.WORKER);
    } catch (IOException failed) {
      throw new AssertionError(failed);
    }
  }

  // --- forwarded ---

  /** Says what came. */
  private static void mirror(RoutingContext context) {
    JsonObject headers = new JsonObject();
    context.request().headers().forEach(each -> headers.put(each.getKey(), each.getValue()));
    context
        .request()
        .body()
        .onSuccess(
            body ->
                context
                    .response()
                    .setStatusCode(202)
                    .putHeader("Location", "/there")
                    .putHeader("Server", "secret")
                    .putHeader("Content-Type", "application/json")
                    .end(
                        new JsonObject()
                            .put(
                                "asked", context.request().method() + " " + context.request().uri())
                            .put("headers", headers)
                            .put("body", body.toString())
                            .encode()));
  }

  @Test
  void whatANodeDoesNotAnswerTheControlNodeDoes() throws Exception {
    control = rig.serve("c1", router -> router.route("/api/*").handler(OperatorsIT::mirror));
    HttpResponse<String> answer =
        ask(
            to("/api/v1/a%20b?prune=all")
                .header("Content-Type", "application/yaml")
                .header(ControllerCommands.ID, "id-1")
                .header(ControllerCommands.FILE, "file://h/f")
                .header("Authorization", "Bearer secret")
                .PUT(BodyPublishers.ofString("applications: []")));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
    assertThat(answer.headers().firstValue("Location")).hasValue("/there");
    assertThat(answer.headers().firstValue("Server")).isEmpty();
    JsonObject came = new JsonObject(answer.body());
    assertThat(came.getString("asked")).isEqualTo("PUT /api/v1/a%20b?prune=all");
    assertThat(came.getString("body")).isEqualTo("applications: []");
    assertThat(came.getJsonObject("headers").getMap())
        .containsEntry("Content-Type", "application/yaml")
        .containsEntry(ControllerCommands.ID, "id-1")
        .containsEntry(ControllerCommands.FILE, "file://h/f")
        .containsEntry(ForwardRoutes.BY, "w1")
        .containsEntry(AdminAuthFilter.FOR, "address 127.0.0.1 by w1")
        .doesNotContainKey("Authorization");
    assertThat(ask(to("/own")).body()).isEqualTo("own");
    assertThat(ask(to("/nowhere")).statusCode()).isEqualTo(404);
  }

  @Test
  void controlNodeOfAnotherClusterRefusesForwardedCommand() throws Exception {
    AdminRoutes all = router -> router.route("/api/*").handler(OperatorsIT::mirror);
    control = rig.serve("c2", new CommandGate(() -> CommandGate.name("id-2", 1), () -> null), all);
    HttpResponse<String> refused = ask(to("/api/v1/applications/a").DELETE());
    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(refused.headers().firstValue("Retry-After")).hasValue("1");
    assertThat(refused.body())
        .contains("another_cluster", "cluster id id-1, generation 2", "cluster id id-2, gen")
        .contains("node w1");
    control = rig.serve("c3", new CommandGate(() -> FOLLOWS, () -> null), all);
    assertThat(ask(to("/api/v1/applications/a").DELETE()).statusCode()).isEqualTo(202);
  }

  @Test
  void closedControllerAnswersOperatorsWithTheReason() throws Exception {
    AdminRoutes all = router -> router.route("/api/*").handler(OperatorsIT::mirror);
    control = rig.serve("c4", new CommandGate(() -> FOLLOWS, () -> "it stands by: why"), all);
    HttpResponse<String> refused = ask(to("/api/v1/serve"));
    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(refused.body()).contains("no_controller", "it stands by: why");
    assertThat(ask(to("/api/v1/drain").POST(BodyPublishers.noBody())).statusCode()).isEqualTo(202);
  }

  @Test
  void longBodiesPassBothWays() throws Exception {
    control =
        rig.serve(
            "c1",
            router ->
                router
                    .put("/mirror")
                    .handler(
                        context -> {
                          context.response().setChunked(true);
                          context.request().pipeTo(context.response());
                        }));
    // Reads while it writes: the JDK's client reads only what comes when it has sent all.
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.setSoTimeout(20_000);
      CompletableFuture<Long> read =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return socket.getInputStream().transferTo(OutputStream.nullOutputStream());
                } catch (IOException failed) {
                  throw new UncheckedIOException(failed);
                }
              });
      OutputStream written = socket.getOutputStream();
      String head = "PUT /mirror HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
      written.write((head + "Content-Length: " + BYTES + "\r\n\r\n").getBytes(UTF_8));
      written.write(new byte[BYTES]);
      assertThat(read.get()).isGreaterThan(BYTES);
    }
  }

  @Test
  void aRefusalComesThoughTheBodyIsNotReadToItsEnd() throws Exception {
    control =
        rig.serve(
            "c1",
            router ->
                router
                    .put("/refused")
                    .handler(
                        context -> {
                          context.request().pause();
                          context.response().putHeader("Connection", "close");
                          context.response().setStatusCode(413).end("too long");
                        }));
    // A client that waits for 100 has sent nothing of the body when the refusal comes.
    String said =
        raw("PUT /refused HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\nx");
    assertThat(said).startsWith("HTTP/1.1 413 ").contains("connection: close").endsWith("too long");
  }

  private String raw(String request) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(request.getBytes(UTF_8));
      return new String(socket.getInputStream().readAllBytes(), UTF_8);
    }
  }

  @Test
  void withoutAControlNodeItIsA503() throws Exception {
    HttpResponse<String> none = ask(to("/api/v1/serve"));
    assertThat(none.statusCode()).isEqualTo(503);
    assertThat(none.headers().firstValue("Retry-After")).hasValue("1");
    assertThat(new JsonObject(none.body()).getString("message"))
        .isEqualTo("There is no control node now.");
    control = closed("c1");
    HttpResponse<String> gone = ask(to("/api/v1/serve"));
    assertThat(gone.statusCode()).isEqualTo(503);
    assertThat(new JsonObject(gone.body()).getString("message"))
        .startsWith("The control node does not respond: c1 (127.0.0.1:")
        .contains("Connection refused");
  }

  @Test
  void whoSendsALongBodyIsToldSoAsWell() throws Exception {
    control = closed("c1");
    HttpURLConnection asked =
        (HttpURLConnection) to("/api/v1/jars/x").build().uri().toURL().openConnection();
    asked.setRequestMethod("PUT");
    asked.setReadTimeout(20_000);
    asked.setDoOutput(true);
    asked.setFixedLengthStreamingMode(BYTES);
    asked.getOutputStream().write(new byte[BYTES]); // and reads behind it
    assertThat(asked.getResponseCode()).isEqualTo(503);
    assertThat(new String(asked.getErrorStream().readAllBytes(), UTF_8))
        .contains("Connection refused");
  }

  @Test
  void aControlNodeThatIsNotHeardIsWaitedForNoLonger() throws Exception {
    control = rig.serve("c1", router -> router.get("/never").handler(context -> heard = false));
    HttpResponse<String> stands = ask(to("/never"));
    assertThat(stands.statusCode()).isEqualTo(503);
    assertThat(new JsonObject(stands.body()).getString("message"))
        .isEqualTo("The control node does not respond: no reply");
  }

  @Test
  void whatWasForwardedIsNotForwardedAgain() throws Exception {
    control = rig.serve("w2", new ForwardRoutes("w2", node, FILE));
    HttpResponse<String> loop = ask(to("/api/v1/serve"));
    assertThat(loop.statusCode()).isEqualTo(508);
    assertThat(new JsonObject(loop.body()).getString("message"))
        .isEqualTo("w1 takes w2 for the control node (expected: the current one)");
  }

  @Test
  void slowClientsLeaveConnectionsForOthers() throws Exception {
    AtomicInteger came = new AtomicInteger();
    control =
        rig.serve(
            "c1",
            router -> {
              router
                  .put("/slow")
                  .handler(
                      context -> {
                        context.request().resume();
                        came.incrementAndGet();
                      });
              router.get("/other").handler(context -> context.end());
            });
    List<Socket> slow = new ArrayList<>();
    try {
      for (int i = 0; i < ForwardRoutes.MAX_CONCURRENT; i++) {
        Socket socket = new Socket("127.0.0.1", port);
        slow.add(socket);
        String head = "PUT /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx";
        socket.getOutputStream().write(head.getBytes(UTF_8));
      }
      TestNode.until(() -> came.get() == ForwardRoutes.MAX_CONCURRENT, () -> came + " came");
      HttpResponse<String> more = ask(to("/other"));
      assertThat(more.statusCode()).isEqualTo(503);
      assertThat(more.body()).contains("16 requests are being forwarded (expected: at most 16)");
      int own =
          rig.onLoop(() -> rig.client.send(control, "/other", PeerClient.RESPONSE_IDLE_TIMEOUT))
              .statusCode();
      assertThat(own).isEqualTo(200);
    } finally {
      for (Socket each : slow) {
        each.close();
      }
    }
  }

  @Test
  void clientsThatLeaveAtOnceKeepNoPlace() throws Exception {
    control =
        rig.serve(
            "c1", router -> router.put("/slow").handler(context -> context.request().resume()));
    for (int i = 0; i < 4 * ForwardRoutes.MAX_CONCURRENT; i++) {
      try (Socket socket = new Socket("127.0.0.1", port)) {
        String head = "PUT /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx";
        socket.getOutputStream().write(head.getBytes(UTF_8));
      }
    }
    TestNode.until(() -> forward.underWay == 0, () -> forward.underWay + " are under way");
  }

  @Test
  void aClientThatLeavesEndsWhatIsForwarded() throws Exception {
    CompletableFuture<Void> asked = new CompletableFuture<>();
    CompletableFuture<Void> gone = new CompletableFuture<>();
    control =
        rig.serve(
            "c1",
            router ->
                router
                    .get("/never")
                    .handler(
                        context -> {
                          context.response().closeHandler(closed -> gone.complete(null));
                          asked.complete(null);
                        }));
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.getOutputStream().write("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes());
      asked.join();
    }
    gone.orTimeout(20, TimeUnit.SECONDS).join();
  }

  // --- gathered ---

  private static AdminRoutes says(String path, JsonObject json) {
    return router -> router.get(path).handler(context -> context.json(json));
  }

  private static JsonObject ledger(String replica, int granted) {
    return new JsonObject()
        .put("at", "2026-01-01T00:00:00Z")
        .put("replicas", new JsonArray().add(new JsonObject().put("replica", replica)))
        .put("total", new JsonObject().put("replicas", 1).put("granted", granted));
  }

  private static List<Object> of(JsonObject json, String list, String key) {
    List<Object> found = new ArrayList<>();
    json.getJsonArray(list).forEach(each -> found.add(((JsonObject) each).getValue(key)));
    return found;
  }

  @Test
  void ledgersOfAllNodesAreOne() throws Exception {
    members.add(rig.serve("n1", says("/api/v1/ledger", ledger("a", 2))));
    members.add(rig.serve("n2", says("/api/v1/ledger", ledger("b", 3))));
    members.add(closed("n3"));
    JsonObject all = json("/api/v1/ledger");
    assertThat(of(all, "replicas", "replica")).containsExactly("a", "b");
    assertThat(of(all, "replicas", "node")).containsExactly("n1", "n2");
    assertThat(all.getJsonObject("total").getMap()).isEqualTo(Map.of("replicas", 2, "granted", 5));
    assertThat(all.getJsonArray("unreachable")).containsExactly("n3");
    assertThat(json("/api/v1/ledger?node=n2")).isEqualTo(ledger("b", 3));
    assertThat(ask(to("/api/v1/ledger?node=n3")).statusCode()).isEqualTo(503);
    assertThat(ask(to("/api/v1/ledger?node=n9")).statusCode()).isEqualTo(404);
  }

  @Test
  void aNodeThatDoesNotAnswerIsNamedAfterTwoSeconds() throws Exception {
    members.add(rig.serve("n1", says("/api/v1/ledger", ledger("a", 2))));
    members.add(rig.serve("n2", router -> router.get("/api/v1/ledger").handler(context -> {})));
    assertThat(json("/api/v1/ledger").getJsonArray("unreachable")).containsExactly("n2");
  }

  @Test
  void linesOfAllNodesAreInTheOrderOfTime() throws Exception {
    members.add(rig.serve("n1", says("/api/v1/logs", page("10:00:00.100Z", "10:00:02Z"))));
    members.add(rig.serve("n2", says("/api/v1/logs", page("10:00:01Z"))));
    JsonObject all = json("/api/v1/logs?level=warn");
    assertThat(of(all, "lines", "node")).containsExactly("n1", "n2", "n1");
    assertThat(all.getJsonObject("nodes").getJsonObject("n2").getMap())
        .isEqualTo(Map.of("began", "b", "next", 1, "lost", 0));
    HttpResponse<String> refused = ask(to("/api/v1/logs?since=4"));
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(json("/api/v1/logs?since=4&node=n2")).isEqualTo(page("10:00:01Z"));
  }

  private static JsonObject page(String... times) {
    JsonArray lines = new JsonArray();
    for (String time : times) {
      lines.add(new JsonObject().put("number", lines.size() + 1).put("time", "2026-01-01T" + time));
    }
    return new JsonObject()
        .put("began", "b")
        .put("lines", lines)
        .put("next", times.length)
        .put("lost", 0);
  }

  @Test
  void explanationsComeFromWhoeverHasThem() throws Exception {
    String path = "/api/v1/requests/mine/explain";
    JsonObject kept =
        new JsonObject()
            .put("request_id", "mine")
            .put("explanations", new JsonArray().add(new JsonObject().put("status", 200)))
            .put("explanations_in_all", 1);
    members.add(rig.serve("n1", router -> router.get(path).handler(context -> context.fail(404))));
    assertThat(ask(to(path)).statusCode()).isEqualTo(404);
    members.add(rig.serve("n2", says(path, kept)));
    JsonObject all = json(path);
    assertThat(of(all, "explanations", "node")).containsExactly("n2");
    assertThat(all.getInteger("explanations_in_all")).isEqualTo(1);
    assertThat(all.getJsonArray("unreachable")).isEmpty();
  }

  @Test
  void explanationsAsTextSayOfWhichNodeTheyAre() throws Exception {
    String path = "/api/v1/requests/mine/explain";
    for (String name : List.of("n1", "n2")) {
      members.add(
          rig.serve(
              name,
              router ->
                  router
                      .get(path)
                      .handler(
                          context ->
                              context
                                  .response()
                                  .putHeader("Content-Type", "text/plain; charset=utf-8")
                                  .end(context.request().query() + "\n"))));
    }
    members.add(closed("n3"));
    assertThat(ask(to(path + "?node=&format=text")).statusCode()).isEqualTo(404);
    assertThat(ask(to(path + "?format=text")).body())
        .isEqualTo("node n1\nformat=text\nnode n2\nformat=text\nunreachable: n3\n");
  }

  @Test
  void theLatestRequestsComeFirst() throws Exception {
    for (int node = 1; node <= 2; node++) {
      JsonArray requests =
          new JsonArray()
              .add(new JsonObject().put("arrived_at", "2026-01-01T00:00:0" + node + "Z"));
      members.add(
          rig.serve(
              "n" + node, says("/api/v1/requests", new JsonObject().put("requests", requests))));
    }
    assertThat(of(json("/api/v1/requests?limit=5"), "requests", "node"))
        .containsExactly("n2", "n1");
  }
}
