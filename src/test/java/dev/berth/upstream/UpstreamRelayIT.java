package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream.ReceivedRequest;
import dev.berth.node.TestNode;
import dev.berth.upstream.UpstreamRig.ClientSocket;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests that an instance relays to upstreams, and the slots that they hold. */
@Timeout(60)
class UpstreamRelayIT extends UpstreamPair {
  private void start(String more, String... keys) throws Exception {
    rig = new UpstreamRig(more, deployment("models", "", upstream(one.url(), 2, keys)));
    rig.awaitOpen(2);
  }

  // --- requests and responses ---

  @Test
  void requestReachesTheUpstreamByTheRules() throws Exception {
    start("", "path_prefix: /v1");
    HttpResponse<String> answer =
        rig.node.get(
            "/models/chat?echo",
            "x-request-id",
            "id-1",
            "authorization",
            "Bearer of-the-client",
            "cookie",
            "c=1",
            "x-berth-explain",
            "1",
            "x-mine",
            "2",
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    assertThat(answer.statusCode()).isEqualTo(200);
    ReceivedRequest request = one.received().remove();
    assertThat(request.method()).isEqualTo("GET");
    assertThat(request.target()).isEqualTo("/v1/chat?echo");
    assertThat(request.headers())
        .containsEntry("host", "127.0.0.1:" + one.port())
        .containsEntry("x-request-id", "id-1")
        .containsEntry("x-mine", "2")
        .containsKeys("traceparent", "via")
        .doesNotContainKeys("authorization", "cookie", "x-berth-explain", "connection");
    assertThat(request.headers().get("via")).startsWith("1.1 berth-");
  }

  @ParameterizedTest
  @CsvSource({"0", "10", "60000", "70000", "3000000"})
  void bodyOfAnyLengthReachesTheUpstreamAndComesBack(int length) throws Exception {
    start("");
    String body = "b".repeat(length);
    ClientSocket client = rig.client();
    client.send(
        "POST /models/x?echo HTTP/1.1\r\nHost: t\r\nConnection: close\r\nContent-Length: "
            + length
            + "\r\n\r\n");
    client.send(body);
    String answer = client.readUntil("<the end>");
    assertThat(answer).startsWith("HTTP/1.1 200 ");
    assertThat(answer.chars().filter(c -> c == 'b').count()).isGreaterThanOrEqualTo(length);
    assertThat(one.received().remove().body()).isEqualTo(body);
  }

  @Test
  void chunkedBodyReachesTheUpstream() throws Exception {
    start("");
    ClientSocket client = rig.client();
    client.send(
        "POST /models/x?echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    TestNode.until(() -> rig.sum("running") == 1, () -> "a slot for the request");
    client.send("2\r\nde\r\n0\r\n\r\n");
    assertThat(client.readUntil("abcde")).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void eventsPassAsTheyArrive() throws Exception {
    start("");
    ClientSocket client = rig.client().get("/models/x?events=3&every=200");
    client.readUntil(" 0\n\n");
    long first = System.nanoTime();
    client.readUntil(" 1\n\n");
    long second = System.nanoTime();
    assertThat(client.readUntil("0\r\n\r\n")).contains(" 2\n\n");
    assertThat(TimeUnit.NANOSECONDS.toMillis(second - first)).isGreaterThan(100);
  }

  /** Sends a request, and returns its interim responses, body and trailers. */
  private List<String> exchange(HttpVersion version, String path) throws Exception {
    List<String> seen = new CopyOnWriteArrayList<>();
    Vertx vertx = Vertx.vertx();
    HttpClientOptions options =
        new HttpClientOptions().setProtocolVersion(version).setHttp2ClearTextUpgrade(false);
    try {
      vertx
          .createHttpClient(options)
          .request(HttpMethod.GET, rig.node.port(), "127.0.0.1", path)
          .compose(
              request ->
                  request
                      .earlyHintsHandler(hints -> seen.add("hint " + hints.get("link")))
                      .send()
                      .compose(
                          response ->
                              response
                                  .body()
                                  .onSuccess(
                                      body -> {
                                        seen.add("body " + body.length());
                                        response
                                            .trailers()
                                            .forEach(
                                                (name, value) -> seen.add(name + ": " + value));
                                      })))
          .await(20, TimeUnit.SECONDS);
    } finally {
      vertx.close().await(20, TimeUnit.SECONDS);
    }
    return seen;
  }

  @ParameterizedTest
  @EnumSource(
      value = HttpVersion.class,
      names = {"HTTP_1_1", "HTTP_2"})
  void trailersAndEarlyHintsPass(HttpVersion version) throws Exception {
    start("");
    assertThat(exchange(version, "/models/x?events=2&trailers&hints=1"))
        .containsExactly("hint </a>", "body 60", "x-sum: 7");
    assertThat(exchange(version, "/models/x?events=2&every=50&trailers&hints=10&wait=50"))
        .hasSize(8 + 2)
        .endsWith("hint </a>", "body 60", "x-sum: 7");
    assertThat(exchange(version, "/models/x?size=9&hints=1"))
        .containsExactly("hint </a>", "body 9");
  }

  @Test
  void oldClientGetsNeitherTrailersNorHints() throws Exception {
    start("");
    ClientSocket client = rig.client();
    client.send("GET /models/x?events=1&trailers&hints=1 HTTP/1.0\r\n\r\n");
    assertThat(client.readUntil("<the end>"))
        .startsWith("HTTP/1.0 200 ")
        .endsWith(" 0\n\n<closed>");
  }

  @Test
  void hintArrivesBeforeTheResponse() throws Exception {
    start("");
    ClientSocket client = rig.client().get("/models/x?hints=1&never");
    assertThat(client.readUntil("\r\n\r\n"))
        .startsWith("HTTP/1.1 103 Early Hints\r\n")
        .contains("link: </a>")
        .doesNotContain("x-berth-a");
    client.close();
  }

  @ParameterizedTest
  @CsvSource({"GET, 1", "GET, 1000", "GET, 200000", "GET, 0", "HEAD, 1000", "HEAD, 0"})
  void responseStatesTheLengthOfTheUpstream(String method, int size) throws Exception {
    start("");
    ClientSocket client = rig.client();
    client.send(method + " /models/x?size=" + size + " HTTP/1.1\r\nHost: t\r\n\r\n");
    assertThat(client.readUntil("\r\n\r\n").toLowerCase(Locale.ROOT))
        .startsWith("http/1.1 200 ")
        .contains("content-length: " + size + "\r\n")
        .doesNotContain("transfer-encoding");
    client.get("/models/x?status=204&size=0");
    assertThat(client.readUntil("HTTP/1.1 204 "))
        .hasSize("HTTP/1.1 204 ".length() + (method.equals("HEAD") ? 0 : size));
  }

  @Test
  void statusOfTheUpstreamPasses() throws Exception {
    start("");
    for (int status : new int[] {204, 304, 404, 500, 503}) {
      assertThat(rig.node.get("/models/x?status=" + status + "&size=0").statusCode())
          .isEqualTo(status);
    }
  }

  @ParameterizedTest
  @CsvSource({"/models/../x, 400", "/models/%2e%2e/x, 400"})
  void pathWithDotSegmentsIsRefused(String path, int status) throws Exception {
    start("");
    assertThat(rig.client().get(path).readUntil("\r\n")).contains(" " + status + " ");
    assertThat(one.requests()).isZero();
  }

  /** A response to TRACE would show the credentials to the client. */
  @ParameterizedTest
  @CsvSource({"TRACE", "trace"})
  void traceIsRefused(String method) throws Exception {
    start("");
    ClientSocket client = rig.client().send(method + " /models/x HTTP/1.1\r\nHost: t\r\n\r\n");
    assertThat(client.readUntil("\r\n")).contains(" 405 ");
    assertThat(one.requests()).isZero();
  }

  @Test
  void upgradeIsNotImplemented() throws Exception {
    start("");
    ClientSocket client =
        rig.client().get("/models/x", "Upgrade: websocket", "Connection: upgrade");
    assertThat(client.readUntil("\r\n")).contains(" 501 ");
  }

  // --- slots ---

  @Test
  void slowReaderHoldsNoSlotForBytesReadAhead() throws Exception {
    start("");
    ClientSocket slow = rig.client().get("/models/x?size=900000");
    slow.readUntil("\r\n\r\n");
    TestNode.until(() -> one.completed() == 1, () -> "the whole response was read");
    rig.awaitSum("running", 0);
    slow.close();
  }

  @Test
  void slowReaderHoldsItsSlotBeyondTheReadAhead() throws Exception {
    start("", "read_ahead_bytes: 65536");
    int size = 64 << 20;
    ClientSocket slow = rig.client().get("/models/x?size=" + size);
    slow.readUntil("\r\n\r\n");
    TestNode.until(() -> rig.sum("running") == 1, () -> "a slot");
    assertThat(one.ongoing()).isEqualTo(1);
    long left = size;
    for (int read = slow.read(1 << 16); read > 0 && left > 0; read = slow.read(1 << 16)) {
      left -= read;
      if (left <= 0) {
        break;
      }
    }
    assertThat(left).isLessThanOrEqualTo(0);
    assertThat(one.completed()).isEqualTo(1);
  }

  @Test
  void cancelReachesTheUpstreamBeforeTheFirstByte() throws Exception {
    start("");
    ClientSocket client = rig.client().get("/models/x?never", "x-request-id: left");
    TestNode.until(() -> one.ongoing() == 1, () -> "a request");
    client.close();
    TestNode.until(() -> one.cancelled().containsKey("left"), () -> "the cancel");
    rig.awaitSum("running", 0);
  }

  @Test
  void slotOfAnUpstreamThatDoesNotStopIsHeldForTheOrphanTime() throws Exception {
    rig =
        new UpstreamRig(
            "",
            "{name: models, berth: {cancel_grace_s: 0.1, upstreams: [%s]}}"
                .formatted(upstream(one.url(), 1, "orphan_s: 1")));
    rig.awaitOpen(1);
    ClientSocket client = rig.client().get("/models/x?wait=800&on");
    TestNode.until(() -> one.ongoing() == 1, () -> "a request");
    long left = System.nanoTime();
    client.close();
    assertThat(rig.node.get("/models/y").statusCode()).isEqualTo(200); // waits for the slot
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - left)).isGreaterThan(1_000);
    assertThat(one.highest()).isEqualTo(1);
  }

  /** Responses after which the upstream may still work, though the exchange has ended. */
  @ParameterizedTest
  @CsvSource({
    "status=999&size=200000&drip=1&on, orphan_s: 1",
    "drop&wait=20, 'orphan_s: 1, stops_on_close: false'",
  })
  void slotOfAnUnknownOutcomeIsHeldForTheOrphanTime(String commands, String keys) throws Exception {
    rig =
        new UpstreamRig(
            "",
            "{name: models, berth: {cancel_grace_s: 0.1, upstreams: [%s]}}"
                .formatted(upstream(one.url(), 1, keys)));
    rig.awaitOpen(1);
    assertThat(rig.node.get("/models/x?" + commands).statusCode()).isEqualTo(502);
    long failed = System.nanoTime();
    assertThat(rig.node.get("/models/y").statusCode()).isEqualTo(200); // waits for the slot
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - failed)).isGreaterThan(800);
  }

  @Test
  void killedReplicaGivesItsUpstreamTheGraceToStop() throws Exception {
    rig =
        new UpstreamRig(
            "",
            "{name: models, graceful_shutdown_timeout_s: 0.1, berth: {upstreams: [%s]}}"
                .formatted(upstream(one.url(), 1)));
    rig.awaitOpen(1);
    ClientSocket client = rig.client().get("/models/x?wait=700&on");
    TestNode.until(() -> one.ongoing() == 1, () -> "a request");
    rig.declare(
        "{name: models, graceful_shutdown_timeout_s: 0.1, berth: {upstreams: [%s]}}"
            .formatted(upstream(one.url(), 1, "id: other")));
    rig.awaitSum("running", 0); // and not after orphan_s, 600 s
    client.close();
  }

  @Test
  void upstreamThatRunsOnIsReadToItsEnd() throws Exception {
    start("", "stops_on_close: false", "id: on");
    ClientSocket client = rig.client().get("/models/x?events=20&every=20&on");
    client.readUntil(" 0\n\n");
    client.close();
    TestNode.until(() -> one.completed() == 1, () -> "the end of the response");
    assertThat(one.cancelled()).isEmpty();
  }

  @Test
  void upstreamThatNeverEndsIsAbandonedAfterTheOrphanTime() throws Exception {
    start("", "stops_on_close: false", "id: on", "orphan_s: 0.3");
    ClientSocket client = rig.client().get("/models/x?never");
    TestNode.until(() -> one.ongoing() == 1, () -> "a request");
    long left = System.nanoTime();
    client.close();
    rig.awaitSum("running", 0);
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - left)).isGreaterThan(250);
  }

  @Test
  void deadlineCancelsTheUpstream() throws Exception {
    start("");
    HttpResponse<String> answer =
        rig.node.get("/models/x?never", "x-request-timeout-seconds", "0.2", "x-request-id", "late");
    assertThat(answer.statusCode()).isEqualTo(408);
    TestNode.until(() -> one.cancelled().containsKey("late"), () -> "the cancel");
  }

  // --- refusals, failures and health ---

  @Test
  void refusedRequestGoesToAnotherUpstream() throws Exception {
    one.behave("status=429&retry=1");
    rig =
        new UpstreamRig(
            "", deployment("models", "", upstream(one.url(), 2), upstream(two.url(), 2)));
    rig.awaitOpen(4);
    for (int i = 0; i < 20; i++) {
      assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
    }
    assertThat(one.requests()).isBetween(1, 8); // closed for a second after each
    assertThat(two.requests()).isEqualTo(20);
  }

  @Test
  void requestFallsBackAtTheHeadOfARefusalWhoseBodyDoesNotEnd() throws Exception {
    one.behave("status=429&size=9&drip=2000&on");
    rig =
        new UpstreamRig(
            "",
            deployment("models", "fallback: [other], cancel_grace_s: 5", upstream(one.url(), 2)),
            deployment("other", "", upstream(two.url(), 2)));
    rig.awaitOpen(4);
    long begin = System.nanoTime();
    assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin)).isLessThan(2_500);
    assertThat(rig.sum("running")).as("the slot ends with the exchange").isEqualTo(1);
  }

  @Test
  void misdirectedRequestGoesToAnotherUpstream() throws Exception {
    one.behave("status=421");
    rig =
        new UpstreamRig(
            "",
            deployment(
                "models", "", upstream(one.url(), 2, "not_run: []"), upstream(two.url(), 2)));
    rig.awaitOpen(4);
    for (int i = 0; i < 10; i++) {
      assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
    }
    assertThat(one.requests()).isPositive();
  }

  @Test
  void bodyIsSentAgainAfterARefusal() throws Exception {
    one.behave("status=429");
    rig =
        new UpstreamRig(
            "", deployment("models", "", upstream(one.url(), 2), upstream(two.url(), 2)));
    rig.awaitOpen(4);
    String body = "b".repeat(300_000);
    for (int i = 0; i < 10; i++) {
      ClientSocket client = rig.client();
      client.send(
          "POST /models/x HTTP/1.1\r\nHost: t\r\nContent-Length: " + body.length() + "\r\n\r\n");
      client.send(body);
      assertThat(client.readUntil("\r\n")).contains(" 200 ");
    }
    assertThat(one.requests()).isPositive();
    assertThat(two.received()).allSatisfy(each -> assertThat(each.body()).isEqualTo(body));
  }

  @Test
  void requestThatEachUpstreamRefusesGetsRetryAfter() throws Exception {
    one.behave("status=429");
    two.behave("status=429");
    rig =
        new UpstreamRig(
            "", deployment("models", "", upstream(one.url(), 2), upstream(two.url(), 2)));
    rig.awaitOpen(4);
    HttpResponse<String> answer = rig.node.get("/models/x");
    assertThat(answer.statusCode()).isEqualTo(503);
    assertThat(answer.headers().firstValue("retry-after")).isPresent();
    assertThat(one.requests()).isEqualTo(1);
    assertThat(two.requests()).isEqualTo(1);
  }

  @Test
  void explanationNamesTheUpstreamsAndTheirRefusals() throws Exception {
    one.behave("status=429");
    rig =
        new UpstreamRig(
            "",
            deployment("models", "fallback: [other]", upstream(one.url(), 2, "id: big")),
            deployment("other", "", upstream(two.url(), 2)));
    rig.awaitOpen(4);
    rig.node.get("/models/x", "x-berth-explain", "1", "x-request-id", "mine");
    String path = "/api/v1/requests/mine/explain";
    TestNode.until(() -> rig.node.admin("GET", path, "").statusCode() == 200, () -> "explained");
    String text = rig.node.admin("GET", path + "?format=text", "").body();
    assertThat(text)
        .contains("upstreams: ran at " + two.url(), one.url() + "#big", "NOT_RUN: status 429");
    JsonObject json =
        new JsonObject(rig.node.admin("GET", path + "?format=json", "").body())
            .getJsonArray("explanations")
            .getJsonObject(0);
    assertThat(json.getString("upstream")).isEqualTo(two.url());
    assertThat(json.getJsonArray("candidates").getJsonObject(0).getString("upstream"))
        .isEqualTo(one.url() + "#big");
    assertThat(json.getJsonArray("steps").encode()).contains("\"upstream\":\"" + two.url());
  }

  @Test
  void idempotentRequestGoesToAnotherUpstreamAfterALostResponse() throws Exception {
    one.behave("drop");
    rig =
        new UpstreamRig(
            "",
            deployment(
                "models",
                "idempotent: true",
                upstream(one.url(), 2, "orphan_s: 0"),
                upstream(two.url(), 2)));
    rig.awaitOpen(4);
    String body = "b".repeat(300_000);
    for (int i = 0; i < 8; i++) {
      ClientSocket client = rig.client();
      client.send("POST /models/x?echo HTTP/1.1\r\nHost: t\r\nContent-Length: 300000\r\n\r\n");
      client.send(body);
      assertThat(client.readUntil("\r\n")).contains(" 200 ");
    }
    assertThat(one.requests()).isPositive();
    assertThat(two.requests()).isEqualTo(8);
    assertThat(two.received()).allSatisfy(each -> assertThat(each.body()).isEqualTo(body));
  }

  @Test
  void idempotentRequestThatNoUpstreamAnswersIsUnknown() throws Exception {
    one.behave("drop");
    two.behave("drop");
    rig =
        new UpstreamRig(
            "",
            deployment(
                "models",
                "idempotent: true",
                upstream(one.url(), 2, "orphan_s: 0"),
                upstream(two.url(), 2, "orphan_s: 0")));
    rig.awaitOpen(4);
    HttpResponse<String> answer = rig.node.get("/models/x");
    assertThat(answer.statusCode()).isEqualTo(502);
    assertThat(answer.headers().firstValue("x-should-retry")).contains("false");
    assertThat(one.requests()).isEqualTo(1);
    assertThat(two.requests()).isEqualTo(1);
  }

  @Test
  void onlyUpstreamAnswersItsRefusalItself() throws Exception {
    one.behave("status=429");
    start("");
    assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(429);
    assertThat(one.requests()).isEqualTo(1);
  }

  @Test
  void requestFallsBackWhenEachUpstreamRefuses() throws Exception {
    one.behave("status=429&close"); // leaves no idle connection
    rig =
        new UpstreamRig(
            "",
            deployment("models", "fallback: [other]", upstream(one.url(), 2)),
            deployment("other", "", upstream(two.url(), 2)));
    rig.awaitOpen(4);
    assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
    assertThat(one.requests()).isEqualTo(1);
    assertThat(two.requests()).isEqualTo(1);
    one.stop();
    for (int i = 0; i < 3; i++) {
      assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
    }
  }

  @Test
  void upstreamThatIsDownIsClosedAndOpensWithAProbe() throws Exception {
    one.stop();
    rig =
        new UpstreamRig(
            "", deployment("models", "", upstream(one.url(), 2), upstream(two.url(), 2)));
    rig.awaitOpen(2); // the start succeeds
    assertThat(rig.status()).contains("closed: ");
    for (int i = 0; i < 5; i++) {
      assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
    }
    assertThat(one.requests()).isZero();
    one.restart();
    rig.awaitOpen(4);
    two.stop();
    for (int i = 0; i < 5; i++) {
      assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
    }
    assertThat(one.requests()).isEqualTo(5);
  }

  @Test
  void requestWaitsForAClosedUpstream() throws Exception {
    one.stop();
    rig = new UpstreamRig("", deployment("models", "", upstream(one.url(), 2)));
    var waiting = rig.node.getAsync("/models/x");
    TestNode.until(() -> rig.status().contains("closed: "), () -> "closed");
    one.restart();
    assertThat(waiting.get(20, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
  }

  @Test
  void unhealthyUpstreamIsClosedUntilItsProbeSucceeds() throws Exception {
    start("", "health: {path: /healthz, interval_s: 0.1, timeout_s: 1}");
    one.behave("status=500");
    rig.awaitOpen(0);
    assertThat(rig.status()).contains("closed: ");
    one.behave("");
    rig.awaitOpen(2);
    assertThat(one.received().peek().target()).isEqualTo("/healthz");
  }

  @Test
  void resetInMidStreamAbortsTheResponse() throws Exception {
    start("");
    ClientSocket client = rig.client().get("/models/x?events=3&every=20&cut=reset");
    assertThat(client.readUntil("<the end>")).contains(" 0\n\n").endsWith("<closed>");
  }

  @Test
  void lostResponseHasAnUnknownOutcome() throws Exception {
    start("");
    HttpResponse<String> answer = rig.node.get("/models/x?drop&wait=20");
    assertThat(answer.statusCode()).isEqualTo(502);
    assertThat(one.requests()).isEqualTo(1);
  }

  // --- credentials ---

  @Test
  void credentialsReachTheUpstreamAndNothingElse(@TempDir Path folder) throws Exception {
    Path secret = folder.resolve("key.yaml");
    Files.writeString(secret, "authorization: Bearer s3cr3t-value\n");
    Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
    start("secrets_dir: " + folder, "headers_file: key.yaml");
    HttpResponse<String> answer =
        rig.node.get("/models/x", "x-berth-explain", "1", "authorization", "Bearer other");
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(one.received().remove().headers())
        .containsEntry("authorization", "Bearer s3cr3t-value");
    for (String path :
        new String[] {
          "/api/serve/applications/",
          "/api/v1/ledger",
          "/api/v1/explain",
          "/api/v1/status",
          "/metrics",
          "/api/v1/logs",
        }) {
      assertThat(rig.node.admin("GET", path, "").body()).as(path).doesNotContain("s3cr3t-value");
    }
    one.stop();
    assertThat(rig.node.get("/models/x", "x-request-timeout-seconds", "0.5").body())
        .doesNotContain("s3cr3t-value");
    one.restart();
  }
}
