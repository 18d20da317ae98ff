package dev.berth.cli;

import static dev.berth.cli.FakeInstance.application;
import static dev.berth.cli.FakeInstance.deployment;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class UpstreamCommandTest {
  private static final String CONFIG =
      """
      {"name": "app", "deployments": [{"name": "big", "berth": {"upstreams": [
        {"url": "http://10.0.0.7:8000", "id": "big", "max_ongoing_requests": 8, "of_2030": 1},
        {"url": "https://models.example", "max_ongoing_requests": 2},
        {"url": "http://127.0.0.1:8000", "local": true, "max_ongoing_requests": 4}]}}]}
      """;

  @AutoClose private final FakeInstance instance = new FakeInstance();

  @BeforeEach
  void servesThreeUpstreamsAndAHandler() {
    String reason = "closed: status 429 with Retry-After, until 2026-01-01T00:00:07Z";
    instance
        .serves(
            application(
                "app",
                ApplicationStatus.RUNNING,
                "",
                1,
                CONFIG,
                deployment(
                    "big",
                    DeploymentStatus.HEALTHY,
                    "",
                    2,
                    replica(0, ReplicaPhase.RUNNING, "", "http://10.0.0.7:8000#big"),
                    replica(1, ReplicaPhase.RUNNING, reason, "https://models.example"),
                    replica(2, ReplicaPhase.DRAINING, "", "unix:/run/old"),
                    replica(3, ReplicaPhase.RUNNING, "", ""))))
        .answer("GET /api/v1/ledger", 200, ledgers(8, 0, 5, 4));
  }

  private static ReplicaDetails replica(
      int number, ReplicaPhase phase, String reason, String upstream) {
    return new ReplicaDetails("r" + number, "n1", phase, "v2", 1, true, 950, reason, upstream);
  }

  private static String ledgers(int... maxima) {
    String one = "{\"replica\":\"r%d\",\"max_ongoing_requests\":%d,\"running\":3,\"reserved\":1}";
    List<String> all =
        IntStream.range(0, maxima.length).mapToObj(i -> one.formatted(i, maxima[i])).toList();
    return "{\"replicas\":[" + String.join(",", all) + "]}";
  }

  @Test
  void eachUpstreamIsALineWithItsHealth() {
    assertThat(instance.execute("upstream", "list")).isZero();
    assertThat(instance.out.toString().lines().map(line -> line.replaceAll(" +", " ")))
        .containsExactly(
            "upstream deployment kind owner max ongoing lease health",
            "http://10.0.0.7:8000#big app/big http n1 8 4 - open",
            "https://models.example app/big https n1 2 4 - closed: status 429 with Retry-After,"
                + " until 2026-01-01T00:00:07Z",
            "unix:/run/old app/big unix n1 5 4 - draining");
  }

  @Test
  void localUpstreamShowsItsMaximumAndTheNumberOfNodes() {
    String key = "http://127.0.0.1:8000 on n";
    FakeInstance instance = new FakeInstance();
    instance.serves(
        application(
            "app",
            ApplicationStatus.RUNNING,
            "",
            1,
            CONFIG,
            deployment(
                "big",
                DeploymentStatus.HEALTHY,
                "",
                2,
                replica(0, ReplicaPhase.RUNNING, "", key + 1),
                replica(1, ReplicaPhase.RUNNING, "", key + 2))));
    instance.answer("GET /api/v1/ledger", 200, ledgers(4, 4));
    try (instance) {
      assertThat(instance.execute("upstream", "list")).isZero();
    }
    assertThat(instance.out.toString().lines().map(line -> line.replaceAll(" +", " ")))
        .contains(
            "http://127.0.0.1:8000 on n1 app/big http n1 4 x 2 4 - open",
            "http://127.0.0.1:8000 on n2 app/big http n1 4 x 2 4 - open");
  }

  @Test
  void programsGetJson() {
    assertThat(instance.execute("upstream", "list", "--json")).isZero();
    JsonObject closed =
        new JsonObject(instance.out.toString()).getJsonArray("upstreams").getJsonObject(1);
    assertThat(closed.getMap())
        .containsEntry("upstream", "https://models.example")
        .containsEntry("application", "app")
        .containsEntry("max_ongoing_requests", 2)
        .containsEntry("open", false)
        .containsEntry("replica_id", "r1");
  }

  @Test
  void instanceWithoutUpstreamsAndUnknownReplies() {
    instance.only("GET /api/v1/serve", 200, "{\"applications\":[]}");
    assertThat(instance.execute("upstream", "list")).isZero();
    assertThat(instance.out).hasToString("No deployment has upstreams.\n");
    instance.only("GET /api/v1/ledger", 500, "");
    assertThat(instance.execute("upstream", "list")).isEqualTo(3);
  }

  @Test
  void silentOwnersAreListedWithTheirSlots() {
    instance.answer(
        "GET /api/v1/cluster",
        200,
        """
        {"upstreams": [
          {"upstream": "http://10.0.0.7:8000#big", "node": "n1", "replica_id": "r0", "slots": 8,
           "lease_ms": 30000, "silent": false},
          {"upstream": "http://10.0.0.7:8000#big", "node": "n2", "replica_id": "r9", "slots": 3,
           "lease_ms": 0, "silent": true}]}
        """);
    assertThat(instance.execute("upstream", "list")).isZero();
    assertThat(instance.out.toString().lines().map(line -> line.replaceAll(" +", " ")))
        .contains(
            "http://10.0.0.7:8000#big app/big http n1 8 4 30 s open",
            "http://10.0.0.7:8000#big - http n2 3 - - silent owner, whose requests may still run");
  }

  @Test
  void takeNamesTheUpstream() {
    instance.answer("POST /api/v1/cluster/take", 200, "{\"message\": \"done\"}");
    int code = instance.execute("upstream", "take", "http://10.0.0.7:8000");
    assertThat(code).as(instance.err.toString()).isZero();
    assertThat(instance.out.toString()).contains("slots of silent owners");
    assertThat(instance.asked)
        .contains("POST /api/v1/cluster/take?upstream=http%3A%2F%2F10.0.0.7%3A8000");
  }
}
