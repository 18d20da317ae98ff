package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream.ReceivedRequest;
import dev.berth.node.TestNode;
import dev.berth.upstream.UpstreamRig.ClientSocket;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests of LLM APIs, routed by their model and relayed to upstreams. */
@Timeout(60)
class DialectIT extends UpstreamPair {
  private static final String CHAT = "/v1/chat/completions";
  private static final String MODELS =
      "{%smodels: [{name: small, deployment: one, aliases: [tiny], upstream_name: s-1},"
          + " {name: large, deployment: two}]}";

  private void start(String args, String ofOne) throws Exception {
    rig =
        UpstreamRig.ofModels(
            MODELS.formatted(args),
            deployment("one", ofOne, upstream(one.url(), 2)),
            deployment("two", "", upstream(two.url(), 2, "model: vendor/large-2")));
    rig.awaitOpen(4);
  }

  private HttpResponse<String> post(String path, String body, String... headers) {
    return rig.node.post("/models" + path, body, headers);
  }

  private static JsonObject error(HttpResponse<String> answer) {
    return new JsonObject(answer.body()).getJsonObject("error");
  }

  // --- requests ---

  @ParameterizedTest
  @CsvSource({"small, s-1", "tiny, s-1", "large, vendor/large-2"})
  void modelSelectsTheUpstreamWhichGetsItsOwnName(String model, String name) throws Exception {
    start("", "");
    String body = "{\"messages\":[\"model\"],\"model\" : \"%s\",\"x\":1}";
    HttpResponse<String> answer =
        post(CHAT + "?echo", body.formatted(model), "openai-beta", "b", "accept-encoding", "gzip");
    assertThat(answer.body()).isEqualTo(body.formatted(name));
    ReceivedRequest received = (name.equals("s-1") ? one : two).received().remove();
    assertThat(received.target()).isEqualTo(CHAT + "?echo");
    assertThat(received.headers())
        .doesNotContainKeys("x-berth-model", "openai-beta", "accept-encoding")
        .containsEntry("content-length", Integer.toString(answer.body().length()));
  }

  @Test
  void largeBodyPassesWithTheModelBehindIt() throws Exception {
    start("", "");
    String body = "{\"messages\":\"" + "m".repeat(3 << 20) + "\",\"model\":\"%s\"}";
    HttpResponse<String> answer = post("/v1/messages?echo", body.formatted("small"));
    assertThat(answer.body()).isEqualTo(body.formatted("s-1"));
    assertThat(rig.node.admin("GET", "/metrics", "").body())
        .as("scanned by a thread of the application")
        .contains("berth_worker_threads_busy_limit{application=\"models\"} 20.0");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v1/chat/completions | {\"model\":\"none\"} | 404 | model_not_found | model",
        "/v1/chat/completions | {} | 400 | missing_required_parameter | model",
        "/v1/chat/completions | {\"model\":\"small\" | 400 | invalid_json | ",
        "/v1/chat/completions | {\"model\":\"small\",\"stream\":\"yes\"} | 400 | | stream",
        "/v1/responses | {\"model\":\"small\",\"background\":true} | 400 | | background",
        "/v1/responses | {\"model\":\"small\",\"store\":true} | 400 | stored_elsewhere | store",
        "/v1/chat/completions | {\"model\":\"small\",\"Model\":\"large\"} | 400 | invalid_parameter | model",
        "/v1/other | {} | 404 | not_found | ",
        "/v1/../admin | {} | 400 | bad_request | ",
        "/v1/models/../chat/completions | {} | 400 | bad_request | ",
        "/v1/models | {} | 405 | method_not_allowed | ",
      })
  void badRequestGetsAnErrorOfTheApi(
      String path, String body, int status, String code, String param) throws Exception {
    start("", "");
    HttpResponse<String> answer = post(path, body);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
    if (status != 200) {
      assertThat(error(answer).getString("param")).isEqualTo(param);
      assertThat(error(answer).getString("message")).isNotEmpty();
      if (code != null) {
        assertThat(error(answer).getString("code")).isEqualTo(code);
      }
      assertThat(one.requests() + two.requests()).isZero();
    }
  }

  @Test
  void fallbackGetsItsOwnNameOfTheModel() throws Exception {
    start("", "fallback: [two]");
    one.behave("status=429");
    HttpResponse<String> answer = post(CHAT + "?echo", "{\"model\":\"small\"}");
    assertThat(answer.body()).isEqualTo("{\"model\":\"vendor/large-2\"}");
  }

  @Test
  void compressedBodyIsRefused() throws Exception {
    start("", "");
    assertThat(post(CHAT, "{\"model\":\"small\"}", "content-encoding", "gzip").statusCode())
        .isEqualTo(415);
  }

  // --- models ---

  @Test
  void modelsAreListedInBothForms() throws Exception {
    start("", "");
    JsonObject openAi = new JsonObject(rig.node.get("/models/v1/models").body());
    assertThat(openAi.getString("object")).isEqualTo("list");
    assertThat(openAi.getJsonArray("data")).hasSize(3);
    JsonObject anthropic =
        new JsonObject(
            rig.node.get("/models/v1/models/tiny", "anthropic-version", "2023-06-01").body());
    assertThat(anthropic.getString("type")).isEqualTo("model");
    assertThat(rig.node.get("/models/v1/models/none").statusCode()).isEqualTo(404);
  }

  // --- failures of streams ---

  @Test
  void streamThatFailsBetweenEventsEndsWithAnErrorEvent() throws Exception {
    start("", "");
    try (ClientSocket client = rig.client()) {
      String body = "{\"model\":\"small\",\"stream\":true}";
      client.send(head("/models" + CHAT + "?events=1000&every=20&wait=10", body.length()) + body);
      client.readUntil("data:");
      one.stop();
      String rest = client.readUntil("0\r\n\r\n");
      assertThat(rest).contains("data: {\"error\":{").contains("outcome_unknown");
      assertThat(rest).doesNotContain("[DONE]");
      one.restart();
    }
    rig.awaitOpen(4);
  }

  private CompletableFuture<HttpResponse<String>> chat(String model) {
    return rig.node.postAsync("/models" + CHAT, "{\"model\":\"%s\"}".formatted(model));
  }

  private static String head(String path, int length) {
    return "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n".formatted(path, length);
  }

  @Test
  void fullQueueStatesItsDelayInMilliseconds() throws Exception {
    rig =
        UpstreamRig.ofModels(
            MODELS.formatted(""),
            "{name: one, max_queued_requests: 1, berth: {upstreams: [%s]}}"
                .formatted(upstream(one.url(), 1)),
            deployment("two", "", upstream(two.url(), 1)));
    rig.awaitOpen(2);
    one.behave("wait=700");
    CompletableFuture<HttpResponse<String>> first = chat("small");
    TestNode.until(() -> one.ongoing() == 1, () -> "not sent");
    CompletableFuture<HttpResponse<String>> second = chat("tiny");
    CompletableFuture<HttpResponse<String>> third = chat("tiny");
    CompletableFuture.anyOf(second, third).join(); // the refused one
    HttpResponse<String> answer = (second.isDone() ? second : third).join();
    assertThat(answer.statusCode()).isEqualTo(503);
    assertThat(answer.headers().firstValue("retry-after-ms")).contains("1000");
    assertThat(error(answer).getString("code")).isEqualTo("back_pressure");
    HttpResponse<String> anthropic =
        post("/v1/messages", "{\"model\":\"small\"}", "anthropic-version", "2023-06-01");
    assertThat(error(anthropic).getString("type")).isEqualTo("overloaded_error");
    assertThat(first.join().statusCode()).isEqualTo(200);
    assertThat((answer == second.join() ? third : second).join().statusCode()).isEqualTo(200);
  }
}
