package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.code.StartFailedException;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Problem;
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
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** One instance in this JVM; the packaged one is tested by the integration tests. */
class BerthNodeTest {
  private static ServeConfig config(int port, String... applications) {
    return ConfigReader.read(
        "test.yaml",
        Path.of("."),
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

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }

  @Test
  void aSpreadReplicaServesEachConnectionOnTheLoopItCameInOn() throws Exception {
    BerthNode node = await(BerthNode.start(config(0, application("spread", "spread"))));
    try {
      Set<String> threads = new HashSet<>();
      for (int i = 0; i < 6; i++) { // connections go to the ingresses in turn
        HttpClient client = HttpClient.newHttpClient();
        threads.add(get(client, node.port(), "/spread"));
        threads.add(get(client, node.port(), "/spread"));
      }
      assertThat(threads).hasSize(3); // all serving loops, and not the control loop
      assertThat(get(HttpClient.newHttpClient(), node.adminPort(), "/-/healthz"))
          .isEqualTo("success");
    } finally {
      await(node.close());
    }
  }

  @Test
  void applicationsAnswerAtTheirRoutesAndAtNoOther() throws Exception {
    String hidden =
        "{name: hidden, route_prefix: null, import_path: 'dev.berth.node.TestApplications:plain'}";
    BerthNode node =
        await(
            BerthNode.start(
                config(0, application("a", "plain"), application("b", "spread"), hidden)));
    HttpClient client = HttpClient.newHttpClient();
    try {
      assertThat(get(client, node.port(), "/-/routes")).isEqualTo("{\"/a\":\"a\",\"/b\":\"b\"}");
      for (String path : List.of("/a", "/a/", "/a/x?y", "/b")) {
        assertThat(get(client, node.port(), path)).as(path).startsWith("vert.x");
      }
      for (String path : List.of("/", "/hidden", "/ab", "/c")) {
        assertThat(get(client, node.port(), path))
            .as(path)
            .isEqualTo(
                "Path '" + path + "' not found. Ping http://.../-/routes for available routes.");
      }
    } finally {
      await(node.close());
    }
  }

  @ParameterizedTest
  @CsvSource({"direct, 0", "event_bus, 5"})
  void whatTheFileNamesCarriesRequestsFromLoopToLoop(String carrier, String carried)
      throws Exception {
    ServeConfig config =
        ConfigReader.read(
            "test.yaml",
            Path.of("."),
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications: [%s]
            berth: {event_loops: 3, admin: {port: 0}, messages: %s}
            """
                .formatted(application("carried", "carried"), carrier));
    BerthNode node = await(BerthNode.start(config));
    try {
      String answer = "";
      for (int i = 0; i < 6; i++) { // connections go to the ingresses in turn
        answer = get(HttpClient.newHttpClient(), node.port(), "/carried");
      }
      assertThat(answer).isEqualTo(carried);
    } finally {
      await(node.close());
    }
  }

  @Test
  void withoutAnyRouteTheHealthIs503() throws Exception {
    String hidden =
        "{name: hidden, route_prefix: null, import_path: 'dev.berth.node.TestApplications:plain'}";
    BerthNode node = await(BerthNode.start(config(0, hidden)));
    HttpClient client = HttpClient.newHttpClient();
    try {
      for (String path : List.of("/-/healthz", "/-/routes")) {
        HttpResponse<String> answer = answer(client, node.port(), path);
        assertThat(answer.statusCode()).as(path).isEqualTo(503);
        assertThat(answer.body()).as(path).isEqualTo("Route table is not populated yet.");
      }
      assertThat(get(client, node.port(), "/")).startsWith("Path '/' not found.");
    } finally {
      await(node.close());
    }
  }

  @Test
  void withARouteTheHealthAndTheRoutesAre200() throws Exception {
    BerthNode node = await(BerthNode.start(config(0, application("plain", "plain"))));
    HttpClient client = HttpClient.newHttpClient();
    try {
      HttpResponse<String> health = answer(client, node.port(), "/-/healthz");
      assertThat(health.statusCode()).isEqualTo(200);
      assertThat(health.body()).isEqualTo("success");
      HttpResponse<String> routes = answer(client, node.port(), "/-/routes");
      assertThat(routes.statusCode()).isEqualTo(200);
      assertThat(routes.body()).isEqualTo("{\"/plain\":\"plain\"}");
    } finally {
      await(node.close());
    }
  }

  @Test
  void aClosedNodeIsGoneAndClosingItAgainIsNothing() throws Exception {
    Set<Thread> before = threads();
    BerthNode node = await(BerthNode.start(config(0, application("plain", "plain"))));
    int port = node.port();

    await(node.close());
    await(node.close());

    assertThatThrownBy(() -> new Socket(InetAddress.getLoopbackAddress(), port).close())
        .isInstanceOf(ConnectException.class);
    awaitNoThreadBut(before);
  }

  @Test
  void aReplicaThatCannotStartFailsTheStartAndLeavesNothing() throws Exception {
    Set<Thread> before = threads();
    ServeConfig config =
        config(0, application("plain", "plain"), application("broken", "unstartable"));

    assertThatThrownBy(() -> await(BerthNode.start(config)))
        .isInstanceOf(ExecutionException.class)
        .cause()
        .isInstanceOf(StartFailedException.class)
        .hasMessageStartingWith("application broken: deployment broken: version ")
        .hasMessageEndingWith("IllegalStateException: no model");
    awaitNoThreadBut(before);
  }

  @Test
  void anApplicationThatCannotBeLoadedFailsTheStartAndLeavesNothing() throws Exception {
    Set<Thread> before = threads();
    ServeConfig config =
        config(0, application("plain", "plain"), application("failing", "failing"));

    assertThatThrownBy(() -> await(BerthNode.start(config)))
        .hasMessageContaining("application failing: import_path: ");
    awaitNoThreadBut(before);
  }

  @Test
  void theProblemsOfAllApplicationsAreToldAtOnceAndNothingListens() throws Exception {
    Set<Thread> before = threads();
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ServeConfig config =
          config(
              taken.getLocalPort(), // would be the reason if it were listened on
              application("plain", "plain"),
              application("one", "absent"),
              application("failing", "failing"),
              application("two", "text"));

      assertThatThrownBy(() -> await(BerthNode.start(config)))
          .cause()
          .isInstanceOfSatisfying(
              ConfigException.class,
              refused ->
                  assertThat(refused.problems())
                      .extracting(Problem::path)
                      .containsExactly(
                          "applications[1].import_path", "applications[3].import_path"));
    }
    awaitNoThreadBut(before);
  }

  @Test
  void aPortInUseFailsTheStartAndLeavesNothing() throws Exception {
    Set<Thread> before = threads();
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ServeConfig config = config(taken.getLocalPort(), application("plain", "plain"));

      assertThatThrownBy(() -> await(BerthNode.start(config)))
          .cause()
          .isInstanceOf(IOException.class);
    }
    awaitNoThreadBut(before);
  }

  private static String get(HttpClient client, int port, String path) throws Exception {
    return answer(client, port, path).body();
  }

  private static HttpResponse<String> answer(HttpClient client, int port, String path)
      throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build(),
        BodyHandlers.ofString());
  }

  private static Set<Thread> threads() {
    return new HashSet<>(Thread.getAllStackTraces().keySet());
  }

  /** Threads of ours and of Vert.x end soon after the instance. */
  private static void awaitNoThreadBut(Set<Thread> before) {
    await(() -> left(before).isEmpty(), () -> "threads left: " + left(before));
  }

  private static List<String> left(Set<Thread> before) {
    return threads().stream()
        .filter(thread -> !before.contains(thread) && thread.isAlive())
        .map(Thread::getName)
        .filter(name -> name.startsWith("vert") || name.startsWith("berth"))
        .toList();
  }

  private static void await(BooleanSupplier condition, java.util.function.Supplier<String> what) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - deadline).as(what.get()).isNegative();
      new CompletableFuture<Void>().completeOnTimeout(null, 10, TimeUnit.MILLISECONDS).join();
    }
  }
}
