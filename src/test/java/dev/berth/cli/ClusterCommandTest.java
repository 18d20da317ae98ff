package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class ClusterCommandTest {
  private static final String PATH = "/api/v1/cluster";

  private static final String CLUSTER =
      """
      {"name": "blue", "node": "%s", "control": %s, "may_be_cut_off": true, "stands_by": null,
       "strangers": false, "awaited": ["n4"], "cordoned": [], "nodes": [
         {"name": "n1", "role": "control", "zone": "a", "labels": {"rack": "7"}, "host": "10.0.0.1",
          "state": "ALIVE", "replicas": 3, "unreachable_from": []},
         {"name": "n2", "role": "worker", "zone": null, "labels": {}, "host": "10.0.0.2\\u001b[2J",
          "state": "CORDONED", "replicas": %s, "unreachable_from": ["n1", "n3"]}]}
      """;

  @AutoClose private final FakeInstance instance = new FakeInstance();

  private static String cluster(Object replicas) {
    return CLUSTER.formatted("n1", "\"n1\"", replicas);
  }

  @Test
  void everyNodeIsALineAndWhatIsWrongStandsAboveThem() {
    instance.answer("GET " + PATH, 200, cluster(1));
    assertThat(instance.execute("cluster", "status")).as(instance.err.toString()).isZero();
    assertThat(instance.lines())
        .containsExactly(
            "cluster blue: control node n1",
            "this controller may be partitioned: most nodes are silent, and not replaced yet",
            "waits for: n4",
            "node | role | zone | labels | host | state | replicas | not reached from",
            "n1 | control | a | rack=7 | 10.0.0.1 | ALIVE | 3",
            "n2 | worker | - | 10.0.0.2?[2J | CORDONED | 1 | n1, n3");

    instance.out.getBuffer().setLength(0);
    instance.only("GET " + PATH, 200, CLUSTER.formatted("n2", "null", "null"));
    assertThat(instance.execute("cluster", "nodes")).isZero();
    assertThat(instance.lines())
        .startsWith("cluster blue: control node unreachable", "n2 shows its last known state")
        .contains("n2 | worker | - | 10.0.0.2?[2J | CORDONED | ? | n1, n3");
  }

  @Test
  void statusShowsTheBusPortOfEachNodeIfAnyHasOne() {
    String bus =
        "\"ports\": {\"data\": 7422, \"bus\": 7421}, \"bus_addresses\": 12, \"host\": \"10.0.0.1\"";
    instance.answer("GET " + PATH, 200, cluster(1).replace("\"host\": \"10.0.0.1\"", bus));
    assertThat(instance.execute("cluster", "status")).isZero();
    assertThat(instance.lines())
        .contains(
            "node | role | zone | labels | host | bus port | bus addresses | state | replicas | not reached from",
            "n1 | control | a | rack=7 | 10.0.0.1 | 7421 | 12 | ALIVE | 3",
            "n2 | worker | - | 10.0.0.2?[2J | - | - | CORDONED | 1 | n1, n3");
  }

  @Test
  void anInstanceByItselfIsNoCluster() {
    instance.answer("GET " + PATH, 404, "{\"message\": \"no such path\"}");
    assertThat(instance.execute("cluster", "status")).isEqualTo(1);
    assertThat(instance.err.toString()).contains("a single instance");
  }

  @Test
  void aDrainIsWaitedFor() {
    instance
        .answer("POST " + PATH + "/nodes/n2/drain", 202, "{\"message\": \"m\"}")
        .answer("GET " + PATH, 200, cluster(2))
        .answer("GET " + PATH, 200, CLUSTER.formatted("n2", "null", "null"))
        .answer("GET " + PATH, 200, cluster(2))
        .answer("GET " + PATH, 200, cluster(1))
        .answer("GET " + PATH, 200, cluster(0));
    instance.idlePauses = 9;
    assertThat(instance.execute("cluster", "drain", "n2", "--wait"))
        .as(instance.err.toString())
        .isZero();
    assertThat(instance.lines())
        .containsExactly(
            "n2: 2 replicas", "n2: 2 replicas", "n2: 1 replicas", "n2: no replica is left");
    assertThat(instance.err).hasToString("berth: waiting: controller unreachable\n");
    assertThat(instance.asked).hasSize(6);
  }

  @Test
  void aDrainThatIsNotOverInTimeGoesOn() {
    instance
        .answer("POST " + PATH + "/nodes/n2/drain", 202, "{\"message\": \"m\"}")
        .answer("GET " + PATH, 200, cluster(2));
    instance.idlePauses = 9;
    assertThat(instance.execute("cluster", "drain", "n2", "--wait", "--timeout-s=2", "--json"))
        .isEqualTo(4);
    assertThat(instance.nowNanos).isEqualTo(2_000_000_000L);
    assertThat(new JsonObject(instance.out.toString()).getString("outcome")).isEqualTo("timed_out");
    assertThat(instance.err.toString()).contains("n2 has replicas still after 2.0 s");
  }

  @Test
  void whatIsRefusedIsSaid() {
    String unknown = "{\"code\": \"not_found\", \"message\": \"node: n9 (expected: one)\"}";
    instance.answer("POST " + PATH + "/nodes/n9/drain", 404, unknown);
    instance.answer("POST " + PATH + "/nodes/n9/uncordon", 404, unknown);
    instance.answer("POST " + PATH + "/nodes/n2/uncordon", 200, "{\"message\": \"m\"}");
    assertThat(instance.execute("cluster", "drain", "n9")).isEqualTo(1);
    assertThat(instance.execute("cluster", "uncordon", "n9")).isEqualTo(1);
    assertThat(instance.err.toString()).contains("node: n9 (expected: one)");
    assertThat(instance.execute("cluster", "uncordon", "n2", "--json")).isZero();
    assertThat(new JsonObject(instance.out.toString()).getString("outcome")).isEqualTo("accepted");
  }

  @Test
  void ledgersAndLogsAreOfANodeOrOfAll() {
    String counts =
        "\"max_ongoing_requests\": 1, \"running\": 0, \"reserved\": 0, \"granted\": 5, \"zombies\": 0";
    instance.answer(
        "GET /api/v1/ledger",
        200,
        "{\"replicas\": [{\"replica\": \"a#d#1\", \"node\": \"n2\", \"audit\": \"clean\", %s}],"
                .formatted(counts)
            + "\"total\": {\"audit_mismatches\": 0, %s}, \"unreachable\": [\"n3\"]}"
                .formatted(counts));
    assertThat(instance.execute("ledger")).isZero();
    assertThat(instance.lines()).anyMatch(line -> line.startsWith("a#d#1 on n2 | 1 | 0"));
    assertThat(instance.err.toString()).contains("node n3 does not respond");
    assertThat(instance.execute("ledger", "--node", "n2")).isZero();

    instance.out.getBuffer().setLength(0);
    instance.answer(
        "GET /api/v1/logs",
        200,
        "{\"lines\": [{\"time\": \"2026-01-01T00:00:00Z\", \"level\": \"INFO\", \"logger\": \"l\","
            + " \"message\": \"hello\", \"node\": \"n2\"}], \"nodes\": {}, \"unreachable\": []}");
    assertThat(instance.execute("logs")).isZero();
    assertThat(instance.out.toString()).contains("INFO  n2 l - hello");
    assertThat(instance.execute("logs", "-f")).isEqualTo(2);
    assertThat(instance.err.toString()).contains("--node NAME");
    assertThat(instance.asked)
        .startsWith(
            "GET /api/v1/ledger", "GET /api/v1/ledger?node=n2", "GET /api/v1/logs?limit=100");
  }
}
