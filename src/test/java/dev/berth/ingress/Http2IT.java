package dev.berth.ingress;

import static dev.berth.ingress.IngressRig.await;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.ingress.RawHttp2.Frame;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.StreamResetException;
import io.vertx.core.net.HostAndPort;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** HTTP/2 without TLS: many requests on one connection, and none of them harms another. */
class Http2IT {
  private static final int NO_ERROR = 0;
  private static final int PROTOCOL_ERROR = 1;
  private static final int INTERNAL_ERROR = 2;
  private static final int REFUSED_STREAM = 7;
  private static final int CANCEL = 8;
  private static final int ENHANCE_YOUR_CALM = 11;

  private static final int MAX_STREAMS = 8;
  private static final int MAX_RESETS = 20;
  private static final int MAX_CONTROL_FRAMES = 30;
  private static final int ACK = 1;
  private static final Settings LIMITS =
      IngressRig.LOCAL
          .with(InstanceOptions.H2C_UPGRADE, true)
          .with(LimitOptions.HTTP2_MAX_STREAMS, MAX_STREAMS)
          .with(LimitOptions.HTTP2_MAX_CONTROL_FRAMES, MAX_CONTROL_FRAMES)
          .with(LimitOptions.HTTP2_MAX_RESETS, MAX_RESETS);

  @AutoClose private IngressRig rig;
  private FakeUpstream upstream;
  private final HttpClient client;

  Http2IT() throws Exception {
    rig = IngressRig.tight(100, LIMITS);
    upstream = rig.upstream;
    client = client(false);
  }

  /** From here on a client may stand still for a third of a second, and not for one. */
  private void hurry() throws Exception {
    rig.close();
    rig = IngressRig.tight(100, LIMITS, IngressRig.SHORTEST);
    upstream = rig.upstream;
  }

  private HttpClient client(boolean upgrade) {
    return rig.vertx.createHttpClient(
        new HttpClientOptions()
            .setProtocolVersion(HttpVersion.HTTP_2)
            .setHttp2ClearTextUpgrade(upgrade)
            .setDefaultPort(rig.port())
            .setDefaultHost("127.0.0.1"),
        new PoolOptions().setHttp2MaxSize(1));
  }

  // --- requests and answers ---

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void bothWaysToHttp2AreServed(boolean upgrade) throws Exception {
    upstream.behave(call -> call.respond(call.request().path()));
    HttpClient eachWay = client(upgrade);
    for (String path : List.of("/one", "/two")) {
      Answer answer = send(eachWay, HttpMethod.GET, path);
      assertThat(answer.head().version()).isEqualTo(HttpVersion.HTTP_2);
      assertThat(answer.head().statusCode()).isEqualTo(200);
      assertThat(answer.body()).hasToString(path);
    }
    assertThat(rig.metric("berth_http_connections")).isEqualTo(1);
  }

  @Test
  void theHandlerSeesTheRequestAsInHttp1() throws Exception {
    HttpClientRequest request =
        await(client.request(HttpMethod.PUT, "/a%20b?x=1"))
            .authority(HostAndPort.create("example.org", 8080));
    request.headers().add("x-test", "one").add("x-test", "two");
    request.headers().add("cookie", "a=1").add("cookie", "b=2");
    Future<Buffer> body = request.send(Buffer.buffer("body")).compose(HttpClientResponse::body);
    Call call = upstream.nextCall();
    assertThat(call.request().method()).isEqualTo("PUT");
    assertThat(call.request().path()).isEqualTo("/a%20b");
    assertThat(call.request().query()).isEqualTo("x=1");
    assertThat(call.request().bytes()).hasToString("body");
    Headers headers = call.request().headers();
    assertThat(headers.all("X-Test")).containsExactly("one", "two");
    assertThat(headers.get("cookie")).isEqualTo("a=1; b=2");
    assertThat(headers.all("host")).containsExactly("example.org:8080");
    headers.forEach((name, value) -> assertThat(name).doesNotStartWith(":"));
    call.respond("ok");
    assertThat(await(body)).hasToString("ok");
  }

  @Test
  void headersThatMeanTheConnectionAreNotSent() throws Exception {
    upstream.behave(
        call ->
            call.respond(
                200,
                Headers.of(
                    "connection", "x-private",
                    "x-private", "1",
                    "keep-alive", "timeout=1",
                    "transfer-encoding", "chunked",
                    "upgrade", "h2c",
                    "X-Public", "1"),
                Buffer.buffer("ok")));
    Answer answer = send(client, HttpMethod.GET, "/");
    assertThat(answer.head().headers().names())
        .containsExactlyInAnyOrder("content-length", "x-public", "x-request-id");
  }

  @Test
  void requestsOfOneConnectionRunSideBySide() throws Exception {
    List<Future<Buffer>> bodies = new ArrayList<>();
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < MAX_STREAMS; i++) {
      bodies.add(bodyOf("/" + i));
      calls.add(upstream.nextCall());
    }
    assertThat(rig.metric("berth_http_connections")).isEqualTo(1);
    for (int i = MAX_STREAMS - 1; i >= 0; i--) {
      calls.get(i).respond("answer " + i);
      assertThat(await(bodies.get(i))).hasToString("answer " + i);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/-/healthz", "/-/routes", "/-/nothing"})
  void whatTheIngressAnswersItselfEndsTheStreamAndResetsNothing(String path) throws Exception {
    RawHttp2 raw = rig.http2();
    raw.get(1, path).get(3, path).frame(RawHttp2.PING, 0, 0, new byte[8]);
    Frame frame;
    int ended = 0;
    int pongs = 0;
    while (pongs == 0) {
      frame = raw.read();
      assertThat(frame).isNotNull();
      assertThat(frame.type()).isNotEqualTo(RawHttp2.RST_STREAM);
      ended += frame.type() == RawHttp2.DATA && frame.flags() == RawHttp2.END_STREAM ? 1 : 0;
      pongs += frame.type() == RawHttp2.PING ? 1 : 0;
    }
    assertThat(ended).isEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(ints = {204, 304})
  void aStatusWithoutBodyHasNone(int status) throws Exception {
    upstream.behave(call -> call.respond(status, Headers.empty(), Buffer.buffer("dropped")));
    Answer answer = send(client, HttpMethod.GET, "/");
    assertThat(answer.head().statusCode()).isEqualTo(status);
    assertThat(answer.body().length()).isZero();
  }

  @Test
  void aHeadRequestGetsTheHeadAndNoBody() throws Exception {
    upstream.behave(call -> call.respond("four"));
    Answer answer = send(client, HttpMethod.HEAD, "/");
    assertThat(answer.head().getHeader("content-length")).isEqualTo("4");
    assertThat(answer.body().length()).isZero();
  }

  @Test
  void aConnectRequestIs405() throws Exception {
    RawHttp2 raw = rig.http2();
    raw.headers(1, true, ":method", "CONNECT", ":authority", "a:1");
    assertThat(raw.next(RawHttp2.DATA, 1).text()).startsWith("method: for proxies only");
    raw.get(3, "/%zz");
    assertThat(raw.next(RawHttp2.DATA, 3).text()).startsWith("request target: malformed");
    raw.get(5, "no/slash");
    assertThat(raw.next(RawHttp2.DATA, 5).text()).startsWith("request target: malformed");
  }

  // --- bodies ---

  @Test
  void aBodyInPiecesReachesTheHandlerWhole() throws Exception {
    upstream.behave(call -> call.respond(call.request().bytes().toString()));
    HttpClientRequest request = await(client.request(HttpMethod.POST, "/"));
    request.setChunked(true);
    await(request.write("abc"));
    await(request.write("de"));
    Future<Buffer> body = request.response().compose(HttpClientResponse::body);
    request.end("fghi");
    assertThat(await(body)).hasToString("abcdefghi");
  }

  @Test
  void aBodyOverTheLimitIs413AndTheRestIsNotWanted() throws Exception {
    RawHttp2 raw = rig.http2();
    raw.post(1, "/");
    byte[] piece = new byte[16 << 10];
    for (int i = 0; i < 3; i++) {
      raw.frame(RawHttp2.DATA, 0, 1, piece);
    }
    raw.next(RawHttp2.WINDOW_UPDATE, 1);
    raw.frame(RawHttp2.DATA, 0, 1, piece).frame(RawHttp2.DATA, 0, 1, new byte[1]);
    assertThat(raw.next(RawHttp2.DATA, 1).text()).contains("larger than 65536 bytes");
    assertThat(raw.next(RawHttp2.RST_STREAM, 1).errorCode()).isEqualTo(NO_ERROR);
    upstream.behave(call -> call.respond("ok"));
    assertThat(raw.get(3, "/").next(RawHttp2.DATA, 3).text())
        .as("the connection goes on")
        .isEqualTo("ok");
    assertErrors(413, "POST", 1);
  }

  @Test
  void anAnnouncedBodyOverTheLimitIs413AtOnce() throws Exception {
    RawHttp2 raw = rig.http2();
    raw.post(1, "/", "content-length", "99999999", "expect", "100-continue");
    assertThat(raw.next(RawHttp2.DATA, 1).text()).contains("larger than 65536 bytes");
    assertThat(raw.next(RawHttp2.RST_STREAM, 1).errorCode()).isEqualTo(NO_ERROR);
  }

  @Test
  void aBodyThatStandsStillIs408AndOthersGoOn() throws Exception {
    hurry();
    RawHttp2 raw = rig.http2();
    raw.post(1, "/").get(3, "/");
    Call other = upstream.nextCall();
    assertThat(raw.next(RawHttp2.DATA, 1).text())
        .isEqualTo("Request body made no progress for 0.3s.");
    assertThat(raw.next(RawHttp2.RST_STREAM, 1).errorCode()).isEqualTo(NO_ERROR);
    other.respond("other");
    assertThat(raw.next(RawHttp2.DATA, 3).text()).isEqualTo("other");
  }

  @Test
  void bodiesThatNobodyTakesAreHeldBackAndStopNoOther() throws Exception {
    IngressRig wide = new IngressRig((Duration) null).route("/");
    wide.upstream.streamRequests();
    try (RawHttp2 raw = new RawHttp2(wide.port())) {
      int held = 8;
      List<Call> calls = new ArrayList<>();
      for (int i = 0; i < held; i++) {
        raw.post(1 + 2 * i, "/").frame(RawHttp2.DATA, 0, 1 + 2 * i, new byte[10]);
        calls.add(wide.upstream.nextCall());
        for (int piece = 0; piece < 3; piece++) { // most of its window
          raw.frame(RawHttp2.DATA, 0, 1 + 2 * i, new byte[16 << 10]);
        }
      }
      int free = 1 + 2 * held;
      raw.post(free, "/");
      raw.frame(RawHttp2.DATA, RawHttp2.END_STREAM, free, "free".getBytes(US_ASCII));
      Call other = wide.upstream.nextCall();
      assertThat(other.request().bytes()).hasToString("free");
      other.respond("free too");
      assertThat(raw.next(RawHttp2.DATA, free).text()).isEqualTo("free too");

      Call first = calls.get(0);
      assertThat(first.frames).as("no credit was given").isEmpty();
      first.credit(1 << 20);
      int size = 0;
      while (size < 3 * (16 << 10)) {
        size += first.nextFrame().data().length();
      }
      raw.next(RawHttp2.WINDOW_UPDATE, 1); // taken, and so its client may go on
      raw.frame(RawHttp2.DATA, RawHttp2.END_STREAM, 1, "end".getBytes(US_ASCII));
      assertThat(first.nextFrame().data()).hasToString("end");
      first.respond("taken");
      assertThat(raw.next(RawHttp2.DATA, 1).text()).isEqualTo("taken");

      calls.get(1).respond("not needed");
      assertThat(raw.next(RawHttp2.DATA, 3).text()).isEqualTo("not needed");
      assertThat(raw.next(RawHttp2.RST_STREAM, 3).errorCode()).isEqualTo(NO_ERROR);
      raw.reset(5, CANCEL);
      assertThat(calls.get(2).cancelledWithin(10)).isTrue();
    }
    wide.assertAtRest(); // the others went with the connection
    wide.close();
  }

  // --- streams ---

  @Test
  void aStreamIsPassedOnPieceByPiece() throws Exception {
    BlockingQueue<String> pieces = new LinkedBlockingQueue<>();
    Future<HttpClientResponse> sent =
        client.request(HttpMethod.GET, "/").compose(HttpClientRequest::send);
    Call call = upstream.nextCall();
    call.startStream(Headers.of("content-type", "text/event-stream"));
    Future<String> ended =
        sent.compose(
            response ->
                response
                    .handler(piece -> pieces.add(piece.toString()))
                    .end()
                    .map(response.getHeader("content-type")));
    await(sent);
    call.frame(Buffer.buffer("data: 1\n\n"), false);
    assertThat(pieces.poll(10, TimeUnit.SECONDS)).isEqualTo("data: 1\n\n");
    call.frame(Buffer.buffer("data: 2\n\n"), true);
    assertThat(await(ended)).isEqualTo("text/event-stream");
    assertThat(pieces.poll()).isEqualTo("data: 2\n\n");
  }

  @Test
  void aStreamThatFailsIsResetAndItsNeighbourGoesOn() throws Exception {
    Future<HttpClientResponse> failing =
        client.request(HttpMethod.GET, "/").compose(HttpClientRequest::send);
    Call call = upstream.nextCall();
    Future<Buffer> other = bodyOf("/");
    Call neighbour = upstream.nextCall();
    call.startStream(Headers.empty());
    Future<Void> end = failing.compose(HttpClientResponse::end);
    call.frame(Buffer.buffer("half"), false);
    call.reset(BerthException.Kind.HANDLER_FAILED);
    StreamResetException reset = failureOf(end, StreamResetException.class);
    assertThat(reset.getCode()).isEqualTo(INTERNAL_ERROR);
    neighbour.respond("fine");
    assertThat(await(other)).hasToString("fine");
    assertErrors(500, "GET", 1);
  }

  @Test
  void aSlowReaderOfOneStreamHoldsThatOneBackAndNoOther() throws Exception {
    RawHttp2 raw = rig.http2();
    // A large window for the connection; each stream has the 64 KiB that are the default.
    raw.frame(RawHttp2.WINDOW_UPDATE, 0, 0, new byte[] {0x10, 0, 0, 0});
    raw.get(1, "/");
    Call slow = upstream.nextStream();
    assertThat(slow.pour()).isLessThan(1 << 20);
    raw.get(3, "/");
    assertThat(upstream.nextStream().pour(32 << 10)).isEqualTo(32 << 10);
    int received = 0;
    while (received < 32 << 10) {
      received += raw.next(RawHttp2.DATA, 3).payload().length;
    }
    assertThat(slow.cancelledWithin(10)).as("ended when it stood still").isTrue();
    assertThat(raw.next(RawHttp2.RST_STREAM, 1).errorCode()).isEqualTo(INTERNAL_ERROR);
    assertErrors(408, "GET", 1);
  }

  @Test
  void aStreamThatItsClientDoesNotReadIsEndedHoweverSlowlyItGrows() throws Exception {
    hurry();
    RawHttp2 raw = rig.http2();
    raw.frame(RawHttp2.SETTINGS, 0, 0, new byte[] {0, 4, 0, 0, 0, 0}); // windows of 0 bytes
    raw.get(1, "/");
    Call call = upstream.nextStream();
    int pieces = 0;
    do {
      assertThat(++pieces).as("pieces in 10 s").isLessThan(500);
      call.frame(Buffer.buffer("x"), false);
    } while (call.cancels.poll(20, TimeUnit.MILLISECONDS) == null);
    assertThat(raw.next(RawHttp2.RST_STREAM, 1).errorCode()).isEqualTo(INTERNAL_ERROR);
    assertErrors(408, "GET", 1);
  }

  @Test
  void anAnswerThatItsClientDoesNotReadIsNotKeptForEver() throws Exception {
    hurry();
    RawHttp2 raw = rig.http2();
    raw.frame(RawHttp2.SETTINGS, 0, 0, new byte[] {0, 4, 0, 0, 0, 0}); // windows of 0 bytes
    raw.get(1, "/");
    upstream.nextCall().respond("never read");
    assertThat(raw.next(RawHttp2.RST_STREAM, 1).errorCode()).isEqualTo(INTERNAL_ERROR);
  }

  @Test
  void answersThatClientsDoNotReadAreKeptUpToABoundOfAllConnections() throws Exception {
    Duration patient = Duration.ofSeconds(10);
    IngressRig small =
        new IngressRig(
                IngressRig.limits(100, LIMITS, IngressRig.SHORT)
                    .with(LimitOptions.STREAM_BYTES_TOTAL, 256L << 10)
                    .with(LimitOptions.STREAM_IDLE_TIMEOUT_S, patient))
            .route("/");
    small.upstream.behave(call -> call.respond("x".repeat(60_000)));
    int kept = 60_000;
    byte[] noWindow = {0, 4, 0, 0, 0, 0};
    try (RawHttp2 one = new RawHttp2(small.port())) {
      try (RawHttp2 other = new RawHttp2(small.port())) {
        other.frame(RawHttp2.SETTINGS, 0, 0, noWindow).get(1, "/").get(3, "/").get(5, "/");
        small.eventually("three are kept", () -> small.heldBytes() == 3 * kept);
        one.frame(RawHttp2.SETTINGS, 0, 0, noWindow)
            .get(1, "/"); // stands still no longer than they
        small.eventually("four are kept", () -> small.heldBytes() == 4 * kept);
        other.get(7, "/");
        small.eventually("five are kept", () -> small.heldBytes() == 5 * kept);
        assertThat(other.next(RawHttp2.RST_STREAM, 1).errorCode())
            .as("the oldest of the connection that holds most")
            .isEqualTo(INTERNAL_ERROR);
        small.eventually("four are kept", () -> small.heldBytes() == 4 * kept);
        one.reset(1, CANCEL);
        small.eventually("three are kept", () -> small.heldBytes() == 3 * kept);
        other.get(9, "/");
        small.eventually("four are kept", () -> small.heldBytes() == 4 * kept);
      }
      small.eventually("none is kept", () -> small.heldBytes() == 0);
    }
    small.eventually("none is kept", () -> small.heldBytes() == 0);
    assertThat(small.metric("berth_http_answers_stood_still_total")).isEqualTo(1);
    small.assertAtRest();
    small.close();
  }

  @Test
  void streamWhoseClientReadAllIsNotCutForTheRoomOfOthers() throws Exception {
    IngressRig small =
        new IngressRig(
                IngressRig.limits(100, LIMITS, Duration.ofSeconds(10))
                    .with(LimitOptions.STREAM_BYTES_TOTAL, 256L << 10))
            .route("/");
    byte[] noWindow = {0, 4, 0, 0, 0, 0};
    try (RawHttp2 silent = new RawHttp2(small.port());
        RawHttp2 unread = new RawHttp2(small.port())) {
      silent.get(1, "/");
      Call call = small.upstream.nextCall();
      call.startStream(Headers.empty());
      call.frame(Buffer.buffer("first"), false);
      assertThat(silent.next(RawHttp2.DATA, 1).text()).isEqualTo("first");
      CompletableFuture<Void> silence = new CompletableFuture<>();
      small.vertx.setTimer(1_300, id -> silence.complete(null)); // longer than Stall.AFTER_NANOS
      silence.get(10, TimeUnit.SECONDS);
      small.upstream.behave(other -> other.respond("x".repeat(60_000)));
      unread.frame(RawHttp2.SETTINGS, 0, 0, noWindow);
      for (int stream = 1; stream < 11; stream += 2) {
        unread.get(stream, "/");
      }
      assertThat(unread.next(RawHttp2.RST_STREAM).errorCode()).isEqualTo(INTERNAL_ERROR);
      call.frame(Buffer.buffer("second"), false);
      assertThat(silent.next(RawHttp2.DATA, 1).text()).isEqualTo("second");
      assertThat(small.metric("berth_http_answers_stood_still_total")).isEqualTo(1);
      call.frame(Buffer.buffer("last"), true);
      assertThat(silent.next(RawHttp2.DATA, 1).text()).isEqualTo("last");
    }
    small.close();
  }

  // --- clients that leave ---

  @Test
  void aResetGivesUpItsRequestAndNoOther() throws Exception {
    RawHttp2 raw = rig.http2().get(1, "/").get(3, "/");
    Call first = upstream.nextCall();
    Call second = upstream.nextCall();
    raw.reset(1, CANCEL);
    assertThat(first.cancelledWithin(10)).isTrue();
    second.respond("second");
    assertThat(raw.next(RawHttp2.DATA, 3).text()).isEqualTo("second");
    assertThat(second.cancels).isEmpty();
    assertErrors(499, "GET", 1);
  }

  @Test
  void aResetMidStreamCancelsIt() throws Exception {
    RawHttp2 raw = rig.http2().get(1, "/");
    Call call = upstream.nextStream();
    call.frame(Buffer.buffer("half"), false);
    assertThat(raw.next(RawHttp2.DATA, 1).text()).isEqualTo("half");
    raw.reset(1, CANCEL);
    assertThat(call.cancelledWithin(10)).isTrue();
    assertErrors(499, "GET", 1);
  }

  @Test
  void aConnectionThatGoesCancelsAllItsRequests() throws Exception {
    RawHttp2 raw = new RawHttp2(rig.port());
    raw.get(1, "/").get(3, "/").post(5, "/");
    Call first = upstream.nextCall();
    Call second = upstream.nextCall();
    rig.eventually("three under way", () -> rig.ongoing() == 3);
    raw.close();
    assertThat(first.cancelledWithin(10)).isTrue();
    assertThat(second.cancelledWithin(10)).isTrue();
    rig.assertAtRest();
    rig.eventually("no connection", () -> rig.metric("berth_http_connections") == 0);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void clientsThatResetAtRandomMomentsLeaveNothing(long seed) throws Exception {
    upstream.behaveAtRandom(seed);
    Random random = new Random(-seed);
    for (int connection = 0; connection < 20; connection++) {
      try (RawHttp2 raw = new RawHttp2(rig.port())) {
        for (int stream = 1; stream < 2 * MAX_STREAMS; stream += 2) {
          if (random.nextBoolean()) {
            raw.get(stream, "/");
          } else {
            raw.post(stream, "/");
            if (random.nextBoolean()) {
              raw.frame(RawHttp2.DATA, random.nextInt(2), stream, new byte[4]);
            }
          }
          if (random.nextBoolean()) {
            raw.reset(1 + 2 * random.nextInt((stream + 1) / 2), CANCEL);
          }
        }
      }
    }
    rig.eventually("no connection", () -> rig.connections() == 0);
    rig.assertAtRest();
  }

  // --- limits ---

  @Test
  void aStreamOverTheLimitIsRefusedAndMayBeSentAgain() throws Exception {
    RawHttp2 raw = rig.http2();
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < MAX_STREAMS; i++) {
      raw.get(1 + 2 * i, "/");
      calls.add(upstream.nextCall());
    }
    int over = 1 + 2 * MAX_STREAMS;
    raw.get(over, "/");
    assertThat(raw.next(RawHttp2.RST_STREAM, over).errorCode()).isEqualTo(REFUSED_STREAM);
    calls.get(0).respond("room");
    raw.next(RawHttp2.DATA, 1);
    raw.get(over + 2, "/");
    upstream.nextCall().respond("now");
    assertThat(raw.next(RawHttp2.DATA, over + 2).text()).isEqualTo("now");
  }

  @ParameterizedTest
  @CsvSource({
    RawHttp2.SETTINGS + ", 0",
    RawHttp2.PING + ", 0",
    RawHttp2.PRIORITY + ", 0",
    RawHttp2.SETTINGS + ", " + ACK,
    RawHttp2.PING + ", " + ACK
  })
  void aFloodOfFramesThatAreNoRequestsClosesTheConnection(int type, int flags) throws Exception {
    byte[] payload = new byte[type == RawHttp2.SETTINGS ? 0 : type == RawHttp2.PING ? 8 : 5];
    int stream = type == RawHttp2.PRIORITY ? 1 : 0;
    try (RawHttp2 raw = new RawHttp2(rig.port())) { // which sends one
      for (int i = 1; i < MAX_CONTROL_FRAMES; i++) {
        raw.frame(type, flags, stream, payload);
      }
      upstream.behave(call -> call.respond("still here"));
      raw.get(3, "/");
      assertThat(raw.next(RawHttp2.DATA, 3).text()).isEqualTo("still here");
      raw.frame(type, flags, stream, payload).frame(type, flags, stream, payload);
      assertThat(raw.next(RawHttp2.GOAWAY).errorCode()).isEqualTo(ENHANCE_YOUR_CALM);
      raw.readToEnd();
    }
    assertThat(rig.metric("berth_http_floods_cut_total")).isEqualTo(1);
  }

  @Test
  void whoFloodsAgainAndAgainIsNotLetIn() throws Exception {
    try (IngressRig slow =
        new IngressRig(LIMITS.with(LimitOptions.ADDRESS_CONNECTION_RATE, 10)).route("/")) {
      int floods = 0;
      boolean refused = false;
      while (!refused && floods < 10) {
        try (RawHttp2 raw = new RawHttp2(slow.port())) {
          for (int i = 0; i <= MAX_RESETS; i++) {
            raw.get(1 + 2 * i, "/").reset(1 + 2 * i, CANCEL);
          }
          refused = raw.read() == null;
          floods++;
          raw.readToEnd();
        } catch (IOException cut) {
          refused = floods > 1 && slow.metric("berth_http_connections_over_rate_total") > 0;
          floods++;
        }
      }
      assertThat(refused).isTrue();
      assertThat(slow.metric("berth_http_connections_over_rate_total")).isPositive();
      slow.eventually("none is counted as open", () -> slow.connections() == 0);
    }
  }

  @Test
  void aFloodOfResetsClosesTheConnection() throws Exception {
    RawHttp2 raw = rig.http2();
    for (int i = 0; i <= MAX_RESETS; i++) {
      int stream = 1 + 2 * i;
      raw.get(stream, "/").reset(stream, CANCEL);
    }
    assertThat(raw.next(RawHttp2.GOAWAY).errorCode()).isEqualTo(ENHANCE_YOUR_CALM);
    raw.readToEnd();
    rig.assertAtRest();
    rig.eventually("no connection", () -> rig.metric("berth_http_connections") == 0);
  }

  @Test
  void aHeadOverItsLimitsIs414Or431() throws Exception {
    upstream.behave(call -> call.respond("ok"));
    Answer longUri = send(client, HttpMethod.GET, "/" + "x".repeat(5000));
    assertThat(longUri.head().statusCode()).isEqualTo(414);
    RawHttp2 raw = rig.http2();
    String long1 = "x".repeat(4500);
    raw.get(1, "/", "a", long1, "b", long1);
    byte[] head = raw.next(RawHttp2.HEADERS, 1).payload();
    assertThat(new String(head, StandardCharsets.ISO_8859_1)).contains("431");
    assertThat(raw.get(3, "/").next(RawHttp2.DATA, 3).text()).isEqualTo("ok");
  }

  @ParameterizedTest
  @ValueSource(ints = {8_200, 10_500, 16_500, 32_500, 40_000})
  void largeHeadEndsItsStreamAlone(int bytes) throws Exception {
    RawHttp2 raw = rig.http2().get(1, "/");
    Call neighbour = upstream.nextCall();
    raw.get(3, "/", "a", "x".repeat(bytes));
    byte[] head = raw.next(RawHttp2.HEADERS, 3).payload();
    assertThat(new String(head, StandardCharsets.ISO_8859_1)).contains("431");
    neighbour.respond("neighbour");
    assertThat(raw.next(RawHttp2.DATA, 1).text()).isEqualTo("neighbour");
    upstream.behave(call -> call.respond("ok"));
    assertThat(raw.get(5, "/").next(RawHttp2.DATA, 5).text()).isEqualTo("ok");
  }

  @ParameterizedTest
  @CsvSource({
    "G T, http, 'method: not a token (expected: GET, POST, ...)'",
    "'', http,",
    "G@T, http, 'method: not a token (expected: GET, POST, ...)'",
    "GET, ftp, 'scheme: unsupported (expected: http or https)'",
    "GET, '',",
    "GET, HTTPS, ok"
  })
  void malformedHeadEndsItsStreamAlone(String method, String scheme, String says) throws Exception {
    CompletableFuture<Call> neighbour = new CompletableFuture<>();
    upstream.behave(
        call -> {
          if (call.request().path().equals("/neighbour")) {
            neighbour.complete(call);
          } else {
            call.respond("ok");
          }
        });
    RawHttp2 raw = rig.http2().get(1, "/neighbour");
    String[] head = {":method", method, ":scheme", scheme, ":path", "/", ":authority", "test"};
    for (int stream = 3; stream < 9; stream += 2) {
      raw.headers(stream, true, head);
      if (says == null) {
        assertThat(raw.next(RawHttp2.RST_STREAM, stream).errorCode()).isEqualTo(PROTOCOL_ERROR);
      } else {
        assertThat(raw.next(RawHttp2.DATA, stream).text()).isEqualTo(says);
      }
    }
    neighbour.get(10, TimeUnit.SECONDS).respond("neighbour");
    assertThat(raw.next(RawHttp2.DATA, 1).text()).isEqualTo("neighbour");
  }

  @ParameterizedTest
  @ValueSource(strings = {"abc", "abcdef", "", "trailers"})
  void bodyOfAnotherLengthResetsItsStreamAlone(String body) throws Exception {
    upstream.streamRequests();
    RawHttp2 raw = rig.http2().get(1, "/");
    Call neighbour = upstream.nextCall();
    String[] head = {":method", "POST", ":scheme", "http", ":path", "/", "content-length", "5"};
    raw.headers(3, body.isEmpty(), head);
    if (body.equals("trailers")) {
      raw.headers(3, true, "x", "y");
    } else if (!body.isEmpty()) {
      raw.frame(RawHttp2.DATA, RawHttp2.END_STREAM, 3, body.getBytes(StandardCharsets.UTF_8));
    }
    assertThat(raw.next(RawHttp2.RST_STREAM, 3).errorCode()).isEqualTo(PROTOCOL_ERROR);
    neighbour.respond("neighbour");
    assertThat(raw.next(RawHttp2.DATA, 1).text()).isEqualTo("neighbour");
    rig.eventually("the other is given up", () -> rig.ongoing() == 0);
  }

  @Test
  void aHeadFarOverItsLimitsClosesTheConnection() throws Exception {
    RawHttp2 raw = rig.http2();
    raw.get(1, "/", "a", "x".repeat(48_000));
    assertThat(raw.next(RawHttp2.GOAWAY).errorCode()).isNotEqualTo(NO_ERROR);
    raw.readToEnd();
  }

  // --- connections ---

  @Test
  void aConnectionWithoutRequestsIsClosedAndABusyOneIsNot() throws Exception {
    hurry();
    RawHttp2 idle = rig.http2();
    RawHttp2 busy = rig.http2();
    busy.get(1, "/");
    Call call = upstream.nextCall();
    assertThat(idle.next(RawHttp2.GOAWAY).errorCode()).isEqualTo(NO_ERROR);
    idle.readToEnd();
    call.respond("late");
    assertThat(busy.next(RawHttp2.DATA, 1).text()).isEqualTo("late");
    assertThat(busy.next(RawHttp2.GOAWAY).errorCode())
        .as("after keep_alive_timeout_s")
        .isEqualTo(NO_ERROR);
  }

  @Test
  void aConnectionThatSendsNoMoreThanItsPrefaceIsClosed() throws Exception {
    hurry();
    RawClient raw = rig.raw().send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    raw.readToEnd();
    rig.eventually("no connection", () -> rig.connections() == 0);
  }

  @Test
  void aHeadThatIsBegunAndNotEndedClosesAConnectionWithoutOthers() throws Exception {
    hurry();
    RawHttp2 raw = rig.http2();
    raw.frame(RawHttp2.HEADERS, 0, 1, RawHttp2.block(":method", "GET")); // no END_HEADERS
    assertThat(raw.next(RawHttp2.GOAWAY).errorCode()).isEqualTo(NO_ERROR);
    raw.readToEnd();
    rig.eventually("no connection", () -> rig.connections() == 0);
  }

  @Test
  void drainingSaysGoAwayAndLetsTheRequestsUnderWayEnd() throws Exception {
    RawHttp2 raw = rig.http2().get(1, "/");
    Call first = upstream.nextCall();
    rig.ingress.drain();
    Frame goAway = raw.next(RawHttp2.GOAWAY);
    assertThat(goAway.errorCode()).isEqualTo(NO_ERROR);
    raw.get(3, "/"); // was under way to us
    Call second = upstream.nextCall();
    Future<Void> undeployed = rig.undeploy();
    first.respond("first");
    assertThat(raw.next(RawHttp2.DATA, 1).text()).isEqualTo("first");
    second.respond("second");
    assertThat(raw.next(RawHttp2.DATA, 3).text()).isEqualTo("second");
    raw.readToEnd();
    await(undeployed);
  }

  // --- helpers ---

  private Future<Buffer> bodyOf(String path) {
    return client
        .request(HttpMethod.GET, path)
        .compose(HttpClientRequest::send)
        .compose(HttpClientResponse::body);
  }

  private record Answer(HttpClientResponse head, Buffer body) {}

  private static Answer send(HttpClient client, HttpMethod method, String path) throws Exception {
    // One step on the client's loop: a body handler that is set from here, when the head has come,
    // may be set when the body has gone by.
    return await(
        client
            .request(method, path)
            .compose(
                request ->
                    request
                        .send()
                        .compose(head -> head.body().map(body -> new Answer(head, body)))));
  }

  private void assertErrors(int status, String method, int count) throws Exception {
    rig.eventually(status + " " + method, () -> rig.errors(status, method) == count);
  }

  private static <T extends Throwable> T failureOf(Future<?> future, Class<T> type)
      throws Exception {
    Throwable failure = await(future.transform(result -> Future.succeededFuture(result.cause())));
    assertThat(failure).isInstanceOf(type);
    return type.cast(failure);
  }
}
