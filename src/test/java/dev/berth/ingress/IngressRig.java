package dev.berth.ingress;

import dev.berth.config.Backpressure;
import dev.berth.config.Http2Limits;
import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import dev.berth.metrics.Meters;
import dev.berth.routing.slots.InstanceBounds;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One ingress on a free port before a {@link FakeUpstream}, and what a test looks at. */
final class IngressRig {
  static final int MAX_BODY = 64 << 10;
  static final Duration SHORT = Duration.ofSeconds(1);

  /** For those who wait until such a time is over; little more than one sweep. */
  static final Duration SHORTEST = Duration.ofMillis(300);

  private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

  final Vertx vertx =
      IngressTransport.preferred()
          .builder()
          .with(new VertxOptions().setEventLoopPoolSize(1))
          .build();
  private final HttpClient client = HttpClient.newHttpClient();
  private final Meters meters = new Meters("node-1", "127.0.0.1");
  final FakeUpstream upstream;
  final Ingress ingress;

  private final String deployment;

  /** Without routes: not ready. */
  IngressRig(@Nullable Duration requestTimeout) throws Exception {
    this(
        new HttpOptions("127.0.0.1", 0, requestTimeout, Duration.ofSeconds(10)),
        LimitOptions.defaults());
  }

  /** Without routes too. */
  IngressRig(HttpOptions http, LimitOptions limits) throws Exception {
    upstream =
        new FakeUpstream(
            vertx.getOrCreateContext(),
            new InstanceBounds(10_000, 64L << 20, limits.streamBytesTotal()));
    ingress = new Ingress(http, limits, meters, System::nanoTime, 0xbe27);
    ingress.explain(true, 0);
    deployment =
        await(
            vertx.deployVerticle(
                new IngressVerticle(ingress, upstream.loop(), 0, http.keepAliveTimeout())));
  }

  /** At {@code /}, with limits that are small where a test would wait or send too much. */
  static IngressRig tight(int maxConnections, Http2Limits http2) throws Exception {
    return tight(maxConnections, http2, SHORT);
  }

  /** And with this for every time that a client may stand still. */
  static IngressRig tight(int maxConnections, Http2Limits http2, Duration idle) throws Exception {
    HttpOptions http = new HttpOptions("127.0.0.1", 0, null, idle);
    long streamBytesTotal = LimitOptions.defaults().streamBytesTotal();
    return new IngressRig(
            http,
            tightLimits(
                maxConnections,
                http2,
                streamBytesTotal,
                idle,
                idle,
                LimitOptions.defaults().requestBytesTotal()))
        .route("/");
  }

  /** At {@code /}, with so little room for requests under way. */
  static IngressRig narrow(long requestBytesTotal) throws Exception {
    LimitOptions limits = LimitOptions.defaults();
    return new IngressRig(
            new HttpOptions("127.0.0.1", 0, null, Duration.ofSeconds(10)),
            tightLimits(
                100, limits.http2(), limits.streamBytesTotal(), SHORT, SHORT, requestBytesTotal))
        .route("/");
  }

  /** At {@code /}, for bodies of at least so many bytes a second. */
  static IngressRig brisk(int minBodyBytesPerSecond, Duration grace) throws Exception {
    LimitOptions limits = LimitOptions.defaults();
    return new IngressRig(
            new HttpOptions("127.0.0.1", 0, null, Duration.ofSeconds(60)),
            tightLimits(
                100,
                limits.http2(),
                limits.streamBytesTotal(),
                limits.streamIdleTimeout(),
                limits.idleTimeout(),
                limits.requestBytesTotal(),
                minBodyBytesPerSecond,
                grace))
        .route("/");
  }

  static LimitOptions tightLimits(int maxConnections, Http2Limits http2) {
    return tightLimits(maxConnections, http2, LimitOptions.defaults().streamBytesTotal(), SHORT);
  }

  static LimitOptions tightLimits(
      int maxConnections, Http2Limits http2, long streamBytesTotal, Duration streamIdle) {
    return tightLimits(
        maxConnections,
        http2,
        streamBytesTotal,
        streamIdle,
        SHORT,
        LimitOptions.defaults().requestBytesTotal());
  }

  private static LimitOptions tightLimits(
      int maxConnections,
      Http2Limits http2,
      long streamBytesTotal,
      Duration streamIdle,
      Duration idle,
      long requestBytesTotal) {
    LimitOptions defaults = LimitOptions.defaults();
    return tightLimits(
        maxConnections,
        http2,
        streamBytesTotal,
        streamIdle,
        idle,
        requestBytesTotal,
        defaults.minBodyBytesPerSecond(),
        defaults.bodyRateGrace());
  }

  private static LimitOptions tightLimits(
      int maxConnections,
      Http2Limits http2,
      long streamBytesTotal,
      Duration streamIdle,
      Duration idle,
      long requestBytesTotal,
      int minBodyBytesPerSecond,
      Duration bodyRateGrace) {
    LimitOptions defaults = LimitOptions.defaults();
    return new LimitOptions(
        defaults.maxQueuedTotal(),
        defaults.maxQueuedBytes(),
        MAX_BODY,
        defaults.bufferedBodyBytesTotal(),
        defaults.maxHeaderBytes(),
        defaults.maxUriBytes(),
        idle,
        minBodyBytesPerSecond,
        bodyRateGrace,
        idle,
        maxConnections,
        requestBytesTotal,
        defaults.pendingRequestsPerLoop(),
        defaults.maxReservationTtl(),
        defaults.maxReservationLegs(),
        defaults.streamWindowBytes(),
        streamBytesTotal,
        streamIdle,
        http2);
  }

  int port() {
    return ingress.port();
  }

  /** Stops listening, as an instance does that drains. */
  Future<Void> undeploy() {
    return vertx.undeploy(deployment);
  }

  IngressRig route(String prefix) {
    ingress.update(
        RouteTable.of(
            "",
            Map.of(
                prefix,
                new IngressRoute("app", upstream.router(), Backpressure.defaults(), null))));
    return this;
  }

  HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + ingress.port() + path))
        .version(HttpClient.Version.HTTP_1_1);
  }

  CompletableFuture<HttpResponse<String>> send(HttpRequest.Builder request) {
    return client.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  HttpResponse<String> get(String path) throws Exception {
    return send(request(path)).get(10, TimeUnit.SECONDS);
  }

  /** How many requests to {@code /} ended with a status. */
  double answered(int status) {
    return metric(
        "serve_num_http_requests_total{application=\"app\",method=\"GET\",route=\"/\","
            + "status_code=\""
            + status
            + "\"}");
  }

  long heldBytes() {
    return upstream.loop().streams().bytes();
  }

  /** What the requests under way are charged for. */
  double requestBytes() {
    return metric("berth_http_request_bytes");
  }

  double connections() {
    return metric("berth_http_connections");
  }

  double metric(String series) {
    return meters
        .scrape(PROMETHEUS)
        .lines()
        .filter(line -> line.startsWith(series + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .findFirst()
        .orElse(0);
  }

  /** Nothing runs, waits or is remembered. */
  void assertAtRest() throws Exception {
    eventually("no request under way", () -> ongoing() == 0);
    eventually("no slot in use", () -> upstream.router().counters().running() == 0);
    eventually("no room taken", () -> requestBytes() == 0);
    eventually("none for answers", () -> metric("berth_http_large_answer_bytes") == 0);
    eventually("nothing pending", () -> upstream.loop().pendingRequests() == 0);
  }

  double ongoing() {
    return metric(
        "serve_num_ongoing_http_requests{node_id=\"node-1\",node_ip_address=\"127.0.0.1\"}");
  }

  /** Looks again every few milliseconds, on a timer, until it is so or 10 s are over. */
  void eventually(String what, Supplier<Boolean> condition) throws Exception {
    CompletableFuture<Void> met = new CompletableFuture<>();
    long timer =
        vertx.setPeriodic(
            5,
            id -> {
              if (condition.get()) {
                met.complete(null);
              }
            });
    try {
      met.get(10, TimeUnit.SECONDS);
    } catch (TimeoutException late) {
      throw new AssertionError("not within 10 s: " + what, late);
    } finally {
      vertx.cancelTimer(timer);
    }
  }

  void close() throws Exception {
    await(vertx.close());
  }

  static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }
}
