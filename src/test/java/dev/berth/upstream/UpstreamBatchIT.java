package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream.ReceivedRequest;
import dev.berth.node.TestNode;
import dev.berth.upstream.UpstreamRig.ClientSocket;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Batches of requests that an upstream receives as one JSON array. */
@Timeout(60)
class UpstreamBatchIT extends UpstreamPair {
  private static final String BATCH = "batch: {path: /predict_batch, json_array: true}";

  private static final String LOST = "The replica or its upstream was lost";

  private static String batching(int size, String more) {
    return "batching: {max_batch_size: %d, batch_wait_timeout_s: 30%s}, %s"
        .formatted(size, more, BATCH);
  }

  private void start(int size, String more, String... keys) throws Exception {
    rig =
        new UpstreamRig(
            "", deployment("models", batching(size, more), upstream(one.url(), 16, keys)));
    rig.awaitOpen(16);
  }

  private CompletableFuture<HttpResponse<String>> post(String body, String... headers) {
    List<String> all = new ArrayList<>(List.of("content-type", "application/json"));
    all.addAll(List.of(headers));
    return rig.node.postAsync("/models/any?x=1", body, all.toArray(String[]::new));
  }

  private List<HttpResponse<String>> postAll(String... bodies) {
    return List.of(bodies).stream().map(this::post).toList().stream()
        .map(CompletableFuture::join)
        .toList();
  }

  private static void assertEach(List<HttpResponse<String>> answers, int status, String body) {
    assertThat(answers)
        .allSatisfy(
            each -> {
              assertThat(each.body()).contains(body);
              assertThat(each.statusCode()).isEqualTo(status);
            });
  }

  @Test
  void sixteenRequestsAreOneArray() throws Exception {
    one.behave("echo");
    start(16, "", "path_prefix: /v1");
    String[] bodies =
        IntStream.range(0, 16)
            .mapToObj(at -> " {\"at\": [%d, 1.50, \"],[\\\"\"]}".formatted(at))
            .toArray(String[]::new);

    List<HttpResponse<String>> answers = postAll(bodies);

    for (int at = 0; at < 16; at++) {
      assertThat(answers.get(at).statusCode()).isEqualTo(200);
      assertThat(answers.get(at).body()).isEqualTo(bodies[at].strip());
      assertThat(answers.get(at).headers().firstValue("content-type")).contains("application/json");
    }
    assertThat(one.received()).extracting(ReceivedRequest::body).hasSize(1);
    ReceivedRequest request = one.received().remove();
    assertThat(request.method()).isEqualTo("POST");
    assertThat(request.target()).isEqualTo("/v1/predict_batch");
    assertThat(request.headers())
        .containsEntry("content-type", "application/json")
        .containsKeys("via", "x-request-id", "content-length");
  }

  @Test
  void onlySharedHeadersPass() throws Exception {
    one.behave("echo");
    start(2, ", same: [x-model, x-absent]");

    CompletableFuture<HttpResponse<String>> first = post("1", "x-model", "a", "x-user", "one");
    CompletableFuture<HttpResponse<String>> other = post("2", "x-model", "b", "x-user", "two");
    CompletableFuture<HttpResponse<String>> second = post("3", "x-model", "a", "x-user", "two");

    assertThat(first.join().body()).isEqualTo("1");
    assertThat(second.join().body()).isEqualTo("3");
    assertThat(one.received().remove().headers())
        .containsEntry("x-model", "a")
        .doesNotContainKeys("x-user", "x-absent", "user-agent");
    assertThat(post("4", "x-model", "b").join().body()).isEqualTo("4");
    assertThat(other.join().body()).isEqualTo("2");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[1]|The input list has length 2 but the returned list has length 1.",
        "[]|The input list has length 2 but the returned list has length 0.",
        "[1,2,3]|The input list has length 2 but the returned list has length 3.",
        "{}|response to the batch: begins with '{' (expected: one JSON array)",
        "[1,2|broken JSON at byte 4 (expected: one JSON array)"
      })
  void wrongNumberOfResultsFailsAll(String said, String expected) throws Exception {
    one.behave("say=" + said);
    start(2, "");

    assertEach(postAll("1", "2"), 502, expected);
    assertThat(one.requests()).isOne();
  }

  @ParameterizedTest
  @ValueSource(ints = {500, 404, 503, 429})
  void errorStatusIsTheAnswerOfEach(int status) throws Exception {
    one.behave("say=no&retry=0&status=" + status);
    start(2, "");

    List<HttpResponse<String>> answers = postAll("1", "2");

    assertEach(answers, status, "The upstream responded to a batch with status " + status);
    assertThat(answers).allSatisfy(each -> assertThat(each.body()).doesNotContain("no"));
    assertThat(one.requests()).isOne();
  }

  @Test
  void errorBodyOfABatchOfOneIsItsAnswer() throws Exception {
    one.behave("say=no&status=422");
    start(1, "");

    List<HttpResponse<String>> answers = postAll("1");

    assertEach(answers, 422, "no");
    assertThat(answers.get(0).headers().firstValue("content-type")).contains("text/plain");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"drop", "say=[1,2]&cut=reset", "say=[1,2]&lie=long", "say=[1,2]&drip=5&cut=close"})
  void lostBatchFailsEachAndNeverRunsAgain(String fault) throws Exception {
    one.behave(fault);
    rig =
        new UpstreamRig(
            "",
            deployment("models", batching(2, ""), upstream(one.url(), 4), upstream(two.url(), 4)));
    two.behave(fault);
    rig.awaitOpen(8);

    assertEach(postAll("1", "2"), 502, LOST);
    assertThat(one.requests() + two.requests()).isOne();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void batchThatCertainlyDidNotRunGoesToAnotherUpstream(boolean refuses) throws Exception {
    rig =
        new UpstreamRig(
            "",
            deployment("models", batching(2, ""), upstream(one.url(), 4), upstream(two.url(), 4)));
    rig.awaitOpen(8);
    one.behave("status=429");
    two.behave("echo");
    if (!refuses) {
      one.stop();
    }

    for (int round = 0; round < 4; round++) {
      List<HttpResponse<String>> answers = postAll("1", "2");
      assertEach(answers, 200, "");
      assertThat(answers.get(1).body()).isEqualTo("2");
    }
    if (!refuses) {
      one.restart();
    }
  }

  @Test
  void invalidRequestsFailAlone() throws Exception {
    one.behave("echo");
    start(7, "");

    List<CompletableFuture<HttpResponse<String>>> all =
        List.of(
            post("{\"a\":1}"),
            post("1,2"),
            post("{\"a\":1"),
            rig.node.postAsync("/models", "3", "content-type", "text/plain"),
            rig.node.getAsync("/models"),
            post("4", "accept", "text/event-stream"),
            post("[5]"));

    assertThat(all)
        .extracting(each -> each.join().statusCode())
        .containsExactly(200, 400, 400, 400, 400, 400, 200);
    assertThat(all.get(1).join().body())
        .isEqualTo("body: broken JSON at byte 1 (expected: one JSON value)\n");
    assertThat(all.get(6).join().body()).isEqualTo("[5]");
    assertThat(one.received().remove().body()).hasSize("[{'a':1},[5]]".length());
  }

  @Test
  void batchWithoutAValidRequestIsNotSent() throws Exception {
    start(2, "");

    assertEach(postAll("", "]"), 400, "one JSON value");
    assertThat(one.requests()).isZero();
  }

  @Test
  void largeBodiesAndResponsesPass() throws Exception {
    one.behave("echo");
    start(4, "");
    String large = "\"" + "a".repeat(1_000_000) + "\"";

    assertThat(postAll(large, "1", large, "[" + "2.5,".repeat(50_000) + "3]"))
        .extracting(each -> each.body().length())
        .containsExactly(large.length(), 1, large.length(), 4 * 50_000 + 3);
    assertThat(one.requests()).isOne();
  }

  @Test
  void responseBeyondTheLimitIsCutOff() throws Exception {
    one.behave("size=" + (9 << 20));
    start(2, "");

    assertEach(postAll("1", "2"), 502, LOST);
  }

  /** Sends a body on a connection of its own. */
  private ClientSocket send(String body) throws Exception {
    return rig.client()
        .send(
            "POST /models HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                + "Content-Length: %d\r\n\r\n%s".formatted(body.length(), body));
  }

  private void awaitRequests(int number) {
    TestNode.until(() -> one.requests() == number, () -> "requests: " + one.requests());
  }

  private void awaitQueued(int number) {
    String line = "serve_deployment_queued_queries{application=\"models\",deployment=\"models\"} ";
    TestNode.until(
        () -> rig.node.admin("GET", "/metrics", "").body().contains(line + number),
        () -> "queued: " + rig.node.admin("GET", "/metrics", "").body());
  }

  @Test
  void cancelledRequestLeavesTheOthersTheirResults() throws Exception {
    one.behave("echo&wait=300");
    start(2, "");
    try (ClientSocket leaving = send("7")) {
      CompletableFuture<HttpResponse<String>> staying = post("8");
      awaitRequests(1);
      leaving.reset();

      assertThat(staying.join().body()).isEqualTo("8");
      assertThat(one.cancelled()).isEmpty();
    }
  }

  @Test
  void requestCancelledBeforeTheStartIsNotSent() throws Exception {
    one.behave("echo");
    start(2, "");
    try (ClientSocket leaving = send("7")) {
      awaitQueued(1);
      leaving.reset();
      awaitQueued(0);

      assertEach(postAll("8", "9"), 200, "");
      assertThat(one.received().remove().body()).isIn("[8,9]", "[9,8]");
    }
  }

  @Test
  void batchWithoutClientsIsCancelledAtTheUpstream() throws Exception {
    one.behave("never");
    start(2, "");
    try (ClientSocket first = send("7");
        ClientSocket second = send("8")) {
      awaitRequests(1);
      first.reset();
      rig.awaitSum("running", 2);
      assertThat(one.cancelled()).isEmpty();
      second.reset();
      TestNode.until(() -> one.cancelled().size() == 1, () -> "cancelled: " + one.cancelled());
    }
  }

  @Test
  void batchIsAddedAndRemovedOnceItsReplicaHasEnded() throws Exception {
    one.behave("echo");
    rig = new UpstreamRig("", deployment("models", "", upstream(one.url(), 16)));
    rig.awaitOpen(16);

    replace(deployment("models", batching(2, ""), upstream(one.url(), 16)));
    assertEach(postAll("1", "2"), 200, "");
    assertThat(one.received().remove().target()).isEqualTo("/predict_batch");

    replace(deployment("models", "", upstream(one.url(), 16)));
    assertThat(post("3").join().body()).isEqualTo("3");
    assertThat(one.received().remove().target()).isEqualTo("/any?x=1");
  }

  /** Declares a deployment whose change ends the replica, and waits for the next one. */
  private void replace(String deployment) {
    String before = replicas();
    rig.declare(deployment);
    TestNode.until(() -> !replicas().contains(before), rig::status);
    rig.awaitOpen(16);
  }

  private String replicas() {
    return rig.ledgers().stream()
        .map(each -> ((JsonObject) each).getString("replica"))
        .collect(Collectors.joining(" "));
  }
}
