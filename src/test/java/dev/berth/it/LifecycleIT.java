package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How the process starts, refuses to start, and ends. */
class LifecycleIT {
  @TempDir private Path folder;

  @Test
  void aDrainFinishesWhatRunsAndRefusesWhatIsNew() throws Exception {
    Path config = TestJar.config(folder, "max_ongoing_requests: 1");
    try (Gate gate = new Gate();
        Server server = Server.start(config);
        Client running = new Client(server.port());
        Client waiting = new Client(server.port())) {
      running.get(gate.path("/gated", "running"));
      Gate.Visitor inside = gate.next();
      waiting.get(gate.path("/gated", "waiting"));
      server.await("one queued", () -> server.sum("serve_deployment_queued_queries") == 1);

      server.terminate();
      server.await("no new connections", () -> !accepts(server.port()));
      assertThat(server.admin("/-/healthz")).isEqualTo("success"); // it lives, and drains

      inside.release();
      Client.Answer answer = running.answer();
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.body()).isEqualTo("done running");
      gate.next().release(); // accepted before the drain, so it is served
      assertThat(waiting.answer().body()).isEqualTo("done waiting");
      assertThat(running.isClosedByServer()).isTrue();
      assertThat(server.exitCode()).isZero();
      assertThat(server.output()).anyMatch(line -> line.contains("DRAINING -> STOPPED"));
    }
  }

  @Test
  void aBusyClientLosesNoRequestToADrain() throws Exception {
    Path config = TestJar.config(folder, "max_ongoing_requests: 8");
    try (Server server = Server.start(config)) {
      List<CompletableFuture<Integer>> clients = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        clients.add(CompletableFuture.supplyAsync(() -> untilToldToClose(server.port())));
      }
      server.await("traffic", () -> server.counted("serve_deployment_request_counter_total") > 500);

      server.terminate();

      // A request that was sent and not answered would have thrown.
      assertThat(clients).allSatisfy(client -> assertThat(client.join()).isPositive());
      assertThat(server.exitCode()).isZero();
    }
  }

  private static int untilToldToClose(int port) {
    try (Client client = new Client(port)) {
      for (int answers = 1; ; answers++) {
        Client.Answer answer = client.get("/gated").answer();
        assertThat(answer.status()).isEqualTo(200);
        if ("close".equals(answer.header("connection"))) {
          return answers;
        }
      }
    } catch (IOException lost) {
      throw new UncheckedIOException(lost);
    }
  }

  @Test
  void aReplicaThatDoesNotFinishInItsGraceIsKilledAndItsClientTold() throws Exception {
    Path config =
        TestJar.config(folder, "max_ongoing_requests: 1, graceful_shutdown_timeout_s: 0.3");
    try (Gate gate = new Gate();
        Server server = Server.start(config);
        Client running = new Client(server.port())) {
      running.get(gate.path("/gated", "running"));
      Gate.Visitor inside = gate.next();

      server.terminate();

      Client.Answer answer = running.answer();
      assertThat(answer.status()).isEqualTo(502); // it may have run
      inside.release();
      assertThat(server.exitCode()).isZero();
    }
  }

  @Test
  void aDrainThatTakesTooLongIsCutOff() throws Exception {
    Path config =
        TestJar.config(folder, "max_ongoing_requests: 1", "berth: {shutdown_timeout_s: 1}");
    try (Gate gate = new Gate();
        Server server = Server.start(config);
        Client running = new Client(server.port())) {
      running.get(gate.path("/gated", "running"));
      gate.next();

      server.terminate();

      assertThat(server.exitCode()).isEqualTo(1);
    }
  }

  @Test
  void aConfigurationWithProblemsExitsWith2AndNamesThemAll() throws Exception {
    Path config =
        write(
            """
            http_options: {prot: 8000}
            applications:
              - name: a
                import_path: "1.bad"
                deployments: [{name: d, max_ongoing_requests: 0}]
            """);
    try (Server server = Server.launch(config)) {
      assertThat(server.exitCode()).isEqualTo(2);
      assertThat(server.output())
          .anyMatch(line -> line.contains("http_options.prot"))
          .anyMatch(line -> line.contains("applications[0].import_path"))
          .anyMatch(line -> line.contains("max_ongoing_requests: 0"))
          .anyMatch(line -> line.contains("3 problems"));
    }
  }

  @Test
  void anApplicationThatCannotStartExitsWith1AndSaysWhyInOneLine() throws Exception {
    assertCannotStart(
        "args: {fail: constructor}",
        "application a: deployment gated: version [0-9a-f.]+ failed to start, 3 failures:"
            + " IllegalStateException: the constructor was told to fail");
    assertCannotStart(
        "args: {fail: builder}",
        "application a: import_path: dev.berth.it.app.GatedApplication:build:"
            + " IllegalStateException: the builder was told to fail");
  }

  @Test
  void whatTheCodeDoesNotHaveExitsWith2AndIsToldOfAllApplicationsAtOnce() throws Exception {
    TestJar.in(folder);
    Files.writeString(folder.resolve("broken.jar"), "no jar");
    Path config =
        write(
            """
            applications:
              - {name: a, route_prefix: /a, import_path: 'com.acme.Nothing:build'}
              - name: b
                route_prefix: /b
                import_path: dev.berth.it.app.GatedApplication:build
                runtime_env: {jars: [app.jar]}
                deployments: [{name: gatde}]
              - name: c
                route_prefix: /c
                import_path: dev.berth.it.app.GatedApplication:biuld
                runtime_env: {jars: [app.jar]}
              - name: d
                route_prefix: /d
                import_path: dev.berth.it.app.GatedApplication:build
                runtime_env: {jars: [broken.jar]}
            """);
    try (Server server = Server.launch(config)) {
      assertThat(server.exitCode()).isEqualTo(2);
      assertThat(server.output())
          .anyMatch(line -> line.startsWith(config + ":2:46: applications[0].import_path: "))
          .contains(
              config
                  + ":7:26: applications[1].deployments[0].name: \"gatde\", unknown to"
                  + " dev.berth.it.app.GatedApplication:build (expected: one of gated)")
          .anyMatch(line -> line.startsWith(config + ":10:18: applications[2].import_path: "))
          .anyMatch(
              line ->
                  line.startsWith(config + ":15:25: applications[3].runtime_env.jars: ")
                      && line.contains("broken.jar: ZipException"))
          .contains("4 problems")
          .noneMatch(line -> line.contains(" listens on "));
    }
  }

  @Test
  void aPortInUseExitsWith1() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Server server =
            Server.launch(
                TestJar.config(folder, "max_ongoing_requests: 1"),
                "--port=" + taken.getLocalPort(),
                "--host=127.0.0.1",
                "--admin-port=0")) {
      assertThat(server.exitCode()).isEqualTo(1);
      assertThat(server.output())
          .anyMatch(
              line ->
                  line.startsWith(
                          "berth: cannot start: http_options: cannot listen on 127.0.0.1:"
                              + taken.getLocalPort())
                      && line.contains("in use"));
    }
  }

  private void assertCannotStart(String key, String why) throws Exception {
    TestJar.in(folder);
    Path config =
        write(
            """
            applications:
              - name: a
                import_path: dev.berth.it.app.GatedApplication:build
                runtime_env: {jars: [app.jar]}
                %s
            """
                .formatted(key));
    try (Server server = Server.launch(config)) {
      assertThat(server.exitCode()).as(String.join("\n", server.output())).isEqualTo(1);
      List<String> lines =
          server.output().stream().filter(line -> line.startsWith("berth: cannot start")).toList();
      assertThat(lines).singleElement().asString().matches("berth: cannot start: " + why);
    }
  }

  private Path write(String text) throws IOException {
    return Files.writeString(folder.resolve("config.yaml"), text);
  }

  private static boolean accepts(int port) {
    try {
      new Client(port).close();
      return true;
    } catch (ConnectException refused) {
      return false;
    } catch (IOException other) {
      throw new AssertionError(other);
    }
  }
}
