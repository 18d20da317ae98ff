package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The slots of requests by {@code berth.cost}, from a file to the ledgers. */
@Timeout(60)
class CostNodeIT {
  private static final String INSTANCE =
      """
      http_options: {host: 127.0.0.1, port: 0}
      berth: {ephemeral: true, admin: {port: 0}, shutdown_timeout_s: 5}
      """;
  private static final String GATED =
      """
      applications:
        - name: gated
          route_prefix: /
          import_path: dev.berth.node.TestApplications:gated
          args: {held: cost}
          deployments:
            - {name: front, max_ongoing_requests: %d, berth: {queue_timeout_s: 0.2, cost: {header: %s}}}
      """;
  private static final String MODELS =
      """
      applications:
        - name: llm
          route_prefix: /
          import_path: berth:openai
          args: {models: [{name: small, deployment: s}, {name: free, deployment: f}]}
          deployments:
            - name: s
              berth:
                cost: {json_field: max_tokens, per_slot: 512}
                queue_timeout_s: 0.2
                upstreams: [{url: '%s', max_ongoing_requests: 4}, {url: 'http://127.0.0.1:9', max_ongoing_requests: 6}]
            - {name: f, berth: {upstreams: [{url: '%s', id: f, max_ongoing_requests: 2}]}}
      """;

  @AfterEach
  void openGates() {
    TestApplications.openGates();
  }

  private static void ready(TestNode node, String header) {
    TestNode.until(() -> node.get("/", header, "1").statusCode() == 200, () -> "no replica");
  }

  private static JsonObject ledger(TestNode node) {
    return new JsonObject(node.admin("GET", "/api/v1/ledger", "").body())
        .getJsonArray("replicas")
        .getJsonObject(0);
  }

  @Test
  void costlyRequestTakesItsSlotsTogether() throws Exception {
    try (TestNode node = new TestNode(INSTANCE + GATED.formatted(4, "X-Cost"))) {
      ready(node, "X-Cost");
      CompletableFuture<HttpResponse<String>> held = node.getAsync("/held", "X-Cost", "3");
      TestApplications.gate("cost").entered.get();
      assertThat(ledger(node).getInteger("running")).isEqualTo(3);
      assertThat(node.get("/", "X-Cost", "1").statusCode()).isEqualTo(200);
      assertThat(node.get("/", "X-Cost", "2").statusCode()).isEqualTo(503);
      TestApplications.openGates();
      assertThat(held.get().statusCode()).isEqualTo(200);
      TestNode.until(() -> ledger(node).getInteger("running") == 0, () -> "slots left");
      assertThat(node.get("/", "X-Cost", "4").statusCode()).isEqualTo(200);
      assertThat(node.get("/", "X-Cost", "5").body())
          .isEqualTo("berth.cost.header: X-Cost: 5 (expected: a whole number from 1 to 4)");
    }
  }

  @Test
  void reservationHasTheSlotsOfItsRequest() throws Exception {
    try (TestNode node = new TestNode(INSTANCE + GATED.formatted(4, "X-Cost"))) {
      ready(node, "X-Cost");
      String path = "/api/v1/applications/gated/deployments/front/reservations";
      assertThat(node.admin("POST", path, "{\"cost\": 1e9}").statusCode()).isEqualTo(400);
      HttpResponse<String> large = node.admin("POST", path, "{\"cost\": 5}");
      assertThat(large.statusCode()).as(large.body()).isEqualTo(400);
      String token =
          new JsonObject(node.admin("POST", path, "{\"cost\": 3}").body()).getString("token");
      assertThat(ledger(node).getInteger("reserved")).isEqualTo(3);
      CompletableFuture<HttpResponse<String>> held =
          node.getAsync("/held", "X-Cost", "1e9", "X-Berth-Reservation", token);
      TestApplications.gate("cost").entered.get();
      assertThat(ledger(node).getInteger("running")).isEqualTo(3);
      TestApplications.openGates();
      assertThat(held.get().statusCode()).isEqualTo(200);
    }
  }

  @Test
  void changeOfTheRuleRestartsNothing() throws Exception {
    try (TestNode node = new TestNode(INSTANCE + GATED.formatted(4, "X-Cost"))) {
      ready(node, "X-Cost");
      String replica = ledger(node).getString("replica");
      node.admin("PUT", "/api/serve/applications/", GATED.formatted(9, "X-Weight"));
      TestNode.until(
          () -> node.get("/", "X-Weight", "9").statusCode() == 200, () -> "the new rule");
      assertThat(ledger(node).getString("replica")).isEqualTo(replica);
    }
  }

  @Test
  void memberOfAModelsRequestIsItsCost() throws Exception {
    String body = "{\"model\":\"%s\",\"max_tokens\":%d}";
    String path = "/v1/chat/completions";
    try (CountingUpstream upstream = new CountingUpstream();
        TestNode node = new TestNode(INSTANCE + MODELS.formatted(upstream.url(), upstream.url()))) {
      TestNode.until(
          () -> node.post(path, body.formatted("small", 1)).statusCode() == 200, () -> "no model");
      CompletableFuture<HttpResponse<String>> held =
          node.postAsync(path + "?wait=2000", body.formatted("small", 1_025));
      TestNode.until(() -> upstream.ongoing() == 1, () -> "not sent");
      assertThat(node.post(path, body.formatted("small", 512)).statusCode()).isEqualTo(200);
      assertThat(node.post(path, body.formatted("small", 1_024)).statusCode()).isEqualTo(503);
      assertThat(held.get().statusCode()).isEqualTo(200);
      JsonObject error =
          new JsonObject(node.post(path, body.formatted("small", 3_073)).body())
              .getJsonObject("error");
      assertThat(error.getString("message"))
          .startsWith(
              "berth.cost.json_field: max_tokens: 3073 (expected: a whole number from 1 to 3072)");
      assertThat(error.getString("param")).isEqualTo("max_tokens");
      assertThat(error.getString("type")).isEqualTo("invalid_request_error");
      assertThat(node.post(path, "{\"model\":\"free\"}").statusCode()).isEqualTo(200);
    }
  }
}
