package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import dev.berth.fakes.ModelAnswer;
import dev.berth.node.TestNode;
import dev.berth.upstream.UpstreamRig.ClientSocket;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams and token counts of LLM APIs, and the recorded requests of their clients. */
@Timeout(60)
class DialectStreamsIT {
  private static final String STREAM = "{\"model\":\"tiny\",\"stream\":true}";
  private static final Path RECORDED = Path.of("src/test/resources/dialect/requests");

  private CountingUpstream one;
  private UpstreamRig rig;

  @BeforeEach
  void startUpstream() throws Exception {
    one = new CountingUpstream();
    one.behave("llm");
  }

  @AfterEach
  void everySlotIsReturned() throws Exception {
    try (CountingUpstream server = one;
        UpstreamRig instance = rig) {
      instance.assertAtRest();
      assertThat(server.violations()).isEmpty();
    }
  }

  private void start(String args) throws Exception {
    String models = "models: [{name: small, deployment: one, aliases: [tiny, smol]}]";
    rig =
        UpstreamRig.ofModels(
            "{" + args + models + "}", deployment("one", "", upstream(one.url(), 4)));
    rig.awaitOpen(4);
  }

  private HttpResponse<String> stream(String path, String commands) {
    return rig.node.post("/models" + path + "?" + commands, STREAM);
  }

  private double metric(String name, String label) {
    return rig.node
        .admin("GET", "/metrics", "")
        .body()
        .lines()
        .filter(line -> line.startsWith(name + "{") && line.contains(label))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  // --- failures ---

  private String failed(String path, String commands) throws Exception {
    try (ClientSocket client = rig.client()) {
      client.send(
          "POST /models%s?%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(path, commands, STREAM.length(), STREAM));
      return client.readUntil("<never>");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "/v1/chat/completions, 'data: {\"error\":{\"message\":'",
    "/v1/completions, 'data: {\"error\":{\"message\":'",
    "/v1/messages, 'event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"'",
    "/v1/responses, 'event: error\ndata: {\"type\":\"error\",\"code\":\"outcome_unknown\"'",
  })
  void failureBetweenEventsIsAnEventOfTheApi(String path, String event) throws Exception {
    start("");
    String all = failed(path, "tokens=9&after=3&every=20&cut=close");
    assertThat(all).contains("\n\n\r\n").contains(event).endsWith("\r\n0\r\n\r\n<closed>");
    assertThat(all).doesNotContain("[DONE]");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "usage: inject, "})
  void failureAmidAnEventBreaksTheResponseOff(String args) throws Exception {
    start(args);
    String all = failed("/v1/chat/completions", "tokens=9&after=3&half&every=20&cut=close");
    if (args.isEmpty()) {
      assertThat(all).doesNotContain("\"error\"").doesNotEndWith("0\r\n\r\n<closed>");
    } else { // the half event was held back
      assertThat(all).contains("data: {\"error\":{").endsWith("\r\n0\r\n\r\n<closed>");
      assertThat(all).doesNotContain("t3");
    }
  }

  @Test
  void deadlineEndsAStreamWithAnEvent() throws Exception {
    start("");
    try (ClientSocket client = rig.client()) {
      client.send(
          ("POST /models/v1/chat/completions?tokens=900&every=30 HTTP/1.1\r\nHost: a\r\n"
                  + "x-request-timeout-seconds: 0.5\r\nContent-Length: %d\r\n\r\n%s")
              .formatted(STREAM.length(), STREAM));
      assertThat(client.readUntil("\r\n0\r\n\r\n")).contains("\"code\":\"timeout\"");
    }
  }

  // --- usage ---

  @ParameterizedTest
  @CsvSource({
    "/v1/messages, chat, 1",
    "/v1/messages, chat, 500",
    "/v1/responses, chat, 7",
    "/v1/responses, chat, 500",
  })
  void usageOfAStreamCountsOnce(String path, String operation, int split) throws Exception {
    start("");
    assertThat(stream(path, "tokens=9&split=" + split).statusCode()).isEqualTo(200);
    String label = "gen_ai_request_model=\"small\"";
    String usage = "gen_ai_client_token_usage_sum";
    TestNode.until(() -> metric(usage, label) > 0, () -> "no usage");
    assertThat(metric(usage, label)).isEqualTo(ModelAnswer.INPUT_TOKENS + 9);
    assertThat(metric("gen_ai_server_time_to_first_token_seconds_count", operation)).isEqualTo(1);
    assertThat(metric("gen_ai_server_time_per_output_token_seconds_count", label)).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 9, 500})
  void injectedUsageIsReadAndNotPassed(int split) throws Exception {
    start("usage: inject, ");
    String passed = stream("/v1/chat/completions", "tokens=5&split=" + split).body();
    assertThat(passed).contains("t4é").endsWith("data: [DONE]\n\n").doesNotContain("usage");
    String received = one.received().remove().body();
    assertThat(received).contains("\"include_usage\":true").contains("\"model\":\"small\"");
    TestNode.until(() -> metric("gen_ai_client_token_usage_sum", "output") == 5, () -> "no usage");
  }

  @Test
  void requestedUsageIsPassed() throws Exception {
    start("usage: inject, ");
    String body =
        "{\"model\":\"tiny\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}";
    assertThat(rig.node.post("/models/v1/chat/completions", body).body()).contains("usage");
    TestNode.until(() -> metric("gen_ai_client_token_usage_sum", "output") == 3, () -> "no usage");
  }

  @Test
  void usageOfAWholeResponseIsRead() throws Exception {
    start("");
    String body = "{\"model\":\"tiny\"}";
    assertThat(rig.node.post("/models/v1/embeddings", body).statusCode()).isEqualTo(200);
    TestNode.until(
        () -> metric("gen_ai_client_token_usage_sum", "embeddings") == ModelAnswer.INPUT_TOKENS + 3,
        () -> "no usage");
  }

  // --- clients ---

  @ParameterizedTest
  @ValueSource(
      strings = {
        "anthropic-python",
        "curl",
        "langchain4j",
        "litellm",
        "openai-node",
        "openai-python",
        "openai-python-1",
        "springai"
      })
  void recordedRequestsOfAClientReachTheUpstream(String client) throws Exception {
    start("stored: shared, ");
    JsonArray requests =
        new JsonObject(Files.readString(RECORDED.resolve(client + ".json")))
            .getJsonArray("requests");
    assertThat(requests).isNotEmpty();
    for (Object each : requests) {
      JsonObject request = (JsonObject) each;
      String body = request.getString("body", "");
      if (body.contains("\"model\":\"smol\"") || body.contains("\"model\": \"smol\"")) {
        String path = request.getString("path").replaceAll("\\?.*", "");
        HttpResponse<String> answer = rig.node.post("/models" + path, body);
        boolean refused =
            body.contains("\"background\"") || request.getString("call").contains("broken");
        assertThat(answer.statusCode()).as(request + answer.body()).isEqualTo(refused ? 400 : 200);
        if (!refused) {
          assertThat(one.received().remove().body())
              .isEqualTo(body.replaceFirst("(\"model\": ?)\"smol\"", "$1\"small\""));
        }
      }
    }
  }

  @Test
  void requestOverHttp2IsRewritten() throws Exception {
    start("usage: inject, ");
    Vertx vertx = Vertx.vertx();
    HttpClientAgent client = // a client without a reference is closed
        vertx.createHttpClient(
            new HttpClientOptions()
                .setProtocolVersion(HttpVersion.HTTP_2)
                .setHttp2ClearTextUpgrade(false));
    try {
      Buffer body =
          TestNode.await(
              client
                  .request(
                      HttpMethod.POST, rig.node.port(), "127.0.0.1", "/models/v1/chat/completions")
                  .compose(request -> request.send(Buffer.buffer(STREAM)))
                  .compose(response -> response.body()));
      assertThat(body.toString()).endsWith("data: [DONE]\n\n").doesNotContain("usage");
      assertThat(one.received().remove().body()).contains("\"model\":\"small\"");
    } finally {
      TestNode.await(client.close());
      TestNode.await(vertx.close());
    }
  }
}
