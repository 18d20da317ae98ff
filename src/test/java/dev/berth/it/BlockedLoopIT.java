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

  /** A machine with other work may see one block late, and not each of so many. */
  private static final int BLOCKS = 5;

  private static final int CONNECTIONS = 8;
  private static final Pattern SEEN_AFTER =
      Pattern.compile("loop \\d: blocked for (\\d+) ms: .*TemperApplication[.]");

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
    try (Gate gate = new Gate();
        Server server = start(2)) {
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

      Gate.Visitor inside = block(blocker, gate);
      awaitBlocked(server);

      // So many at once that the blocked replica, with its one request, is the less busy one.
      assertThat(answers(others, 20))
          .as("by loop; blocks seen: %s", server.metric("berth_event_loop_blocks_total"))
          .containsExactly(Map.entry(well, 20 * others.size()));

      // The loop is blocked until the gate opens: whatever is answered here does not need it.
      server.await("the lease ran out", () -> server.counted("berth_lease_expiries_total") == 1);
      assertThat(server.admin("/-/healthz")).isEqualTo("success");
      // The replica and the router see the time pass each by their own clock tick.
      server.await("its gauge", () -> server.sum("serve_reserved_slots_active") == 0);
      assertThat(server.sum("berth_replica_reserved_slots")).isZero();
      assertThat(others.get(0).get("/").answer().body()).isEqualTo(well);
      assertThat(server.sum("berth_event_loop_blocked")).as("still").isOne();

      inside.release();
      assertThat(blocker.answer().body()).isEqualTo(blocked);
      server.await("it runs again", () -> server.sum("berth_event_loop_blocked") == 0);
      server.await("a log line", () -> server.prints(l -> l.contains("running again after ")));
      assertThat(blocker.get("/").answer().body()).isEqualTo(blocked);
      assertThat(server.sum("berth_event_loop_blocks_total")).isGreaterThan(blocksBefore);
      assertBlocksAreSeenInTime(server, blocker, gate);
      GatedServer.assertAtRest(server);
    }
  }

  @Test
  void whereTheOnlyReplicaIsBlockedOthersAreAnsweredByTheirDeadline() throws Exception {
    try (Gate gate = new Gate();
        Server server = start(1, "http_options: {request_timeout_s: 1}")) {
      Map<String, List<Client>> byLoop = connect(server);
      String ofReplica = clients.get(0).get("/").answer().body();
      List<Client> elsewhere =
          byLoop.get(
              byLoop.keySet().stream().filter(l -> !l.equals(ofReplica)).findAny().orElseThrow());
      Client blocker = byLoop.get(ofReplica).get(0);
      Client waiting = elsewhere.get(0);
      Client leaving = elsewhere.get(1);

      Gate.Visitor inside = block(blocker, gate);
      awaitBlocked(server);
      leaving.get("/", "X-Request-Timeout-Seconds: 0"); // it has no deadline that could end it
      server.await("it is sent", () -> server.sum("serve_num_ongoing_requests_at_replicas") == 2);
      leaving.leave();
      server.await(
          "it left, and is noticed",
          () -> server.sum("serve_num_ongoing_requests_at_replicas") == 1);
      assertThat(waiting.get("/").answer().status()).isEqualTo(408);
      assertThat(server.sum("berth_event_loop_blocked")).as("while it is blocked").isOne();

      inside.release();
      server.await("it runs again", () -> server.sum("berth_event_loop_blocked") == 0);
      assertThat(waiting.get("/").answer().status()).isEqualTo(200);
      GatedServer.assertAtRest(server);
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
          neighbour.get("/?do=answer&ms=20");
          Client.Answer failed = victim.get("/?do=" + thrown).answer();
          assertThat(failed.status()).as(thrown).isEqualTo(500);
          assertThat(failed.body()).as(thrown).doesNotContain("gone.Missing", "an error");
          assertThat(neighbour.answer().status()).isEqualTo(200);
          assertThat(victim.get("/").answer().status()).as("after %s", thrown).isEqualTo(200);
        }
      }
      assertThat(server.sum("serve_deployment_error_counter_total")).isEqualTo(16);
      GatedServer.assertAtRest(server);
    }
  }

  // --- blocks ---

  /** Sends what blocks the loop of its connection, and waits until it does. */
  private static Gate.Visitor block(Client blocker, Gate gate) throws IOException {
    blocker.get(gate.path("/", "blocks") + "&do=block");
    return gate.next();
  }

  private static void assertBlocksAreSeenInTime(Server server, Client blocker, Gate gate)
      throws IOException {
    Duration bound = AVOIDED_AFTER.plus(NOISE);
    List<Duration> took = new ArrayList<>();
    for (int i = 0; i < BLOCKS; i++) {
      int linesBefore = seenAfter(server).size();
      Gate.Visitor inside = block(blocker, gate);
      long began = System.nanoTime();
      awaitBlocked(server);
      Duration untilShown = Duration.ofNanos(System.nanoTime() - began);
      server.await("a log line", () -> seenAfter(server).size() > linesBefore);
      Duration told = seenAfter(server).get(linesBefore);
      inside.release();
      blocker.answer();
      server.await("it runs again", () -> server.sum("berth_event_loop_blocked") == 0);
      took.add(untilShown.compareTo(told) > 0 ? untilShown : told);
      if (took.get(i).compareTo(bound) < 0) {
        return;
      }
    }
    assertThat(took).as("until a block was seen").anyMatch(each -> each.compareTo(bound) < 0);
  }

  /** What the log says of the age of the beat, where the loop stands in its handler. */
  private static List<Duration> seenAfter(Server server) {
    List<Duration> seen = new ArrayList<>();
    for (String text : server.output()) {
      Matcher line = SEEN_AFTER.matcher(text);
      if (line.find()) {
        seen.add(Duration.ofMillis(Long.parseLong(line.group(1))));
      }
    }
    return seen;
  }
}
