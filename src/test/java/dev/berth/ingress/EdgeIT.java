package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Headers;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.Backpressure;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.ingress.edge.EdgeRules;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compressed responses, decoded requests, CORS and response headers, over real sockets. */
class EdgeIT {
  private static final String TEXT = "a line of a text, and another\n".repeat(100);
  private static final Map<String, Object> COMPRESSION = Map.of("compression", Map.of());
  private static final Map<String, Object> CORS =
      Map.of("cors", Map.of("origins", List.of("https://app.example"), "credentials", true));

  @AutoClose private IngressRig rig = new IngressRig(IngressRig.LOCAL);
  private FakeUpstream upstream = rig.upstream;

  EdgeIT() throws Exception {}

  private void start(Settings settings, Map<String, ?> rules) throws Exception {
    rig.close();
    rig = new IngressRig(settings);
    upstream = rig.upstream;
    route(rules);
  }

  private void route(Map<String, ?> rules) {
    IngressRoute plain =
        new IngressRoute("app", upstream.router(), Backpressure.DEFAULTS, null)
            .withEdge(EdgeRules.of(ApplicationConfig.routeSettingsFromMap(rules)));
    rig.ingress.update(RouteTable.of("", Map.of("/", plain)));
  }

  private HttpResponse<byte[]> bytes(HttpRequest.Builder request) throws Exception {
    return rig.client
        .sendAsync(request.build(), HttpResponse.BodyHandlers.ofByteArray())
        .get(10, TimeUnit.SECONDS);
  }

  private static byte[] unzipped(byte[] body) throws IOException {
    return new GZIPInputStream(new ByteArrayInputStream(body)).readAllBytes();
  }

  private static byte[] zipped(byte[] body) throws IOException {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(to)) {
      out.write(body);
    }
    return to.toByteArray();
  }

  private static String header(HttpResponse<?> response, String name) {
    return String.join("|", response.headers().allValues(name));
  }

  private HttpClient http2() {
    return rig.vertx.createHttpClient(
        new HttpClientOptions()
            .setProtocolVersion(HttpVersion.HTTP_2)
            .setHttp2ClearTextUpgrade(false)
            .setDefaultPort(rig.port())
            .setDefaultHost("127.0.0.1"));
  }

  // --- compression ---

  @ParameterizedTest
  @ValueSource(ints = {1, 200})
  void wholeResponseIsCompressedAndHasItsLength(int times) throws Exception {
    route(COMPRESSION);
    String text = TEXT.repeat(times); // 200: too large for the event loop
    upstream.behave(
        call ->
            call.respond(
                200,
                Headers.of("Content-Type", "Text/Plain; charset=utf-8", "ETag", "\"1\""),
                Buffer.buffer(text)));
    HttpResponse<byte[]> response = bytes(rig.request("/").header("accept-encoding", "gzip"));
    assertThat(header(response, "content-encoding")).isEqualTo("gzip");
    assertThat(header(response, "vary")).isEqualTo("Accept-Encoding");
    assertThat(header(response, "etag")).isEqualTo("W/\"1\"");
    assertThat(header(response, "content-length")).isEqualTo("" + response.body().length);
    assertThat(response.body()).hasSizeLessThan(text.length() / 10);
    assertThat(unzipped(response.body())).asString().isEqualTo(text);
    HttpResponse<String> plain = rig.get("/");
    assertThat(plain.body()).isEqualTo(text);
    assertThat(header(plain, "vary")).isEqualTo("Accept-Encoding");
    assertThat(header(plain, "etag")).isEqualTo("\"1\"");
  }

  @Test
  void largeResponseWithoutAThreadEndsInTime() throws Exception {
    Duration timeout = Duration.ofMillis(300);
    start(IngressRig.LOCAL.with(HttpOptions.REQUEST_TIMEOUT_S, timeout), COMPRESSION);
    BlockingQueue<Runnable> waiting = new LinkedBlockingQueue<>();
    upstream.threads = waiting::add;
    upstream.behave(EdgeIT::respondLarge);
    assertThat(bytes(rig.request("/").header("accept-encoding", "gzip")).statusCode())
        .isEqualTo(408);
    rig.assertAtRest();
    Objects.requireNonNull(waiting.poll()).run(); // too late, and harmless
    upstream.threads =
        task -> {
          throw new RejectedExecutionException();
        };
    HttpResponse<byte[]> refused = bytes(rig.request("/").header("accept-encoding", "gzip"));
    assertThat(refused.statusCode()).isEqualTo(500);
    assertThat(header(refused, "content-encoding")).isEmpty();
    rig.assertAtRest();
  }

  @Test
  void clientThatLeavesEndsAResponseBeforeItsCompression() throws Exception {
    route(COMPRESSION);
    BlockingQueue<Runnable> waiting = new LinkedBlockingQueue<>();
    upstream.threads = waiting::add;
    upstream.behave(EdgeIT::respondLarge);
    RawClient client = rig.raw().get("/", "Accept-Encoding: gzip");
    Runnable compression = waiting.poll(10, TimeUnit.SECONDS);
    assertThat(rig.metric("berth_http_large_answer_bytes")).isGreaterThan(64 << 10);
    client.close();
    rig.assertAtRest();
    assertThat(compression).isNotNull();
    compression.run();
    rig.assertAtRest();
  }

  private static void respondLarge(Call call) {
    call.respond(200, Headers.of("content-type", "text/plain"), Buffer.buffer(TEXT.repeat(200)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "content-type | image/png",
        "content-type | text/event-stream",
        "content-encoding | br",
        "content-range | bytes 0-9/10",
        "cache-control | private, No-Transform",
        "x | no type",
      })
  void responseThatMustNotChangeIsSentAsItIs(String name, String value) throws Exception {
    route(COMPRESSION);
    upstream.behave(
        call ->
            call.respond(
                200,
                name.equals("content-type") || name.equals("x")
                    ? Headers.of(name, value)
                    : Headers.of("content-type", "text/plain", name, value),
                Buffer.buffer(TEXT)));
    HttpResponse<String> response = rig.answer(rig.request("/").header("accept-encoding", "gzip"));
    assertThat(response.body()).isEqualTo(TEXT);
    assertThat(header(response, "content-encoding")).isEqualTo(value.equals("br") ? "br" : "");
    assertThat(header(response, "vary")).isEmpty();
  }

  @Test
  void smallHeadAndEmptyResponsesAreNotCompressed() throws Exception {
    route(COMPRESSION);
    upstream.behave(
        call ->
            call.respond(
                call.request().path().equals("/304") ? 304 : 200,
                Headers.of("content-type", "text/plain"),
                Buffer.buffer(call.request().path().equals("/small") ? "small" : TEXT)));
    assertThat(rig.answer(rig.request("/small").header("accept-encoding", "gzip")).body())
        .isEqualTo("small");
    String head = rig.raw().head("/", "Accept-Encoding: gzip").readHead();
    assertThat(head)
        .containsIgnoringCase("vary: accept-encoding")
        .containsIgnoringCase("content-length: " + TEXT.length())
        .doesNotContainIgnoringCase("content-encoding");
    String unchanged = rig.raw().get("/304", "Accept-Encoding: gzip").readHead();
    assertThat(unchanged).startsWith("HTTP/1.1 304").doesNotContainIgnoringCase("content-enc");
    String old = rig.told("GET / HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
    assertThat(old).endsWith(TEXT);
  }

  @ParameterizedTest
  @EnumSource(
      value = HttpVersion.class,
      names = {"HTTP_1_1", "HTTP_2"})
  void eachEventOfACompressedStreamArrivesAtOnce(HttpVersion version) throws Exception {
    route(Map.of("compression", Map.of("types", List.of("text/event-stream"))));
    try (var client = closing(version)) {
      HttpClientResponse response = stream(client.client, "deflate");
      Inflater inflater = new Inflater();
      for (int i = 0; i < 5; i++) {
        client.call.frame(Buffer.buffer("data: " + i + "\n\n"), false);
        assertThat(inflated(inflater, client.pieces.poll(10, TimeUnit.SECONDS)))
            .isEqualTo("data: " + i + "\n\n"); // before the next one is sent
      }
      client.call.frame(Buffer.buffer("bye"), true);
      assertThat(inflated(inflater, client.pieces.poll(10, TimeUnit.SECONDS))).isEqualTo("bye");
      IngressRig.await(response.end());
      assertThat(inflater.finished()).isTrue();
      inflater.end();
      assertThat(response.getHeader("content-encoding")).isEqualTo("deflate");
      assertThat(response.getHeader("content-length")).isNull();
    }
    assertThat(rig.metric("berth_http_compressed_streams")).isZero();
  }

  private static final class StreamClient implements Closeable {
    final HttpClient client;
    final BlockingQueue<Buffer> pieces = new LinkedBlockingQueue<>();
    Call call;

    StreamClient(HttpClient client) {
      this.client = client;
    }

    @Override
    public void close() {
      client.close().toCompletionStage().toCompletableFuture().join();
    }
  }

  private StreamClient current;

  private StreamClient closing(HttpVersion version) {
    current =
        new StreamClient(
            version == HttpVersion.HTTP_2
                ? http2()
                : rig.vertx.createHttpClient(
                    new HttpClientOptions()
                        .setDefaultPort(rig.port())
                        .setDefaultHost("127.0.0.1")));
    return current;
  }

  private HttpClientResponse stream(HttpClient client, String coding) throws Exception {
    StreamClient mine = current;
    var answer =
        client
            .request(HttpMethod.GET, "/")
            .map(request -> request.putHeader("accept-encoding", coding))
            .compose(HttpClientRequest::send)
            .onSuccess(response -> response.handler(mine.pieces::add));
    mine.call = upstream.nextCall();
    mine.call.startStream(200, Headers.of("content-type", "text/event-stream"));
    return IngressRig.await(answer);
  }

  private static String inflated(Inflater inflater, Buffer piece) throws Exception {
    assertThat(piece).as("a piece within 10 s").isNotNull();
    inflater.setInput(piece.getBytes());
    byte[] to = new byte[1000];
    return new String(to, 0, inflater.inflate(to));
  }

  @Test
  void streamBeyondTheLimitOrOfAnotherTypeIsNotCompressed() throws Exception {
    start(IngressRig.LOCAL.with(LimitOptions.COMPRESSED_STREAMS, 1), COMPRESSION);
    RawClient first = rig.raw().get("/", "Accept-Encoding: gzip");
    Call call = upstream.nextCall();
    call.startStream(200, Headers.of("content-type", "text/plain"));
    call.frame(Buffer.buffer("x"), false);
    assertThat(first.readHead()).containsIgnoringCase("content-encoding: gzip");
    assertThat(rig.metric("berth_http_compressed_streams")).isEqualTo(1);
    RawClient second = rig.raw().get("/", "Accept-Encoding: gzip");
    Call other = upstream.nextCall();
    other.startStream(200, Headers.of("content-type", "text/plain"));
    other.frame(Buffer.buffer("plain"), true);
    assertThat(second.readUntil("plain")).doesNotContainIgnoringCase("content-encoding");
    first.close();
    rig.eventually("freed", () -> rig.metric("berth_http_compressed_streams") == 0);
    upstream.behave(
        next -> {
          next.startStream(200, Headers.of("content-type", "text/event-stream"));
          next.frame(Buffer.buffer("data: 1\n\n"), true);
        });
    HttpResponse<String> events = rig.answer(rig.request("/").header("accept-encoding", "gzip"));
    assertThat(events.body()).isEqualTo("data: 1\n\n");
  }

  @Test
  void slowReaderOfACompressedStreamHoldsBackItsWriter() throws Exception {
    route(COMPRESSION);
    RawClient slow = rig.raw().get("/", "Accept-Encoding: gzip");
    Call call = upstream.nextCall();
    call.startStream(200, Headers.of("content-type", "text/plain"));
    byte[] noise = new byte[16 << 10];
    java.util.Random random = new java.util.Random(1);
    long sent = 0;
    for (Integer more = 0; more != null; more = call.credits.poll(1, TimeUnit.SECONDS)) {
      for (; sent + noise.length <= call.credited(); sent += noise.length) {
        random.nextBytes(noise); // does not get smaller
        call.frame(Buffer.buffer(noise), false);
      }
    }
    long window = IngressRig.LOCAL.get(LimitOptions.STREAM_WINDOW_BYTES);
    assertThat(sent).isLessThan(64 * window); // sockets of this machine take some MiB
    assertThat(rig.heldBytes()).isLessThanOrEqualTo(window + noise.length);
    slow.close();
  }

  // --- decoded requests ---

  @ParameterizedTest
  @ValueSource(ints = {0, 10, 3_000, 300_000})
  void encodedBodyIsDecoded(int length) throws Exception {
    route(Map.of("decode_requests", true));
    upstream.behave(
        call ->
            call.respond(
                call.request().headers().get("content-encoding")
                    + " "
                    + call.request().bytes().toString()));
    String text = TEXT.repeat(100).substring(0, length);
    for (HttpRequest.BodyPublisher body :
        List.of(
            HttpRequest.BodyPublishers.ofByteArray(zipped(text.getBytes())),
            HttpRequest.BodyPublishers.fromPublisher(
                HttpRequest.BodyPublishers.ofByteArray(zipped(text.getBytes()))))) {
      HttpResponse<String> response =
          rig.answer(rig.request("/").header("content-encoding", "gzip").POST(body));
      assertThat(response.body()).isEqualTo("null " + text);
    }
    Buffer answer =
        IngressRig.await(
            http2()
                .request(HttpMethod.POST, "/")
                .map(request -> request.putHeader("content-encoding", "gzip"))
                .compose(request -> request.send(Buffer.buffer(zip(text))))
                .compose(HttpClientResponse::body));
    assertThat(answer).hasToString("null " + text);
  }

  private static byte[] zip(String text) {
    try {
      return zipped(text.getBytes());
    } catch (IOException impossible) {
      throw new AssertionError(impossible);
    }
  }

  @Test
  void encodedBodyPassesAsItCameWithoutTheKey() throws Exception {
    route(COMPRESSION);
    upstream.behave(
        call ->
            call.respond(
                call.request().headers().get("content-encoding")
                    + call.request().bytes().length()));
    byte[] body = zipped(TEXT.getBytes());
    HttpResponse<String> response =
        rig.answer(
            rig.request("/")
                .header("content-encoding", "gzip")
                .POST(HttpRequest.BodyPublishers.ofByteArray(body)));
    assertThat(response.body()).isEqualTo("gzip" + body.length);
  }

  @Test
  void badBodiesAreRefused() throws Exception {
    start(
        IngressRig.LOCAL.with(LimitOptions.MAX_BODY_BYTES, 2L << 20),
        Map.of("decode_requests", true));
    upstream.behave(call -> call.respond("" + call.request().bytes().length()));
    HttpResponse<byte[]> unknown =
        bytes(
            rig.request("/")
                .header("content-encoding", "br")
                .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[10])));
    assertThat(unknown.statusCode()).isEqualTo(415);
    assertThat(header(unknown, "accept-encoding")).isEqualTo("gzip, deflate");
    assertThat(status("gzip, gzip", new byte[10])).isEqualTo(415);
    assertThat(status("gzip", "not gzip at all".getBytes())).isEqualTo(400);
    Buffer empty = Buffer.buffer();
    for (int i = 0; i < 5000; i++) {
      empty.appendBytes(zipped(new byte[0]));
    }
    assertThat(status("gzip", empty.getBytes())).isEqualTo(400);
    byte[] cut = zipped(TEXT.getBytes());
    assertThat(status("gzip", Arrays.copyOf(cut, cut.length - 3))).isEqualTo(400);
    assertThat(status("gzip", zipped(new byte[1 << 20]))).isEqualTo(200);
    assertThat(status("gzip", zipped(new byte[3 << 20]))).isEqualTo(413);
    assertThat(status("gzip", zipped(new byte[200 << 20]))).isEqualTo(413);
    byte[] noise = new byte[1 << 20];
    new java.util.Random(1).nextBytes(noise);
    assertThat(status("identity", noise)).isEqualTo(200);
    assertThat(status("gzip", zipped(noise))).isEqualTo(200);
  }

  private int status(String coding, byte[] body) throws Exception {
    return bytes(
            rig.request("/")
                .header("content-encoding", coding)
                .POST(HttpRequest.BodyPublishers.ofByteArray(body)))
        .statusCode();
  }

  @Test
  void decodedBodyWaitsForItsReader() throws Exception {
    route(Map.of("decode_requests", true));
    upstream.streamRequests();
    byte[] body = new byte[8 << 20];
    new java.util.Random(3).nextBytes(body);
    for (int i = 0; i < body.length; i++) {
      body[i] = body[i / 64 * 64]; // about 1 : 40
    }
    var answer =
        rig.send(
            rig.request("/")
                .header("content-encoding", "gzip")
                .POST(HttpRequest.BodyPublishers.ofByteArray(zipped(body))));
    Call call = upstream.nextCall();
    Buffer all = Buffer.buffer().appendBuffer(call.request().bytes());
    rig.eventually("gathered", () -> rig.bodies.inUse() > 0);
    assertThat(rig.bodies.inUse()).isLessThanOrEqualTo(256 << 10);
    call.credit(1L << 40);
    for (boolean last = false; !last; ) {
      var frame = call.nextFrame();
      all.appendBuffer(frame.data());
      last = frame.last();
    }
    assertThat(all.getBytes()).isEqualTo(body);
    call.respond("done");
    assertThat(answer.get(10, TimeUnit.SECONDS).body()).isEqualTo("done");
  }

  // --- CORS and headers ---

  @Test
  void preflightTakesNoSlotWhileAllAreTaken() throws Exception {
    route(CORS);
    List<RawClient> waiting = new java.util.ArrayList<>();
    for (int i = 0; i < 3; i++) {
      waiting.add(rig.raw().get("/")); // never answered
      upstream.nextCall();
    }
    String preflight =
        rig.told(
            "OPTIONS /any HTTP/1.1\r\nHost: t\r\nConnection: close\r\nOrigin: https://app.example"
                + "\r\nAccess-Control-Request-Method: PUT\r\n\r\n");
    assertThat(preflight)
        .startsWith("HTTP/1.1 204")
        .containsIgnoringCase("access-control-allow-origin: https://app.example\r\n")
        .containsIgnoringCase("access-control-allow-methods: GET, HEAD, POST\r\n")
        .containsIgnoringCase("access-control-allow-headers: content-type\r\n")
        .containsIgnoringCase("access-control-allow-credentials: true\r\n")
        .containsIgnoringCase("access-control-max-age: 600\r\n")
        .containsIgnoringCase("vary: Origin\r\n");
    assertThat(upstream.router().counters.running()).isEqualTo(3);
    String refused =
        rig.told(
            "OPTIONS / HTTP/1.1\r\nHost: t\r\nConnection: close\r\nOrigin: https://evil.example"
                + "\r\nAccess-Control-Request-Method: GET\r\n\r\n");
    assertThat(refused)
        .startsWith("HTTP/1.1 403")
        .doesNotContainIgnoringCase("access-control-allow")
        .containsIgnoringCase("vary: Origin\r\n");
    for (RawClient each : waiting) {
      each.close();
    }
  }

  @Test
  void responsesAndFailuresHaveTheHeadersOfCors() throws Exception {
    route(CORS);
    upstream.behave(
        call -> {
          if (call.request().path().equals("/fail")) {
            call.fail(dev.berth.api.BerthException.Kind.HANDLER_FAILED, "no");
          } else {
            call.respond(
                200,
                Headers.of("access-control-allow-origin", "*", "vary", "Accept"),
                Buffer.buffer(call.request().method()));
          }
        });
    HttpResponse<String> response = rig.answer(from("/", "https://app.example"));
    assertThat(header(response, "access-control-allow-origin")).isEqualTo("https://app.example");
    assertThat(header(response, "access-control-expose-headers")).isEqualTo("x-request-id");
    assertThat(header(response, "vary")).isEqualTo("Accept|Origin");
    HttpResponse<String> failed = rig.answer(from("/fail", "https://app.example"));
    assertThat(failed.statusCode()).isEqualTo(500);
    assertThat(header(failed, "access-control-allow-origin")).isEqualTo("https://app.example");
    HttpResponse<String> other = rig.answer(from("/", "https://app.example.evil"));
    assertThat(header(other, "access-control-allow-origin")).isEmpty();
    assertThat(header(other, "access-control-allow-credentials")).isEmpty();
    HttpResponse<String> plain =
        rig.answer(rig.request("/").method("OPTIONS", HttpRequest.BodyPublishers.noBody()));
    assertThat(plain.body()).isEqualTo("OPTIONS"); // no preflight: the handler's
    assertThat(header(plain, "vary")).isEqualTo("Accept|Origin");
    route(Map.of("cors", Map.of("origins", List.of("*"))));
    HttpResponse<String> any = rig.answer(from("/", "null"));
    assertThat(header(any, "access-control-allow-origin")).isEqualTo("*");
    assertThat(header(any, "vary")).isEqualTo("Accept");
  }

  private HttpRequest.Builder from(String path, String origin) {
    return rig.request(path).header("origin", origin);
  }

  @Test
  void configuredHeadersAreAddedUnlessPresent() throws Exception {
    start(
        IngressRig.LOCAL.with(
            InstanceOptions.RESPONSE_HEADERS,
            Map.of("X-Frame-Options", "DENY", "x-a", "instance", "x-b", "instance")),
        Map.of("response_headers", Map.of("x-a", "application", "x-c", "application")));
    upstream.behave(call -> call.respond(200, Headers.of("x-c", "own"), Buffer.buffer("hello")));
    HttpResponse<String> response = rig.get("/");
    assertThat(header(response, "x-frame-options")).isEqualTo("DENY");
    assertThat(header(response, "x-a")).isEqualTo("application");
    assertThat(header(response, "x-b")).isEqualTo("instance");
    assertThat(header(response, "x-c")).isEqualTo("own");
    assertThat(header(rig.get("/-/nothing"), "x-a")).isEqualTo("instance");
  }
}
