package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Headers;
import dev.berth.ingress.FakeUpstream.Call;
import io.vertx.core.buffer.Buffer;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What Ray Serve's tests ask of its proxy, and its end-to-end tests of timeouts, streams and
 * clients that leave, where one replica that does as it is told is enough.
 */
class ProxyIT {
  private static final String DRAINING = "This node is being drained.";
  private static final String NO_ROUTES = "Route table is not populated yet.";

  @AutoClose private IngressRig rig;
  private FakeUpstream upstream;

  @BeforeEach
  void start() throws Exception {
    start(null);
    rig.route("/");
  }

  private void start(Duration requestTimeout) throws Exception {
    rig = new IngressRig(requestTimeout);
    upstream = rig.upstream;
  }

  private void restart(Duration requestTimeout) throws Exception {
    rig.close();
    start(requestTimeout);
    rig.route("/");
  }

  // --- built-in paths ---

  @ParameterizedTest
  @CsvSource({
    "/-/healthz, false, true, 200, success",
    "/-/healthz, false, false, 503, " + NO_ROUTES,
    "/-/healthz, true, true, 503, " + DRAINING,
    "/-/healthz, true, false, 503, " + DRAINING,
    "/-/routes, false, true, 200, {\"/route\":\"app\"}",
    "/-/routes, false, false, 503, " + NO_ROUTES,
    "/-/routes, true, true, 503, " + DRAINING,
    "/-/routes, true, false, 503, " + DRAINING,
  })
  void builtInPathsAnswerByWhetherItDrainsAndIsReady(
      String path, boolean draining, boolean ready, int status, String body) throws Exception {
    rig.close();
    start(null);
    if (ready) {
      rig.route("/route");
    }
    if (draining) {
      rig.ingress.drain();
    }
    HttpResponse<String> response = rig.get(path);
    assertThat(response.statusCode()).isEqualTo(status);
    assertThat(response.body()).isEqualTo(body);
  }

  @ParameterizedTest
  @CsvSource({"/-/healthz, 200", "/-/routes, 200", "/-/nothing, 404"})
  void aHeadRequestOfABuiltInPathHasNoBody(String path, int status) throws Exception {
    RawClient raw = rig.raw();
    raw.send("HEAD " + path + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    assertThat(raw.readToEnd()).startsWith("HTTP/1.1 " + status).endsWith("\r\n\r\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/-/healthz/", "/-/healthz/x", "/-/", "/-/routesx"})
  void whatOnlyBeginsAsABuiltInPathIsNotFoundAndIsNoApplications(String path) throws Exception {
    assertThat(rig.get(path).statusCode()).isEqualTo(404); // the root route takes all but /-/
  }

  @Test
  void withoutARootRouteTheRootIsNotFound() throws Exception {
    rig.route("/hello");
    upstream.behave(call -> call.respond(call.request().path()));
    assertThat(rig.get("/").statusCode()).isEqualTo(404);
    assertThat(rig.get("/hello").body()).isEqualTo("/hello");
    assertThat(rig.get("/hello/").body()).isEqualTo("/hello/");
    assertThat(rig.get("/hello/a?b").body()).isEqualTo("/hello/a");
    assertThat(rig.get("/helloo").statusCode()).isEqualTo(404);
  }

  // --- what is passed on ---

  @Test
  void aStreamKeepsItsStatusItsHeadersAndItsType() throws Exception {
    upstream.behave(
        call -> {
          call.startStream(301, Headers.of("hello", "world", "content-type", "foo/bar"));
          for (int i = 0; i < 10; i++) {
            call.frame(Buffer.buffer("hi_" + i), i == 9);
          }
        });
    HttpResponse<String> response = rig.get("/");
    assertThat(response.statusCode()).isEqualTo(301);
    assertThat(response.headers().firstValue("hello")).hasValue("world");
    assertThat(response.headers().firstValue("content-type")).hasValue("foo/bar");
    assertThat(response.body()).isEqualTo("hi_0hi_1hi_2hi_3hi_4hi_5hi_6hi_7hi_8hi_9");
  }

  // --- timeouts ---

  @ParameterizedTest
  @CsvSource({
    "2, 1, 2000000",
    "0.5, 1, 500000",
    "0, -1, -1",
    "-3, -1, -1",
    "soon, 2000001, 30000000",
    "'', 2000001, 30000000",
  })
  void theHeaderSetsTheTimeoutOrDisablesItOrIsIgnored(String header, long least, long most)
      throws Exception {
    restart(Duration.ofSeconds(30));
    upstream.behave(call -> call.respond(Long.toString(call.message.deadlineMicros())));
    HttpRequest.Builder request = rig.request("/").header("x-request-timeout-seconds", header);
    String deadline = rig.send(request).get(10, TimeUnit.SECONDS).body();
    assertThat(Long.parseLong(deadline)).isBetween(least, most);
  }

  @Test
  void aTimeoutInMidStreamCutsTheResponseSoThatItNeverLooksWhole() throws Exception {
    RawClient raw = rig.raw().get("/", "x-request-timeout-seconds: 0.3");
    Call call = upstream.nextStream();
    call.frame(Buffer.buffer("generated 0"), false);
    assertThat(raw.readUntil("generated 0\r\n")).startsWith("HTTP/1.1 200");
    assertThat(raw.readToEnd()).isEmpty(); // closed, without the last chunk
    assertThat(call.cancelledWithin(10)).isTrue();
    rig.eventually("counted as 408", () -> rig.answered(408) == 1);
  }

  @Test
  void timeoutsLeaveNothingBehind() throws Exception {
    restart(Duration.ofMillis(100));
    List<CompletableFuture<HttpResponse<String>>> hanging = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      hanging.add(rig.send(rig.request("/")));
    }
    for (CompletableFuture<HttpResponse<String>> response : hanging) {
      assertThat(response.get(10, TimeUnit.SECONDS).statusCode()).isEqualTo(408);
    }
    rig.assertAtRest();
    upstream.behave(call -> call.respond("ok"));
    assertThat(rig.get("/").body()).isEqualTo("ok");
  }

  // --- clients that leave ---

  @Test
  void aClientThatWantsItsRequestToGoOnLeavesItRunning() throws Exception {
    RawClient raw = rig.raw().get("/", "x-request-disconnect-disabled: ?1");
    Call call = upstream.nextCall();
    raw.close();
    afterTheDisconnect();
    assertThat(call.cancels).isEmpty();
    assertThat(rig.ongoing()).isEqualTo(1);
    call.respond("done");
    rig.eventually("counted as it ended", () -> rig.answered(200) == 1);
    assertThat(rig.answered(499)).isZero();
  }

  @Test
  void aStreamThatGoesOnWithoutItsClientIsReadToItsEnd() throws Exception {
    RawClient raw = rig.raw().get("/", "x-request-disconnect-disabled: ?1");
    Call call = upstream.nextStream();
    call.frame(Buffer.buffer("half"), false);
    raw.readUntil("half\r\n");
    raw.close();
    afterTheDisconnect();
    int window = call.message.streamWindow();
    Buffer piece = Buffer.buffer(new byte[8 << 10]);
    long credit = window - 4;
    for (int sent = 0; sent < 3 * window; sent += piece.length()) {
      while (credit < piece.length()) {
        Integer more = call.credits.poll(10, TimeUnit.SECONDS);
        assertThat(more).as("credit for more").isNotNull();
        credit += more;
      }
      call.frame(piece, false);
      credit -= piece.length();
    }
    call.frame(Buffer.buffer("end"), true);
    rig.eventually("counted as it ended", () -> rig.answered(200) == 1);
    assertThat(call.cancels).isEmpty();
  }

  @Test
  void aStreamThatBeginsAfterItsClientWentIsReadToItsEnd() throws Exception {
    RawClient raw = rig.raw().get("/", "x-request-disconnect-disabled: ?1");
    Call call = upstream.nextCall();
    raw.close();
    afterTheDisconnect();
    call.startStream(Headers.empty());
    call.frame(Buffer.buffer("all"), true);
    rig.eventually("counted as it ended", () -> rig.answered(200) == 1);
    assertThat(call.cancels).isEmpty();
  }

  @Test
  void aRequestThatGoesOnWithoutItsClientStillHasItsTimeout() throws Exception {
    RawClient raw = rig.raw();
    raw.get("/", "x-request-disconnect-disabled: ?1", "x-request-timeout-seconds: 0.3");
    Call call = upstream.nextCall();
    raw.close();
    assertThat(call.cancelledWithin(10)).isTrue();
    rig.eventually("counted as 408", () -> rig.answered(408) == 1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"?0", "1", "true"})
  void anyOtherValueCancelsAsUsual(String value) throws Exception {
    RawClient raw = rig.raw();
    raw.send("GET / HTTP/1.1\r\nHost: t\r\nx-request-disconnect-disabled: " + value + "\r\n\r\n");
    Call call = upstream.nextCall();
    raw.close();
    assertThat(call.cancelledWithin(10)).isTrue();
    rig.eventually("counted as 499", () -> rig.answered(499) == 1);
  }

  @Test
  void aRequestThatIsNotWholeWhenItsClientLeavesNeverRuns() throws Exception {
    RawClient raw = rig.raw();
    raw.send(
        "GET / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n"
            + "x-request-disconnect-disabled: ?1\r\n\r\nhalf");
    rig.eventually("a request under way", () -> rig.ongoing() == 1);
    raw.close();
    rig.eventually("counted as 499", () -> rig.answered(499) == 1);
    assertThat(upstream.loop().pendingRequests()).isZero();
  }

  private void afterTheDisconnect() throws Exception {
    rig.eventually("the client's connection is gone", () -> rig.connections() == 0);
  }
}
