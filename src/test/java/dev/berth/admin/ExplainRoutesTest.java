package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ExplainOptions;
import dev.berth.config.ServeConfig;
import dev.berth.fakes.Explained;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class ExplainRoutesTest {
  private static final ExplainRing RING = new ExplainRing(200);

  @AutoClose
  private static final AdminClient ADMIN =
      new AdminClient(
          new ExplainRoutes(RING, ServeConfig.DEFAULTS.with(ExplainOptions.RING_SIZE, 200)));

  private static String path(String id) {
    return "/api/v1/requests/"
        + URLEncoder.encode(id, StandardCharsets.UTF_8).replace("+", "%20")
        + "/explain";
  }

  @Test
  void aRecordIsGivenAsJson() throws Exception {
    RING.explained(Explained.madeByIt("as-json"));
    RING.explained(Explained.byHttp("as-json"));
    HttpResponse<String> response = ADMIN.get(path("as-json"));
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("content-type")).hasValue("application/json");
    JsonObject json = new JsonObject(response.body());
    assertThat(json.getString("request_id")).isEqualTo("as-json");
    assertThat(json.getInteger("explanations_in_all")).isEqualTo(2);
    JsonObject first = json.getJsonArray("explanations").getJsonObject(0);
    assertThat(first)
        .isEqualTo(
            new JsonObject(
                """
                {
                  "request_id": "as-json", "application": "shop", "deployment": "cart",
                  "parent": null, "request": "GET /shop/cart",
                  "arrived_at": "2026-01-01T00:00:00.123456Z", "status": 200, "outcome": "ok",
                  "replica": "shop#cart#1abc", "failure": null,
                  "node": "node-1a2b3c4d", "policy": "two_choices",
                  "snapshot": {"term": 1, "counter": 7},
                  "candidates": [
                    {"replica": "shop#cart#1abc", "node": "node-1a2b3c4d", "loop": 2,
                     "ongoing": 3, "max_ongoing_requests": 8, "exact": true, "age_us": 0.0,
                     "tier": "same_node", "rank": 0, "score": 3.0},
                    {"replica": "shop#cart#2def", "node": "node-99999999", "loop": 0,
                     "ongoing": 8, "max_ongoing_requests": 8, "exact": false, "age_us": 12300.0,
                     "tier": "any", "rank": 1, "score": 8.5},
                    {"replica": "shop#cart#3ghi", "node": "node-99999999", "loop": null,
                     "ongoing": 0, "max_ongoing_requests": 8, "exact": false, "age_us": null,
                     "tier": "any", "rank": null, "score": null}
                  ],
                  "candidates_in_all": 12,
                  "queue": {"ahead": 3, "max_queued_requests": 100, "waited_us": 500.2},
                  "batch": {"id": 17, "size": 16, "position": 3, "waited_us": 500.2},
                  "steps": %s,
                  "steps_in_all": 9,
                  "phases_us": {
                    "receive": 0.0, "queue": 500.2, "route": 2.8, "held": 0.0, "bus": 17.0,
                    "handler": 980.0, "stream": 0.0, "respond": 12.345, "total": 1512.345},
                  "overhead_us": 532.345
                }
                """
                    .formatted(first.getJsonArray("steps").encode())));
    assertThat(first.getJsonArray("steps").getJsonObject(1))
        .isEqualTo(
            new JsonObject(
                """
                {"at_us": 2.1, "kind": "refused", "replica": "shop#cart#2def",
                 "node": "node-99999999", "loop": 0, "detail": "full"}
                """));
    JsonObject second = json.getJsonArray("explanations").getJsonObject(1);
    assertThat(second.getString("parent")).isEqualTo("shop#cart");
    assertThat(second.getValue("status")).isNull();
    assertThat(second.getValue("queue")).isNull();
  }

  @Test
  void aRecordIsGivenAsTextToWhoAsksForText() throws Exception {
    RING.explained(Explained.byHttp("as-text"));
    String text = ExplainText.of(List.of(Explained.byHttp("as-text")));
    assertThat(ADMIN.get(path("as-text") + "?format=text").body()).isEqualTo(text);
    HttpResponse<String> accepted = ADMIN.get(path("as-text"), "Accept", "text/plain");
    assertThat(accepted.body()).isEqualTo(text);
    assertThat(accepted.headers().firstValue("content-type")).hasValue("text/plain; charset=utf-8");
    assertThat(ADMIN.get(path("as-text") + "?format=json", "Accept", "text/plain").body())
        .startsWith("{");
    assertThat(ADMIN.get(path("as-text"), "Accept", "text/plain, application/json").body())
        .startsWith("{");
  }

  @Test
  void whereNothingIsKeptTheAnswerSaysWhyAndHowToAsk() throws Exception {
    HttpResponse<String> response = ADMIN.get(path("unknown"));
    assertThat(response.statusCode()).isEqualTo(404);
    JsonObject error = new JsonObject(response.body());
    assertThat(error.getString("code")).isEqualTo("no_explanation");
    assertThat(error.getString("detail"))
        .isEqualTo(
            "It was not explained, is still running, or was replaced by newer ones; the last 200 are stored. To explain a request, send it with X-Berth-Explain: 1; or set berth.explain.sample_rate.");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a/b",
        "a%2Fb",
        "a b",
        "a+b",
        "?x=1#y",
        "%",
        "%zz",
        "<script>",
        "\"};",
        "..a",
        "ä"
      })
  void anIdMayHaveAnyLetters(String id) throws Exception {
    RING.explained(Explained.byHttp(id));
    HttpResponse<String> response = ADMIN.get(path(id));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    assertThat(new JsonObject(response.body()).getString("request_id")).isEqualTo(id);
    assertThat(response.headers().firstValue("x-content-type-options")).hasValue("nosniff");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"%00", "%0d%0aX-Evil:%201", "%zz", "..%2f..%2f", ".", "..", "%2e%2e", "%ff"})
  void anIdThatNoRequestHasIsRefusedInJson(String encoded) throws Exception {
    String all =
        ADMIN.raw(
            "GET /api/v1/requests/"
                + encoded
                + "/explain HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assertThat(all).startsWith("HTTP/1.1 40");
    assertThat(all.toLowerCase(Locale.ROOT)).doesNotContain("\nx-evil");
    assertThat(new JsonObject(all.substring(all.indexOf("\r\n\r\n") + 4)).getString("code"))
        .isNotBlank();
  }

  @Test
  void ofManyRequestsWithOneIdTheNewestAreShown() throws Exception {
    for (int i = 0; i < 150; i++) {
      RING.explained(Explained.with("same", "GET /" + i, 1));
    }
    JsonObject json = ADMIN.json(path("same"));
    assertThat(json.getJsonArray("explanations")).hasSize(ExplainRoutes.MAX_SHOWN);
    assertThat(json.getJsonArray("explanations").getJsonObject(0).getString("request"))
        .isEqualTo("GET /149");
    assertThat(json.getInteger("explanations_in_all")).isEqualTo(150);
    assertThat(ADMIN.get(path("same") + "?format=text").body())
        .endsWith("\nand 50 older records\n");
  }

  @Test
  void theLastAreListed() throws Exception {
    RING.explained(Explained.with("list-1", "GET /1", 1));
    RING.explained(Explained.with("list-2", "GET /2", 2_000));
    JsonArray listed = ADMIN.json("/api/v1/requests?limit=2").getJsonArray("requests");
    assertThat(listed).hasSize(2);
    assertThat(listed.getJsonObject(0).getString("request_id")).isEqualTo("list-2");
    assertThat(listed.getJsonObject(0).getDouble("total_us")).isEqualTo(2.0);
    assertThat(listed.getJsonObject(1).getString("request_id")).isEqualTo("list-1");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/api/v1/requests?limit=0",
        "/api/v1/requests?limit=1001",
        "/api/v1/requests?limit=x",
        "/api/v1/requests?limit=99999999999",
        "/api/v1/requests?most=1",
        "/api/v1/requests/a/explain?format=html",
        "/api/v1/requests/a/explain?as=text",
      })
  void aParameterThatIsNotUnderstoodIsA400(String path) throws Exception {
    HttpResponse<String> response = ADMIN.get(path);
    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(new JsonObject(response.body()).getString("code")).endsWith("_parameter");
  }
}
