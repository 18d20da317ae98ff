package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import dev.berth.fakes.CountingUpstream.ReceivedRequest;
import dev.berth.node.TestNode;
import dev.berth.upstream.UpstreamRig.ClientSocket;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The model in requests that an instance relays to the upstreams of {@code berth:openai}. */
@Timeout(60)
class OpenAiRelayIT extends UpstreamPair {
  private static final String BODY = "{\"model\": \"smol\", \"messages\": \"%s\"}";
  private static final String RANGE = "11-15";
  private static final String ARGS =
      "{models: [{name: smol, deployment: d, upstream_name: org/Smol-1}]}";

  private String d(String... keys) {
    return deployment("d", "", upstream(one.url(), 2, keys));
  }

  private void start(String... deployments) throws Exception {
    rig = UpstreamRig.ofModels(ARGS, deployments);
    rig.awaitOpen(2L * deployments.length);
  }

  /** Sends a request as the ingress of models does, and returns it as its upstream got it. */
  private ReceivedRequest post(CountingUpstream from, String body, String parts) throws Exception {
    try (ClientSocket client = rig.client()) {
      client.send(
          "POST /models/v1/chat/completions HTTP/1.1\r\nHost: t\r\nConnection: close\r\n"
              + "Content-Type: application/json\r\nOpenAI-Organization: org-1\r\nx-berth-model: "
              + RANGE
              + parts
              + "\r\nContent-Length: "
              + body.length()
              + "\r\n\r\n");
      assertThat(client.send(body).readUntil("<closed>")).startsWith("HTTP/1.1 200 ");
    }
    return Objects.requireNonNull(from.received().poll());
  }

  /** Returns the models of the routes in force. */
  private String models() {
    return rig.node.get("/models/v1/models").body();
  }

  @ParameterizedTest
  @CsvSource({"0", "60000", "70000", "3000000"})
  void modelOfTheUpstreamReplacesThatOfTheClient(int length) throws Exception {
    start(d());
    String body = BODY.formatted("m".repeat(length));
    ReceivedRequest request = post(one, body, ";d=org/Smol-1");
    String expected = body.replace("smol", "org/Smol-1");
    assertThat(request.body().equals(expected)).as("%s bytes", request.body().length()).isTrue();
    assertThat(request.target()).isEqualTo("/v1/chat/completions");
    assertThat(request.headers())
        .containsEntry("content-length", "" + expected.length())
        .containsEntry("content-type", "application/json")
        .doesNotContainKeys("transfer-encoding", "openai-organization", "x-berth-model");
  }

  @Test
  void upstreamHasItsOwnModelAndPath() throws Exception {
    start(d("model: own", "path_prefix: /openai/v1"));
    ReceivedRequest request = post(one, BODY.formatted(""), ";d=org/Smol-1");
    assertThat(request.body()).isEqualTo(BODY.formatted("").replace("smol", "own"));
    assertThat(request.target()).isEqualTo("/openai/v1/chat/completions");
  }

  @Test
  void fallbackReceivesItsOwnModelInTheClientsBody() throws Exception {
    String fallback = deployment("e", "", upstream(two.url(), 2));
    start(deployment("d", "fallback: [e]", upstream(one.url(), 2)), fallback);
    rig.declareModels(
        ARGS.replace("]}", ", {name: other, deployment: e, upstream_name: gpt-4o}]}"),
        deployment("d", "fallback: [e]", upstream(one.url(), 2)),
        fallback);
    TestNode.until( // before, the fallback has no model, and receives that of the request
        () -> models().contains("\"other\""), () -> "the new models: " + models());
    one.behave("status=429");
    ReceivedRequest request = post(two, BODY.formatted("x"), ";d=org/Smol-1;e=gpt-4o");
    assertThat(request.body()).isEqualTo(BODY.formatted("x").replace("smol", "gpt-4o"));
    assertThat(Objects.requireNonNull(one.received().poll()).body()).contains("\"org/Smol-1\"");
    TestNode.until(() -> rig.sum("running") == 0, () -> "no slot");
  }

  @Test
  void changeBetweenProxyAndModelsReachesTheRunningUpstream() throws Exception {
    rig = new UpstreamRig("", d());
    rig.awaitOpen(2);
    String body = BODY.formatted("x");
    ReceivedRequest proxied = post(one, body, ";d=org/Smol-1");
    assertThat(proxied.body()).isEqualTo(body);
    assertThat(proxied.headers()).containsEntry("openai-organization", "org-1");
    long granted = rig.sum("granted");
    assertThat(granted).isPositive();

    rig.declareModels(ARGS, d());
    TestNode.until(
        () -> rig.status().contains("is_openai"), () -> "the new settings: " + rig.status());
    TestNode.until(() -> changed(body), () -> "a changed model");
    assertThat(rig.sum("granted")).as("of the same replica").isGreaterThan(granted);

    rig.declareModels(ARGS, d("model: own"));
    TestNode.until(() -> isSent(body, "own"), () -> "the model of the upstream");
  }

  private boolean changed(String body) {
    return isSent(body, "org/Smol-1");
  }

  private boolean isSent(String body, String model) {
    try {
      return post(one, body, ";d=org/Smol-1").body().equals(body.replace("smol", model));
    } catch (Exception failed) {
      throw new AssertionError(failed);
    }
  }
}
