package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.node.TestApplications.Gate;
import io.vertx.core.Future;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What operators ask of an instance that runs, in this JVM. */
class NodeLifecycleTest {
  private static final int CYCLES = 60;

  private TestNode node;

  @BeforeEach
  void start() throws Exception {
    node =
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications: []
            berth: {event_loops: 2, ephemeral: true, admin: {port: 0}, shutdown_timeout_s: 5,
              metrics: {record_interval_ms: 20, push_interval_ms: 20}}
            """);
  }

  @AfterEach
  void stop() throws Exception {
    TestApplications.openGates();
    node.close();
  }

  private static void until(BooleanSupplier condition, String what) {
    TestNode.until(condition, () -> what);
  }

  private void deploy(String name, String more) {
    String entry =
        "{name: %s, route_prefix: /%s, import_path: 'dev.berth.node.TestApplications:plain'%s}"
            .formatted(name, name, more);
    HttpResponse<String> answer = node.admin("PUT", "/api/v1/applications/" + name, entry);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    until(() -> get("/" + name) == 200, name + " does not answer");
  }

  private void deployWhole() {
    deploy("a", "");
    until(() -> replicas().size() == 4, "front and back do not run");
  }

  private int get(String path) {
    return node.get(path).statusCode();
  }

  private <T> T onControl(java.util.function.Function<InstanceRuntime, T> look) {
    CompletableFuture<T> seen = new CompletableFuture<>();
    InstanceRuntime host = node.node.running().host;
    node.node.control.execute(() -> seen.complete(look.apply(host)));
    return seen.orTimeout(10, TimeUnit.SECONDS).join();
  }

  private List<String> replicas() {
    return onControl(
        host ->
            host.replicas.inventory().stream()
                .map(found -> found.info().replicaId() + " " + found.target().version())
                .sorted()
                .toList());
  }

  @Test
  void aCommandsKeyIsOfThatCommandAloneAndAtMost128Characters() {
    String entry = "{route_prefix: /%s, import_path: 'dev.berth.node.TestApplications:plain'}";
    assertThat(put(entry.formatted("a"), "one").statusCode()).isEqualTo(200);
    assertThat(put(entry.formatted("a"), "one").statusCode()).as("again").isEqualTo(200);

    HttpResponse<String> other = put(entry.formatted("b"), "one");
    assertThat(other.statusCode()).isEqualTo(400);
    assertThat(other.body())
        .contains("Idempotency-Key: one, of another command (expected: a unique id)");
    HttpResponse<String> tooLong = put(entry.formatted("b"), "x".repeat(129));
    assertThat(tooLong.statusCode()).isEqualTo(400);
    assertThat(tooLong.body()).contains("Idempotency-Key: 129 characters (expected: 1 to 128)");
    assertThat(put(entry.formatted("b"), "x".repeat(128)).statusCode()).isEqualTo(200);
    assertThat(node.admin("GET", "/metrics", "").body())
        .contains("\nberth_history_chars ")
        .contains("\nberth_history_chars_limit 1.6777216E7\n")
        .contains("\nberth_idempotent_answers 2.0\n")
        .contains("\nberth_idempotent_answers_limit 10000.0\n");
  }

  private HttpResponse<String> put(String entry, String key) {
    return node.admin("PUT", "/api/v1/applications/a", entry, "Idempotency-Key", key);
  }

  @Test
  void aControllerThatStartsAnewLosesNoRequestAndRestartsNoReplica() {
    deployWhole();
    List<String> before = replicas();
    AtomicBoolean over = new AtomicBoolean();
    AtomicInteger sent = new AtomicInteger();
    CompletableFuture<List<Integer>> load =
        CompletableFuture.supplyAsync(
            () -> {
              List<Integer> wrong = new ArrayList<>();
              while (!over.get()) {
                int status = get("/a");
                sent.incrementAndGet();
                if (status != 200) {
                  wrong.add(status);
                }
              }
              return wrong;
            });
    for (int restart = 0; restart < 5; restart++) {
      int seen = sent.get();
      assertThat(node.admin("POST", "/api/v1/controller/restart", "").statusCode()).isEqualTo(200);
      until(() -> sent.get() > seen + 3, "no requests");
    }
    over.set(true);

    assertThat(load.orTimeout(20, TimeUnit.SECONDS).join()).isEmpty();
    assertThat(replicas()).isEqualTo(before);
  }

  @Test
  void otherSettingsReachTheReplicasThatRun() {
    deployWhole();
    List<String> before = replicas().stream().map(each -> each.split(" ")[0]).toList();

    deploy("a", ", deployments: [{name: front, max_ongoing_requests: 9}]");

    until(
        () ->
            onControl(
                host ->
                    host.replicas.inventory().stream()
                        .anyMatch(found -> found.info().maxOngoing() == 9)),
        "no replica has 9 slots");
    assertThat(replicas().stream().map(each -> each.split(" ")[0])).isEqualTo(before);
  }

  @Test
  void aReplicaThatIsKilledIsReplaced() {
    deployWhole();
    String killed =
        replicas().stream().filter(each -> each.startsWith("a#front")).findFirst().orElseThrow();
    String id = killed.split(" ")[0];

    assertThat(
            node.admin(
                    "DELETE",
                    "/api/v1/applications/a/deployments/front/replicas/" + id.replace("#", "%23"),
                    "")
                .statusCode())
        .isEqualTo(202);

    until(() -> !replicas().contains(killed) && replicas().size() == 4, "it is not replaced");
    assertThat(get("/a")).isEqualTo(200);
  }

  private void putGated(String args) {
    String entry =
        "{name: a, route_prefix: /a, import_path: 'dev.berth.node.TestApplications:gated', args: {"
            + args
            + "}}";
    assertThat(node.admin("PUT", "/api/v1/applications/a", entry).statusCode()).isEqualTo(200);
  }

  /** It ends in time, and a request that is under way is answered. */
  @ParameterizedTest
  @ValueSource(strings = {"start", "build"})
  void aDrainInTheMiddleOfARolloutEndsAndLosesNoRequest(String step) throws Exception {
    Gate held = TestApplications.gate("held");
    putGated("held: held");
    until(() -> get("/a") == 200, "a does not answer");
    CompletableFuture<Integer> request = CompletableFuture.supplyAsync(() -> get("/a/held"));
    held.entered.get(10, TimeUnit.SECONDS);
    Gate gate = TestApplications.gate(step);
    putGated("held: held, " + step + ": " + step);
    gate.entered.get(10, TimeUnit.SECONDS);

    Future<Void> closed = node.node.close();
    onControl(host -> true); // the drain has begun
    assertThat(closed.isComplete()).as("with a request under way").isFalse();
    held.open.complete(null);
    assertThat(request.get(10, TimeUnit.SECONDS)).isEqualTo(200);
    TestNode.await(closed); // and not since its time was over
    gate.interrupted.get(10, TimeUnit.SECONDS);
  }

  @Test
  void whatIsDeployedAndDeletedOverAndOverLeavesNothing() {
    for (int cycle = 0; cycle < CYCLES; cycle++) {
      String name = "app" + cycle;
      deploy(name, "");
      assertThat(node.admin("DELETE", "/api/v1/applications/" + name, "").statusCode())
          .isEqualTo(200);
    }
    until(() -> onControl(host -> host.replicas.hosted.size()) == 0, "replicas are left");
    until(() -> onControl(host -> host.builds.names()).isEmpty(), "builds are left");
    until(() -> onControl(host -> host.deployments.routed.size()) == 0, "routers are left");
    assertThat(node.node.running().plane.routers.all()).isEmpty();
    until(() -> node.node.running().pusher.handles() == 0, "handles are left in the pusher");
    until(() -> get("/app0") == 404, "a route is left");
    String metrics = node.admin("GET", "/metrics", "").body();
    assertThat(metrics).doesNotContain("app0\"").doesNotContain("app" + (CYCLES - 1) + "\"");
  }
}
