package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two event loops, and a handler that blocks one of them. */
class BlockedLoopIT {
  /** What the specification allows until new requests avoid the loop. */
  private static final Duration AVOIDED_AFTER = Duration.ofMillis(200);

  /** On top of it, for a machine whose cores have other work: the rest of a build, say. */
  private static final Duration NOISE = Duration.ofMillis(800);

  private static final Duration BLOCK = Duration.ofSeconds(5);
  private static final int CONNECTIONS = 8;
  private static final Pattern SEEN_AFTER =
      Pattern.compile("loop \\d: blocked for (\\d+) ms, .* at .*TemperApplication.block");

  @TempDir Path folder;
  private final List<Client> clients = new ArrayList<>();

  @AfterEach
  void closeClients() throws IOException {
    for (Client client : clients) {
      client.close();
    }
  }

  private Server start(int replicas, String... more) throws IOException {
    TestJar.in(folder);
    String text =
        """
        applications:
          - name: temper
            import_path: dev.berth.it.app.TemperApplication:build
            runtime_env: {jars: [app.jar]}
            deployments:
              - {name: temper, num_replicas: %d, max_ongoing_requests: 100}
              - {name: held, max_ongoing_requests: 1}
          - name: where
            route_prefix: /where
            import_path: dev.berth.it.app.TemperApplication:where
            runtime_env: {jars: [app.jar]}
            deployments: [{name: where, berth: {spread: event_loops}}]
        berth: {event_loops: 2}
        %s
        """
            .formatted(replicas, String.join("\n", more));
    return Server.start(Files.writeString(folder.resolve("temper.yaml"), text));
  }

  /** Connections by their event loop. */
  private Map<String, List<Client>> connect(Server server) throws IOException {
    Map<String, List<Client>> byLoop = new HashMap<>();
    for (int i = 0; i < CONNECTIONS; i++) {
      Client client = new Client(server.port());
      clients.add(client);
      String loop = client.get("/where").answer().body();
      byLoop.computeIfAbsent(loop, name -> new ArrayList<>()).add(client);
    }
    answers(clients, 20); // loading classes blocks a loop too
    server.await("calm", () -> server.sum("berth_event_loop_blocked") == 0);
    assertThat(byLoop).as("connections on both loops").hasSize(2);
    return byLoop;
  }

  /** So many rounds of a request on each connection, all at once: who answered how many. */
  private static Map<String, Integer> answers(List<Client> clients, int rounds) throws IOException {
    Map<String, Integer> answered = new HashMap<>();
    for (int round = 0; round < rounds; round++) {
      for (Client client : clients) {
        client.get("/?do=answer&ms=20");
      }
      for (Client client : clients) {
        answered.merge(client.answer().body(), 1, Integer::sum);
      }
    }
    return answered;
  }

  private static void awaitBlocked(Server server) {
    server.await("a loop is blocked", () -> server.sum("berth_event_loop_blocked") == 1);
  }

  @Test
  void aHandlerThatBlocksItsLoopHarmsNoOtherLoop() throws Exception {
    try (Server server = start(2)) {
      Map<String, List<Client>> byLoop = connect(server);
      List<String> loops = List.copyOf(byLoop.keySet());
      String blocked = loops.get(0);
      String well = loops.get(1);
      Client blocker = byLoop.get(blocked).get(0);
      List<Client> others = byLoop.get(well);
      assertThat(blocker.get("/").answer().body()).as("same loop first").isEqualTo(blocked);
      others.get(0).get("/?do=hold&ms=1000").answer();
      assertThat(server.sum("serve_reserved_slots_active")).isOne();

      double blocksBefore = server.sum("berth_event_loop_blocks_total");

      long began = System.nanoTime();
      blocker.get("/?do=block&ms=" + BLOCK.toMillis());
      awaitBlocked(server);
      assertThat(since(began)).isLessThan(AVOIDED_AFTER.plus(NOISE));
      assertThat(seenAfter(server)).isLessThan(AVOIDED_AFTER.plus(NOISE));

      // So many at once that the blocked replica, with its one request, is the less busy one.
      assertThat(answers(others, 20))
          .as("by loop; blocks seen: %s", server.metric("berth_event_loop_blocks_total"))
          .containsExactly(Map.entry(well, 20 * others.size()));

      while (since(began).compareTo(Duration.ofSeconds(3)) < 0) {
        assertAnswersInTime(server, "/-/healthz");
        assertAnswersInTime(server, "/metrics");
      }
      assertThat(server.sum("serve_reserved_slots_active")).isZero();
      assertThat(server.sum("berth_replica_reserved_slots")).as("the lease ran out").isZero();
      assertThat(server.sum("berth_lease_expiries_total")).isOne();
      assertThat(others.get(0).get("/").answer().body()).isEqualTo(well);
      assertThat(server.sum("berth_event_loop_blocked")).as("still").isOne();
      assertThat(since(began)).isLessThan(BLOCK);

      assertThat(blocker.answer().body()).isEqualTo(blocked);
      assertThat(since(began)).isGreaterThanOrEqualTo(BLOCK);
      server.await("it runs again", () -> server.sum("berth_event_loop_blocked") == 0);
      server.await("a log line", () -> server.prints(l -> l.contains("runs again after ")));
      assertThat(blocker.get("/").answer().body()).isEqualTo(blocked);
      assertThat(server.sum("berth_event_loop_blocks_total")).isGreaterThan(blocksBefore);
      SlotsIT.assertAtRest(server);
    }
  }

  @Test
  void whereTheOnlyReplicaIsBlockedOthersAreAnsweredByTheirDeadline() throws Exception {
    try (Server server = start(1, "http_options: {request_timeout_s: 1}")) {
      Map<String, List<Client>> byLoop = connect(server);
      String ofReplica = clients.get(0).get("/").answer().body();
      List<Client> elsewhere =
          byLoop.get(
              byLoop.keySet().stream().filter(l -> !l.equals(ofReplica)).findAny().orElseThrow());
      Client blocker = byLoop.get(ofReplica).get(0);
      Client waiting = elsewhere.get(0);
      Client leaving = elsewhere.get(1);

      long began = System.nanoTime();
      blocker.get("/?do=block&ms=4000");
      awaitBlocked(server);
      waiting.get("/");
      leaving.get("/");
      server.await("both sent", () -> server.sum("serve_num_ongoing_requests_at_replicas") == 3);
      leaving.leave();
      server.await(
          "one left, and noticed", () -> server.sum("serve_num_ongoing_requests_at_replicas") == 2);
      assertThat(since(began)).as("before its deadline").isLessThan(Duration.ofSeconds(4));
      assertThat(waiting.answer().status()).isEqualTo(408);
      assertThat(since(began)).as("while it is blocked").isLessThan(Duration.ofSeconds(4));
      assertThat(server.sum("berth_event_loop_blocked")).isOne();

      server.await("it runs again", () -> server.sum("berth_event_loop_blocked") == 0);
      assertThat(waiting.get("/").answer().status()).isEqualTo(200);
      SlotsIT.assertAtRest(server);
    }
  }

  @Test
  void whateverAHandlerThrowsHarmsNoOtherRequest() throws Exception {
    try (Server server = start(2)) {
      Client neighbour = new Client(server.port());
      Client victim = new Client(server.port());
      clients.add(neighbour);
      clients.add(victim);
      for (String thrown : List.of("error", "linkage", "stack", "later")) {
        for (int i = 0; i < 4; i++) { // on both loops
          neighbour.get("/?do=answer&ms=50");
          Client.Answer failed = victim.get("/?do=" + thrown).answer();
          assertThat(failed.status()).as(thrown).isEqualTo(500);
          assertThat(failed.body()).as(thrown).doesNotContain("gone.Missing", "an error");
          assertThat(neighbour.answer().status()).isEqualTo(200);
          assertThat(victim.get("/").answer().status()).as("after %s", thrown).isEqualTo(200);
        }
      }
      assertThat(server.sum("serve_deployment_error_counter_total")).isEqualTo(16);
      SlotsIT.assertAtRest(server);
    }
  }

  // --- how long things take ---

  private static void assertAnswersInTime(Server server, String path) {
    long asked = System.nanoTime();
    server.admin(path);
    assertThat(since(asked)).as(path).isLessThan(Duration.ofMillis(500));
  }

  /** What the log says of the age of the beat, and where the loop stands. */
  private static Duration seenAfter(Server server) {
    server.await("a log line", () -> server.prints(SEEN_AFTER.asPredicate()));
    Matcher line = SEEN_AFTER.matcher(String.join("\n", server.output()));
    assertThat(line.find()).isTrue();
    return Duration.ofMillis(Long.parseLong(line.group(1)));
  }

  private static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }
}
