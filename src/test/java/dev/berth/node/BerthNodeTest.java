package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.code.StartFailedException;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.desired.LogDirectory;
import dev.berth.view.LogFeed;
import io.vertx.core.Future;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** One instance in this JVM; the packaged one is tested by the integration tests. */
class BerthNodeTest {
  private static final String HIDDEN =
      "{name: hidden, route_prefix: null, import_path: 'dev.berth.node.TestApplications:plain'}";

  private final Set<Thread> before = threads();

  /** Threads of ours and of Vert.x end soon after the instance. */
  @AfterEach
  void noThreadIsLeft() {
    TestNode.until(() -> left().isEmpty(), () -> "threads left: " + left());
  }

  private static ServeConfig config(int port, String... applications) {
    return TestNode.read(
        """
        http_options: {host: 127.0.0.1, port: %d}
        applications: [%s]
        berth: {event_loops: 3, admin: {port: 0}, shutdown_timeout_s: 5}
        """
            .formatted(port, String.join(", ", applications)));
  }

  private static String application(String name, String builder) {
    return "{name: %s, route_prefix: /%s, import_path: 'dev.berth.node.TestApplications:%s'}"
        .formatted(name, name, builder);
  }

  /** The thread of the access log is the last that ends; what comes then is the control loop's. */
  @Test
  void anInstanceThatLogsAccessEndsToo() throws Exception {
    TestNode node =
        new TestNode(
            TestNode.read(
                """
                http_options: {host: 127.0.0.1, port: 0}
                logging_config: {enable_access_log: true}
                applications: [%s]
                berth: {event_loops: 1, admin: {port: 0}, shutdown_timeout_s: 5}
                """
                    .formatted(application("a", "plain"))));
    assertThat(node.get("/a").statusCode()).isEqualTo(200);
    node.node.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  @Test
  void aSpreadReplicaServesEachConnectionOnTheLoopItCameInOn() throws Exception {
    try (TestNode node = new TestNode(config(0, application("spread", "spread")))) {
      Set<String> threads = new HashSet<>();
      for (int i = 0; i < 6; i++) { // connections go to the ingresses in turn
        HttpClient client = HttpClient.newHttpClient();
        threads.add(anew(client, node, "/spread"));
        threads.add(anew(client, node, "/spread"));
      }
      assertThat(threads).hasSize(3); // all serving loops, and not the control loop
      assertThat(node.admin("GET", "/-/healthz", "").body()).isEqualTo("success");
    }
  }

  @Test
  void applicationsAnswerAtTheirRoutesAndAtNoOther() throws Exception {
    try (TestNode node =
        new TestNode(config(0, application("a", "plain"), application("b", "spread"), HIDDEN))) {
      for (String path : List.of("/-/healthz", "/-/routes")) {
        assertThat(node.get(path).statusCode()).as(path).isEqualTo(200);
      }
      assertThat(node.get("/-/healthz").body()).isEqualTo("success");
      assertThat(node.get("/-/routes").body()).isEqualTo("{\"/a\":\"a\",\"/b\":\"b\"}");
      for (String path : List.of("/a", "/a/", "/a/x?y", "/b")) {
        assertThat(node.get(path).body()).as(path).startsWith("vert.x");
      }
      for (String path : List.of("/", "/hidden", "/ab", "/c")) {
        assertThat(node.get(path).body())
            .as(path)
            .isEqualTo(
                "Path '" + path + "' not found. Ping http://.../-/routes for available routes.");
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"direct, 0", "event_bus, 5"})
  void whatTheFileNamesCarriesRequestsFromLoopToLoop(String carrier, String carried)
      throws Exception {
    String config =
        """
        http_options: {host: 127.0.0.1, port: 0}
        applications: [%s]
        berth: {event_loops: 3, admin: {port: 0}, messages: %s}
        """
            .formatted(application("carried", "carried"), carrier);
    try (TestNode node = new TestNode(config)) {
      String answer = "";
      for (int i = 0; i < 6; i++) { // connections go to the ingresses in turn
        answer = anew(HttpClient.newHttpClient(), node, "/carried");
      }
      assertThat(answer).isEqualTo(carried);
    }
  }

  @Test
  void withoutAnyRouteTheHealthIs503() throws Exception {
    try (TestNode node = new TestNode(config(0, HIDDEN))) {
      for (String path : List.of("/-/healthz", "/-/routes")) {
        HttpResponse<String> answer = node.get(path);
        assertThat(answer.statusCode()).as(path).isEqualTo(503);
        assertThat(answer.body()).as(path).isEqualTo("Route table is not populated yet.");
      }
      assertThat(node.get("/").body()).startsWith("Path '/' not found.");
    }
  }

  @Test
  void aClosedNodeIsGoneAndClosingItAgainIsNothing() throws Exception {
    TestNode node = new TestNode(config(0, application("plain", "plain")));
    int port = node.node.port();

    node.close();
    node.close();

    assertThatThrownBy(() -> new Socket(InetAddress.getLoopbackAddress(), port).close())
        .isInstanceOf(ConnectException.class);
  }

  @ParameterizedTest
  @CsvSource({
    "unstartable, deployment broken: version , IllegalStateException: no model",
    "failing, import_path: , ArithmeticException: why"
  })
  void anApplicationThatCannotStartFailsTheStart(String builder, String where, String why) {
    ServeConfig config = config(0, application("plain", "plain"), application("broken", builder));
    assertThatThrownBy(() -> new TestNode(config))
        .isInstanceOf(ExecutionException.class)
        .cause()
        .isInstanceOf(StartFailedException.class)
        .hasMessageStartingWith("application broken: " + where)
        .hasMessageEndingWith(why);
  }

  @Test
  void theProblemsOfAllApplicationsAreToldAtOnceAndNothingListens() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ServeConfig config =
          config(
              taken.getLocalPort(), // would be the reason if it were listened on
              application("plain", "plain"),
              application("one", "absent"),
              application("failing", "failing"),
              application("two", "text"));

      assertThatThrownBy(() -> new TestNode(config))
          .cause()
          .isInstanceOfSatisfying(
              ConfigException.class,
              refused ->
                  assertThat(refused.problems())
                      .extracting(ConfigProblem::path)
                      .containsExactly(
                          "applications[1].import_path", "applications[3].import_path"));
    }
  }

  @Test
  void aPortInUseFailsTheStartAndLeavesNothing() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ServeConfig config = config(taken.getLocalPort(), application("plain", "plain"));

      assertThatThrownBy(() -> new TestNode(config)).cause().isInstanceOf(IOException.class);
    }
  }

  /** A start that threw was logged alone: its process hung, and ignored the first SIGTERM. */
  @Test
  void startThatThrowsFailsWithItsCauseAndLeavesNothing() throws Exception {
    IllegalStateException planted = new IllegalStateException("no log");
    LogFeed throwing =
        lines -> {
          throw planted;
        };
    Future<BerthNode> start =
        BerthNode.start(config(0, HIDDEN), throwing, new CompletableFuture<>());
    assertThatThrownBy(() -> TestNode.await(start)).cause().isSameAs(planted);
    TestNode.until(() -> left().isEmpty(), () -> "threads left: " + left());
  }

  /** Each removed the jars that the other had fetched. */
  @Test
  void workerDoesNotStartWithTheStateDirectoryOfAnother(@TempDir Path folder) throws Exception {
    ServeConfig worker =
        TestNode.read(
            """
            berth:
              state_dir: %s
              cluster: {name: c, node: n2, role: worker, join: ['127.0.0.1:1'],
                        bind: 127.0.0.1, insecure: true}
            """
                .formatted(folder));
    try (LogDirectory first = LogDirectory.hold(folder)) {
      assertThatThrownBy(() -> new TestNode(worker))
          .cause()
          .hasMessageEndingWith("is in use by another instance (expected: one per instance)");
      assertThat(first.log()).doesNotExist();
    }
  }

  private static String anew(HttpClient client, TestNode node, String path) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + node.node.port() + path);
    return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body();
  }

  private static Set<Thread> threads() {
    return new HashSet<>(Thread.getAllStackTraces().keySet());
  }

  private List<String> left() {
    return threads().stream()
        .filter(thread -> !before.contains(thread) && thread.isAlive())
        .map(Thread::getName)
        .filter(name -> name.startsWith("vert") || name.startsWith("berth"))
        .toList();
  }
}
