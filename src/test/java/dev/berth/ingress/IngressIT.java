package dev.berth.ingress;

import static dev.berth.ingress.IngressRig.said;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.config.Backpressure;
import dev.berth.config.HealthOptions;
import dev.berth.config.HttpOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.metrics.Meters;
import dev.berth.protocol.Admission;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** HTTP over real sockets and the real router; only the replica is a fake. */
class IngressIT {
  private static final Duration SHORT = Duration.ofSeconds(1);

  @AutoClose private IngressRig rig;
  private Vertx vertx;
  private FakeUpstream upstream;
  private Ingress ingress;

  @BeforeEach
  void start() throws Exception {
    start(null, limits(16));
  }

  private void start(@Nullable Duration requestTimeout, Settings limits) throws Exception {
    start(requestTimeout, limits, SHORT);
  }

  /** From here on a client may stand still for a third of a second, and not for one. */
  private void hurry() throws Exception {
    start(null, limits(16, IngressRig.SHORTEST), IngressRig.SHORTEST);
  }

  private void start(@Nullable Duration requestTimeout, Settings limits, Duration keepAlive)
      throws Exception {
    if (rig != null) {
      rig.close();
    }
    rig =
        new IngressRig(
                limits
                    .with(HttpOptions.REQUEST_TIMEOUT_S, requestTimeout)
                    .with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, keepAlive))
            .route("/");
    vertx = rig.vertx;
    upstream = rig.upstream;
    ingress = rig.ingress;
  }

  private static Settings limits(int maxConnections) {
    return limits(maxConnections, SHORT);
  }

  private static Settings limits(int maxConnections, Duration idle) {
    return IngressRig.limits(maxConnections, IngressRig.LOCAL, idle);
  }

  // --- routes and built-in paths ---

  @Test
  void healthFailsWhileDraining() throws Exception {
    ingress.drain();
    HttpResponse<String> draining = rig.get("/-/healthz");
    assertThat(said(draining)).isEqualTo("503 This node is being drained.");
    assertThat(draining.headers().firstValue("connection")).hasValue("close");
  }

  @Test
  void healthFailsUntilThereAreRoutesAndNotWhenTheyGoAgain() throws Exception {
    Ingress fresh =
        new Ingress(limits(16), new Meters("n", "a", "", false), System::nanoTime, 0xbe28);
    IngressRig.await(vertx.deployVerticle(new IngressVerticle(fresh, upstream.loop(), 0, SHORT)));
    String health = "http://127.0.0.1:" + fresh.port() + "/-/healthz";
    HttpRequest request = HttpRequest.newBuilder(URI.create(health)).build();
    HttpResponse<String> early = rig.client.send(request, HttpResponse.BodyHandlers.ofString());
    assertThat(said(early)).isEqualTo("503 Route table is not populated yet.");
    fresh.update(ingress.routes());
    fresh.update(RouteTable.empty());
    assertThat(rig.client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode())
        .isEqualTo(200);
  }

  @Test
  void afterStartupMissingRoutesAndReplicasFailNoCheck() throws Exception {
    AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5); // the clock of a JVM may overflow
    Duration startup = Duration.ofSeconds(30);
    Settings settings = limits(16).with(HealthOptions.STARTUP_S, startup);
    Ingress fresh = new Ingress(settings, new Meters("n", "a", "", false), nanos::get, 0xbe2a);
    nanos.addAndGet(startup.toNanos()); // waits for admission: does not count
    fresh.listening(8000);
    assertThat(fresh.unhealthyReason()).isEqualTo("Route table is not populated yet.");
    assertThat(fresh.status()).isEqualTo(1);
    nanos.addAndGet(startup.toNanos() / 2);
    fresh.listening(8000); // another loop: the time does not begin again
    fresh.update(RouteTable.of("", Map.of("/starting", startingRoute())));
    assertThat(fresh.unreadyReason()).isEqualTo("No replicas are available yet.");
    nanos.addAndGet(startup.toNanos() / 2 + 1);
    assertThat(fresh.unreadyReason()).isNull();
    fresh.update(RouteTable.empty());
    assertThat(fresh.unhealthyReason()).isNull();
    assertThat(fresh.status()).isEqualTo(2);
    fresh.drain();
    assertThat(fresh.unhealthyReason()).isEqualTo("This node is being drained.");
  }

  private IngressRoute startingRoute() {
    return new IngressRoute(
        "starting",
        upstream.emptyRouter(new DeploymentId("starting", "model")),
        Backpressure.DEFAULTS,
        null);
  }

  @Test
  void itIsReadyWhenEachRoutedDeploymentHasAReplica() throws Exception {
    assertThat(rig.get("/-/readyz").body()).isEqualTo("success");
    Map<String, IngressRoute> routes = new LinkedHashMap<>();
    routes.put("/", route());
    routes.put("/starting", startingRoute());
    ingress.update(RouteTable.of("", routes));
    HttpResponse<String> unready = rig.get("/-/readyz");
    assertThat(said(unready)).isEqualTo("503 No replicas are available yet.");
    assertThat(rig.get("/-/healthz").statusCode()).as("it lives").isEqualTo(200);
    ingress.drain();
    assertThat(rig.get("/-/readyz").body()).isEqualTo("This node is being drained.");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/mounted", ""})
  void belowARootPathTheRoutesAreFoundWithItAndWithout(String prefix) throws Exception {
    start(null, limits(16).with(HttpOptions.ROOT_PATH, "/mounted"));
    ingress.update(RouteTable.of("/mounted", Map.of("/classify", route())));
    upstream.behave(call -> call.respond(call.request().path()));
    assertThat(rig.get(prefix + "/classify/x").body()).isEqualTo(prefix + "/classify/x");
    assertThat(rig.get(prefix + "/-/healthz").body()).isEqualTo("success");
    assertThat(rig.get(prefix + "/-/readyz").body()).isEqualTo("success");
    assertThat(rig.get(prefix + "/other").statusCode()).isEqualTo(404);
    assertThat(rig.get("/mountedclassify").statusCode()).isEqualTo(404);
  }

  @Test
  void theRoutesAreListedWithTheirApplications() throws Exception {
    Map<String, IngressRoute> routes = new LinkedHashMap<>();
    routes.put("/classify", route());
    routes.put("/echo", route());
    ingress.update(RouteTable.of("", routes));
    assertThat(new JsonObject(rig.get("/-/routes").body()).getMap())
        .containsExactly(Map.entry("/classify", "app"), Map.entry("/echo", "app"));
  }

  @Test
  void aPathThatNoRouteTakesIsRays404() throws Exception {
    rig.route("/classify");
    HttpResponse<String> response = rig.get("/other?x=1");
    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(response.body())
        .isEqualTo("Path '/other' not found. Ping http://.../-/routes for available routes.");
    assertThat(
            rig.metric(
                "serve_num_http_requests_total{application=\"\",method=\"GET\",route=\"\","
                    + "status_code=\"404\"}"))
        .isEqualTo(1);
  }

  @Test
  void theWholePathReachesTheHandlerWithQueryHeadersAndMethod() throws Exception {
    rig.route("/classify");
    CompletableFuture<HttpResponse<String>> response =
        rig.send(
            rig.request("/classify/a%20b?x=1&y=2")
                .header("X-Test", "one")
                .header("X-Test", "two")
                .method("PATCH", HttpRequest.BodyPublishers.ofString("body")));
    Call call = upstream.nextCall();
    assertThat(call.request().method()).isEqualTo("PATCH");
    assertThat(call.request().path()).isEqualTo("/classify/a%20b");
    assertThat(call.request().query()).isEqualTo("x=1&y=2");
    assertThat(call.request().headers().get("x-test")).isEqualTo("one");
    assertThat(call.request().headers().all("X-TEST")).containsExactly("one", "two");
    assertThat(pairs(call.request().headers()))
        .isEqualTo(call.request().headers().size())
        .isGreaterThan(2);
    assertThat(call.request().bytes().toString()).isEqualTo("body");
    call.respond("ok");
    assertThat(response.get(10, TimeUnit.SECONDS).body()).isEqualTo("ok");
  }

  @Test
  void newRoutesAreSeenByTheNextRequestOfAnOpenConnection() throws Exception {
    upstream.behave(call -> call.respond("ok"));
    RawClient raw = rig.raw();
    assertThat(raw.get("/x").readHead()).startsWith("HTTP/1.1 200");
    raw.read(2);
    ingress.update(RouteTable.empty());
    assertThat(raw.get("/x").readHead()).startsWith("HTTP/1.1 404");
  }

  // --- responses ---

  @Test
  void aWholeResponseIsPassedOn() throws Exception {
    upstream.behave(
        call ->
            call.respond(
                201,
                Headers.of(
                    "content-type", "image/png", "x-berth-replica", "r1", "x-berth-replica", "r2"),
                Buffer.buffer("png")));
    HttpResponse<String> response = rig.get("/");
    assertThat(said(response)).isEqualTo("201 png");
    assertThat(response.headers().allValues("x-berth-replica")).containsExactly("r1", "r2");
    assertThat(response.headers().firstValue("content-length")).hasValue("3");
  }

  @Test
  void hopByHopHeadersOfTheHandlerAreStripped() throws Exception {
    upstream.behave(
        call ->
            call.respond(
                200,
                Headers.of(
                    "connection", "x-private, keep-alive",
                    "x-private", "1",
                    "keep-alive", "timeout=1",
                    "transfer-encoding", "gzip",
                    "content-length", "99",
                    "x-public", "1"),
                Buffer.buffer("ok")));
    HttpResponse<String> response = rig.get("/");
    assertThat(response.headers().map().keySet())
        .containsExactlyInAnyOrder("content-length", "x-public", "x-request-id");
    assertThat(response.body()).isEqualTo("ok");
  }

  @Test
  void aHeadRequestGetsTheHeadAndNoBody() throws Exception {
    upstream.behave(call -> call.respond("four"));
    RawClient raw = rig.raw().head("/");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200").contains("content-length: 4\r\n");
    assertThat(raw.get("/").readHead()).as("nothing stood between").startsWith("HTTP/1.1 200");
  }

  @Test
  void aHeadRequestOfAStreamEndsTheStream() throws Exception {
    RawClient raw = rig.raw().head("/");
    Call call = upstream.nextStream();
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200");
    assertThat(call.cancelledWithin(10)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(ints = {204, 304})
  void aStatusWithoutBodyHasNone(int status) throws Exception {
    upstream.behave(call -> call.respond(status, Headers.empty(), Buffer.buffer("dropped")));
    RawClient raw = rig.raw();
    assertThat(raw.get("/").readHead()).startsWith("HTTP/1.1 " + status);
    assertThat(raw.get("/").readHead()).startsWith("HTTP/1.1 " + status);
  }

  @Test
  void aResponseThatHttpCannotCarryIsAnInternalServerError() throws Exception {
    upstream.behave(call -> call.respond(200, new Unsendable(), Buffer.buffer("ok")));
    HttpResponse<String> response = rig.get("/");
    assertThat(said(response)).isEqualTo("500 Internal Server Error");
    assertThat(response.headers().map()).doesNotContainKey("x-before");
  }

  // --- failures ---

  @Test
  void aChildsBackPressureBecomes429WhenSoConfigured() throws Exception {
    rig.route(
        "/",
        Backpressure.DEFAULTS
            .with(Backpressure.STATUS_CODE, 429)
            .with(Backpressure.RETRY_AFTER_S, Duration.ofSeconds(7)));
    upstream.behave(call -> call.fail(BerthException.Kind.BACK_PRESSURE, "full"));
    HttpResponse<String> response = rig.get("/");
    assertThat(response.statusCode()).isEqualTo(429);
    assertThat(response.headers().firstValue("retry-after")).hasValue("7");
    assertThat(response.body()).startsWith("Request dropped due to backpressure");
  }

  @Test
  void aDeploymentThatFailedToDeployIs503() throws Exception {
    DeploymentId broken = new DeploymentId("app", "broken");
    rig.route("/", upstream.failedRouter(broken), Backpressure.DEFAULTS);
    HttpResponse<String> response = rig.get("/");
    assertThat(response.statusCode()).isEqualTo(503);
    assertThat(response.headers().firstValue("content-type")).hasValue("text/plain; charset=utf-8");
    assertThat(response.body()).contains("failed to deploy");
  }

  @Test
  void aClientThatAcceptsJsonIsToldInJson() throws Exception {
    upstream.behave(call -> call.fail(BerthException.Kind.HANDLER_FAILED, "secret"));
    HttpResponse<String> response =
        rig.answer(
            rig.request("/")
                .header("Accept", "text/html, application/json")
                .header("X-Request-ID", "r1"));
    assertThat(response.headers().firstValue("content-type")).hasValue("application/json");
    JsonObject json = new JsonObject(response.body());
    assertThat(json.getString("code")).isEqualTo("handler_failed");
    assertThat(json.getString("request_id")).isEqualTo("r1");
    assertThat(response.body()).doesNotContain("secret");
  }

  // --- ids and time ---

  @Test
  void aRequestIdIsPassedInAndEchoed() throws Exception {
    upstream.behave(call -> call.respond(call.message.requestId()));
    HttpResponse<String> response = rig.answer(rig.request("/").header("X-Request-ID", "mine"));
    assertThat(response.body()).isEqualTo("mine");
    assertThat(response.headers().allValues("x-request-id")).containsExactly("mine");
  }

  @Test
  void aRequestWithoutAnIdGetsOne() throws Exception {
    upstream.behave(call -> call.respond(call.message.requestId()));
    HttpResponse<String> response = rig.get("/");
    assertThat(response.body()).matches("be27-[0-9a-f]+");
    assertThat(response.headers().firstValue("x-request-id")).hasValue(response.body());
  }

  @Test
  void theTraceContextReachesTheHandlerUnchanged() throws Exception {
    String parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    rig.send(rig.request("/").header("traceparent", parent).header("tracestate", "a=1,b=2"));
    Call call = upstream.nextCall();
    Headers headers = call.request().headers();
    assertThat(headers.all("traceparent")).containsExactly(parent);
    assertThat(headers.all("tracestate")).containsExactly("a=1,b=2");
    call.respond("ok"); // or stopping would wait for it
  }

  @Test
  void aRequestOverItsTimeoutIs408AndIsCancelled() throws Exception {
    CompletableFuture<HttpResponse<String>> response =
        rig.send(
            rig.request("/")
                .header("x-request-timeout-seconds", "0.1")
                .header("X-Request-ID", "r1"));
    Call call = upstream.nextCall();
    assertThat(call.message.deadlineMicros()).isBetween(0L, 100_000L);
    assertThat(response.get(10, TimeUnit.SECONDS).statusCode()).isEqualTo(408);
    assertThat(response.get().body()).isEqualTo("Request r1 timed out after 0.1s.");
    assertThat(call.cancelledWithin(10)).isTrue();
  }

  // --- bodies ---

  @ParameterizedTest
  @ValueSource(ints = {1, 1000, IngressRig.MAX_BODY})
  void aBodyUpToTheLimitReachesTheHandlerWhole(int size) throws Exception {
    byte[] body = new byte[size];
    Arrays.fill(body, (byte) 'x');
    upstream.behave(call -> call.respond(Integer.toString(call.request().bytes().length())));
    HttpResponse<String> sized =
        rig.answer(rig.request("/").POST(HttpRequest.BodyPublishers.ofByteArray(body)));
    assertThat(sized.body()).isEqualTo(Integer.toString(size));
    HttpResponse<String> chunked =
        rig.answer(
            rig.request("/")
                .POST(
                    HttpRequest.BodyPublishers.fromPublisher(
                        HttpRequest.BodyPublishers.ofByteArray(body))));
    assertThat(chunked.body()).isEqualTo(Integer.toString(size));
  }

  @Test
  void aBodyThatComesInPiecesIsPutTogether() throws Exception {
    upstream.behave(call -> call.respond(call.request().bytes().toString()));
    RawClient raw =
        rig.raw()
            .send("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    raw.send("2\r\nde\r\n").send("4\r\nfghi\r\n").send("0\r\n\r\n");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200");
    assertThat(raw.read(9)).isEqualTo("abcdefghi");
  }

  @Test
  void aBodyOverTheLimitIs413AndASmallExcessKeepsTheConnection() throws Exception {
    upstream.behave(call -> call.respond("ok"));
    RawClient raw =
        rig.raw()
            .send(
                "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: "
                    + (IngressRig.MAX_BODY + 10)
                    + "\r\n\r\n"
                    + "x".repeat(IngressRig.MAX_BODY + 10));
    String head = raw.readHead();
    assertThat(head).startsWith("HTTP/1.1 413").doesNotContain("connection: close");
    raw.readUntil("bytes.");
    assertThat(raw.get("/").readHead()).startsWith("HTTP/1.1 200");
  }

  @Test
  void aClientStillSendingAHugeBodyReadsIts413BeforeTheConnectionCloses() throws Exception {
    hurry();
    RawClient raw = rig.raw().post("/", "Content-Length: 1000000000");
    raw.send("x".repeat(100_000)).send("x".repeat(100_000));
    assertThat(raw.readToEnd())
        .startsWith("HTTP/1.1 413")
        .contains("connection: close")
        .endsWith("Request body is larger than 65536 bytes.");
  }

  @Test
  void aChunkedBodyThatGrowsOverTheLimitIs413() throws Exception {
    String piece = "x".repeat(0x8000);
    RawClient raw = rig.raw().post("/", "Transfer-Encoding: chunked");
    for (int i = 0; i < 3; i++) {
      raw.send("8000\r\n" + piece + "\r\n");
    }
    assertThat(raw.readHead()).startsWith("HTTP/1.1 413").contains("connection: close");
    raw.send("0\r\n\r\n");
    assertThat(raw.readToEnd()).contains("larger than");
  }

  @Test
  void aClientThatExpectsToBeToldIsToldToGoOn() throws Exception {
    upstream.behave(call -> call.respond(call.request().bytes().toString()));
    RawClient raw = rig.raw().post("/", "Content-Length: 2", "Expect: 100-continue");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 100");
    assertThat(raw.send("hi").readHead()).startsWith("HTTP/1.1 200");
    assertThat(raw.read(2)).isEqualTo("hi");
  }

  @ParameterizedTest
  @CsvSource({"/, 1000000, 413", "/-/nothing, 2, 404"})
  void aClientThatIsNotToldToGoOnIsClosedSinceItsNextBytesMeanNothing(
      String path, int length, int status) throws Exception {
    hurry();
    assertThat(
            rig.told(
                "POST "
                    + path
                    + " HTTP/1.1\r\nHost: t\r\nContent-Length: "
                    + length
                    + "\r\nExpect: 100-continue\r\n\r\n"))
        .startsWith("HTTP/1.1 " + status)
        .contains("connection: close");
  }

  @Test
  void whatElseAClientMayExpectIs417() throws Exception {
    assertThat(
            rig.told("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nExpect: 200-ok\r\n\r\n"))
        .startsWith("HTTP/1.1 417")
        .contains("connection: close");
  }

  @Test
  void aBodyThatStandsStillIs408() throws Exception {
    hurry();
    assertThat(rig.told("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf"))
        .startsWith("HTTP/1.1 408")
        .endsWith("Request body made no progress for 0.3s.");
  }

  // --- heads ---

  @Test
  void aHeadOverItsLimitsIs414Or431() throws Exception {
    try (RawClient raw = new RawClient(ingress.port())) {
      assertThat(raw.get("/" + "x".repeat(5000)).readToEnd()).startsWith("HTTP/1.1 414");
    }
    assertThat(rig.told("GET / HTTP/1.1\r\nHost: t\r\nX-Long: " + "x".repeat(9000) + "\r\n\r\n"))
        .startsWith("HTTP/1.1 431");
  }

  @Test
  void whatIsNotHttpIs400() throws Exception {
    assertThat(rig.told("GET / HTTP/1.1\r\nHost: t\r\nContent-Length: two\r\n\r\n"))
        .startsWith("HTTP/1.1 400");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/", "/-/healthz", "/nothing"})
  void aRequestThatNamesNoHostIs400(String path) throws Exception {
    try (RawClient raw = new RawClient(ingress.port()).send("GET " + path + " HTTP/1.1\r\n\r\n")) {
      assertThat(raw.readToEnd()).startsWith("HTTP/1.1 400");
    }
    assertThat(rig.told("GET /-/healthz HTTP/1.0\r\n\r\n"))
        .as("HTTP/1.0 needs none")
        .contains("success");
  }

  @ParameterizedTest
  @ValueSource(strings = {"OPTIONS *", "GET //", "GET /%7a"})
  void aTargetThatNoRouteTakesIs404(String target) throws Exception {
    rig.route("/classify");
    assertThat(rig.told(target + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"))
        .startsWith("HTTP/1.1 404");
  }

  @Test
  void anAbsoluteTargetIsRoutedByItsPath() throws Exception {
    rig.route("/classify");
    upstream.behave(call -> call.respond(call.request().path()));
    assertThat(
            rig.told("GET http://t/classify/x?y HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"))
        .startsWith("HTTP/1.1 200")
        .endsWith("/classify/x");
  }

  // --- streams ---

  @Test
  void aStreamToAnHttp10ClientEndsWithTheConnection() throws Exception {
    upstream.behave(call -> call.stream("one", "two"));
    assertThat(rig.told("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"))
        .doesNotContain("chunked")
        .endsWith("onetwo");
  }

  @Test
  void aStreamIsPassedOnPieceByPiece() throws Exception {
    RawClient raw = rig.raw().get("/");
    Call call = upstream.nextCall();
    call.startStream(Headers.of("content-type", "text/event-stream"));
    assertThat(raw.readHead())
        .as("the head comes before the first piece")
        .contains("content-type: text/event-stream")
        .contains("transfer-encoding: chunked");
    call.frame(Buffer.buffer("data: 1\n\n"), false);
    assertThat(raw.readUntil("data: 1\n\n\r\n")).isNotEmpty();
    call.frame(Buffer.buffer("data: 2\n\n"), true);
    assertThat(raw.readUntil("0\r\n\r\n")).contains("data: 2");
    upstream.behave(next -> next.respond("ok"));
    assertThat(raw.get("/").readHead()).as("the connection goes on").startsWith("HTTP/1.1 200");
  }

  @Test
  void aWholeBodyThatComesInPiecesKeepsItsLength() throws Exception {
    upstream.behave(
        call -> {
          call.startWhole(6);
          if (!call.message.request().method().equals("HEAD")) {
            call.frame(Buffer.buffer("one"), false);
            call.frame(Buffer.buffer("two"), true);
          }
        });
    RawClient raw = rig.raw();
    assertThat(raw.get("/").readHead())
        .contains("content-length: 6")
        .doesNotContain("transfer-encoding");
    assertThat(raw.readUntil("onetwo")).isEqualTo("onetwo");
    raw.head("/");
    assertThat(raw.readHead()).contains("content-length: 6");
  }

  @Test
  void aStreamThatFailsBeforeItsHeadIsOutIsAnswered() throws Exception {
    upstream.behave(
        call -> {
          call.startStream(Headers.of("x-of-the-stream", "1"));
          call.reset(BerthException.Kind.HANDLER_FAILED);
        });
    HttpResponse<String> response = rig.get("/");
    assertThat(response.statusCode()).isEqualTo(500);
    assertThat(response.headers().map()).doesNotContainKey("x-of-the-stream");
  }

  @Test
  void aLargeStreamArrivesWhole() throws Exception {
    CompletableFuture<HttpResponse<byte[]>> response =
        rig.client.sendAsync(rig.request("/").build(), HttpResponse.BodyHandlers.ofByteArray());
    assertThat(upstream.nextStream().pour(4 << 20)).isEqualTo(4 << 20);
    assertThat(response.get(20, TimeUnit.SECONDS).body()).hasSize(4 << 20);
  }

  @Test
  void aStreamThatIsResetMidwayIsCutAndNeverLooksWhole() throws Exception {
    try (RawClient raw = new RawClient(ingress.port()).get("/")) {
      Call call = upstream.nextStream();
      call.frame(Buffer.buffer("half"), false);
      raw.readUntil("half\r\n");
      call.reset(BerthException.Kind.HANDLER_FAILED);
      assertThat(raw.readToEnd()).doesNotContain("0\r\n");
    }
    assertThat(rig.errors(500, "GET")).isEqualTo(1);
  }

  @Test
  void aSlowReaderHoldsTheStreamBackAndIsEndedInTheEnd() throws Exception {
    try (RawClient raw = new RawClient(ingress.port()).get("/")) {
      Call call = upstream.nextStream();
      raw.readHead();
      call.pour(); // until the client, which does not read, has filled every buffer between
      assertThat(call.cancelledWithin(10)).as("ended when it stood still").isTrue();
    }
    assertThat(rig.errors(408, "GET")).isEqualTo(1);
  }

  @Test
  void aHandlerMayBeSilentForLongerThanItsReaderMay() throws Exception {
    hurry();
    RawClient raw = rig.raw().get("/");
    Call call = upstream.nextStream();
    call.frame(Buffer.buffer("one"), false);
    raw.readUntil("one\r\n");
    CompletableFuture<Void> twice = new CompletableFuture<>();
    vertx.setTimer(2 * IngressRig.SHORTEST.toMillis() + 500, id -> twice.complete(null));
    twice.get(10, TimeUnit.SECONDS);
    call.frame(Buffer.buffer("two"), true);
    assertThat(raw.readUntil("0\r\n\r\n")).contains("two");
    assertThat(call.cancels).isEmpty();
  }

  // --- clients that leave ---

  @Test
  void aClientThatLeavesCancelsItsCallAndIsCounted499() throws Exception {
    RawClient raw = rig.raw().get("/");
    Call call = upstream.nextCall();
    raw.close();
    assertThat(call.cancelledWithin(10)).isTrue();
    rig.assertAtRest();
    assertThat(rig.errors(499, "GET")).isEqualTo(1);
  }

  @Test
  void aClientThatLeavesMidStreamCancelsIt() throws Exception {
    RawClient raw = rig.raw().get("/");
    Call call = upstream.nextStream();
    call.frame(Buffer.buffer("half"), false);
    raw.readUntil("half\r\n");
    raw.close();
    assertThat(call.cancelledWithin(10)).isTrue();
  }

  @Test
  void aClientThatLeavesWhileSendingItsBodyLeavesNothing() throws Exception {
    RawClient raw = rig.raw();
    raw.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf");
    rig.eventually("a request under way", () -> rig.ongoing() == 1);
    raw.close();
  }

  /** Clients that leave at any step before replicas that do anything: all gauges return to zero. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void clientsThatLeaveAtRandomMomentsLeaveNothing(long seed) throws Exception {
    start(Duration.ofSeconds(2), limits(1000));
    upstream.behaveAtRandom(seed);
    Random random = new Random(-seed);
    List<RawClient> open = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      RawClient raw = rig.raw();
      String head = "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\n";
      switch (random.nextInt(4)) {
        case 0 -> raw.get("/");
        case 1 -> raw.send(head + "body");
        case 2 -> raw.send(head + "bo");
        default -> raw.send(head.substring(0, random.nextInt(head.length())));
      }
      open.add(raw);
      if (random.nextBoolean()) {
        open.remove(random.nextInt(open.size())).close();
      }
    }
    for (RawClient raw : open) {
      raw.close();
    }
    rig.eventually("no connection", () -> rig.connections() == 0);
    rig.assertAtRest();
  }

  // --- connections ---

  @Test
  void pipelinedRequestsAreAnsweredInOrder() throws Exception {
    upstream.behave(call -> call.respond(call.request().path()));
    RawClient raw = rig.raw().get("/a").get("/b").get("/c");
    for (String path : List.of("/a", "/b", "/c")) {
      raw.readHead();
      assertThat(raw.read(2)).isEqualTo(path);
    }
  }

  @Test
  void anIdleConnectionIsClosedAndABusyOneIsNot() throws Exception {
    hurry();
    RawClient idle = rig.raw();
    RawClient busy = rig.raw().get("/");
    Call call = upstream.nextCall();
    upstream.behave(next -> next.respond("ok"));
    idle.get("/").readHead();
    assertThat(idle.readToEnd()).as("closed after keep_alive_timeout_s").isEqualTo("ok");
    call.respond("late");
    assertThat(busy.readHead()).startsWith("HTTP/1.1 200");
  }

  @Test
  void aConnectionThatNeverSendsARequestIsClosed() throws Exception {
    hurry();
    RawClient silent = rig.raw();
    RawClient oneByte = rig.raw();
    oneByte.send("P"); // of POST, or of HTTP/2
    assertThat(silent.readToEnd()).isEmpty();
    assertThat(oneByte.readToEnd()).isEmpty();
  }

  @Test
  void aHeadThatIsNotWholeInTimeIs408() throws Exception {
    hurry();
    upstream.behave(call -> call.respond("ok"));
    try (RawClient first = rig.raw();
        RawClient second = new RawClient(ingress.port())) {
      first.send("GET / HT");
      second.get("/").readHead();
      second.read(2);
      second.send("GET /next HTTP/1.1\r\nHost:");
      for (RawClient raw : List.of(first, second)) {
        assertThat(raw.readToEnd())
            .startsWith("HTTP/1.1 408")
            .contains("connection: close")
            .endsWith("Request head was incomplete after 0.3s.");
      }
    }
    assertThat(rig.metric("berth_http_heads_timed_out_total")).isEqualTo(2);
  }

  @Test
  void aHeadThatTricklesInIsNotGivenMoreTime() throws Exception {
    hurry();
    RawClient raw = rig.raw().send("GET / HTTP/1.1\r\n");
    CompletableFuture<String> answer =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return raw.readToEnd();
              } catch (IOException closed) {
                return closed.toString();
              }
            });
    long trickle =
        vertx.setPeriodic(
            100,
            id -> {
              try {
                raw.send("X-Slow: 1\r\n");
              } catch (IOException closed) {
                vertx.cancelTimer(id);
              }
            });
    assertThat(answer.get(5, TimeUnit.SECONDS)).startsWith("HTTP/1.1 408");
    vertx.cancelTimer(trickle);
  }

  @Test
  void aConnectionOverTheLimitIsRefusedAndCounted() throws Exception {
    start(null, limits(2));
    upstream.behave(call -> call.respond("ok"));
    try (RawClient first = rig.raw();
        RawClient second = new RawClient(ingress.port())) {
      first.get("/").readHead();
      second.get("/").readHead();
      try (RawClient third = new RawClient(ingress.port())) {
        assertThat(endOf(third)).isEmpty();
      }
      assertThat(rig.metric("berth_http_connections_refused_total")).isEqualTo(1);
      assertThat(rig.metric("berth_http_connections")).isEqualTo(2);
    }
    rig.eventually("room again", () -> rig.metric("berth_http_connections") == 0);
    RawClient next = rig.raw();
    assertThat(next.get("/").readHead()).startsWith("HTTP/1.1 200");
  }

  @Test
  void stoppingLetsTheRequestUnderWayEnd() throws Exception {
    RawClient raw = rig.raw().get("/");
    Call call = upstream.nextCall();
    ingress.drain();
    Future<Void> undeployed = rig.undeploy();
    call.respond("last");
    assertThat(raw.readToEnd()).contains("connection: close").endsWith("last");
    IngressRig.await(undeployed);
  }

  /** As the instance does: the loop that it is a part of goes on, until replicas have stopped. */
  @Test
  void itsSweepEndsWithItAndNotWithItsLoop() throws Exception {
    AtomicLong looks = new AtomicLong();
    Ingress fresh =
        new Ingress(limits(16), new Meters("n", "a", "", false), looks::incrementAndGet, 0xbe29);
    IngressVerticle part = new IngressVerticle(fresh, upstream.loop(), 0, SHORT);
    Context loop = vertx.getOrCreateContext();
    IngressRig.await(on(loop, () -> part.deploy(loop)));
    IngressRig.await(on(loop, () -> part.undeploy(loop)));

    long before = looks.get();
    IngressRig.await(vertx.timer(3 * Ingress.SWEEP_NANOS, TimeUnit.NANOSECONDS));
    assertThat(looks).hasValue(before);
  }

  private static Future<?> on(Context loop, Callable<Future<?>> step) {
    Promise<Object> done = Promise.promise();
    loop.runOnContext(
        run -> {
          try {
            step.call().<Object>mapEmpty().onComplete(done);
          } catch (Exception thrown) {
            done.fail(thrown);
          }
        });
    return done.future();
  }

  @Test
  void severalLoopsListenOnOnePort() throws Exception {
    IngressRig.await(vertx.deployVerticle(new IngressVerticle(ingress, upstream.loop(), 1, SHORT)));
    upstream.behave(call -> call.respond("ok"));
    for (int i = 0; i < 4; i++) {
      try (RawClient raw = new RawClient(ingress.port())) {
        assertThat(raw.get("/").readHead()).startsWith("HTTP/1.1 200");
      }
    }
  }

  @Test
  void aRequestWithoutABodyIsRoutedAsOneThatMayBeRefused() throws Exception {
    rig.send(rig.request("/"));
    Call call = upstream.nextCall();
    assertThat(call.request().bytes().length()).isZero();
    assertThat(call.admission()).isEqualTo(Admission.IfFree.IF_FREE);
    call.respond("ok"); // or stopping would wait for it
  }

  // --- helpers ---

  private IngressRoute route() {
    return new IngressRoute("app", upstream.router(), Backpressure.DEFAULTS, null);
  }

  private static String endOf(RawClient raw) throws IOException {
    try {
      return raw.readToEnd();
    } catch (SocketException reset) {
      return ""; // a reset is an end too
    }
  }

  private static int pairs(Headers headers) {
    int[] pairs = {0};
    headers.forEach((name, value) -> pairs[0]++);
    return pairs[0];
  }

  /** Headers whose second value would split the response. */
  private static final class Unsendable implements Headers {
    @Override
    public @Nullable String get(String name) {
      return null;
    }

    @Override
    public void forEach(BiConsumer<String, String> each) {
      each.accept("x-before", "fine");
      each.accept("x-split", "a\r\nInjected: b");
    }

    @Override
    public int size() {
      return 2;
    }
  }
}
