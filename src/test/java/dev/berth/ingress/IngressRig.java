package dev.berth.ingress;

import static java.util.concurrent.TimeUnit.SECONDS;

import dev.berth.config.Backpressure;
import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.Meters;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.slots.InstanceQueueLimits;
import dev.berth.stream.CountingLimit;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.io.Closeable;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One ingress on a free port before a {@link FakeUpstream}, and what a test looks at. */
final class IngressRig implements AutoCloseable {
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
  final HttpClient client = HttpClient.newHttpClient();
  private final Meters meters = new Meters("node-1", "127.0.0.1", "", false);
  final FakeUpstream upstream;
  final Ingress ingress;
  final CountingLimit bodies;

  private final String deployment;
  private final List<Closeable> clients = new ArrayList<>();

  /** On a free port of this machine. */
  static final Settings LOCAL =
      ServeConfig.DEFAULTS
          .with(HttpOptions.HOST, "127.0.0.1")
          .with(HttpOptions.PORT, 0)
          .with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, Duration.ofSeconds(10));

  /** Without routes: not ready. */
  IngressRig(@Nullable Duration requestTimeout) throws Exception {
    this(LOCAL.with(HttpOptions.REQUEST_TIMEOUT_S, requestTimeout));
  }

  /** Without routes too. */
  IngressRig(Settings settings) throws Exception {
    this(settings, made -> {});
  }

  /**
   * Without routes too.
   *
   * @param first is done with the ingress before its loop starts
   */
  IngressRig(Settings settings, Consumer<Ingress> first) throws Exception {
    upstream =
        new FakeUpstream(
            vertx.getOrCreateContext(),
            new InstanceQueueLimits(
                10_000, 64L << 20, settings.get(LimitOptions.STREAM_BYTES_TOTAL)));
    ingress = new Ingress(settings, meters, System::nanoTime, 0xbe27);
    bodies = new CountingLimit(settings.get(LimitOptions.BUFFERED_BODY_BYTES_TOTAL));
    ingress.gatherWithin(bodies);
    first.accept(ingress);
    deployment =
        await(
            vertx.deployVerticle(
                new IngressVerticle(
                    ingress, upstream.loop(), 0, settings.get(HttpOptions.KEEP_ALIVE_TIMEOUT_S))));
  }

  /** At {@code /}, with limits that are small where a test would wait or send too much. */
  static IngressRig tight(int maxConnections, Settings base) throws Exception {
    return tight(maxConnections, base, SHORT);
  }

  /** And with this for every time that a client may stand still. */
  static IngressRig tight(int maxConnections, Settings base, Duration idle) throws Exception {
    return new IngressRig(
            limits(maxConnections, base, idle).with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, idle))
        .route("/");
  }

  /** At {@code /}, with so little room for requests under way. */
  static IngressRig narrow(long requestBytesTotal) throws Exception {
    return narrow(requestBytesTotal, SHORT);
  }

  /** And with this for every time that a client may stand still. */
  static IngressRig narrow(long requestBytesTotal, Duration idle) throws Exception {
    return new IngressRig(
            limits(100, LOCAL, idle).with(LimitOptions.REQUEST_BYTES_TOTAL, requestBytesTotal))
        .route("/");
  }

  /** At {@code /}, for bodies of at least so many bytes a second. */
  static IngressRig brisk(int minBodyBytesPerSecond, Duration grace) throws Exception {
    return new IngressRig(
            limits(100, LOCAL, LOCAL.get(LimitOptions.IDLE_TIMEOUT_S))
                .with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, Duration.ofSeconds(60))
                .with(LimitOptions.MIN_BODY_BYTES_PER_S, minBodyBytesPerSecond)
                .with(LimitOptions.BODY_RATE_GRACE_S, grace))
        .route("/");
  }

  /** With this for every time that a client may stand still within a request. */
  static Settings limits(int maxConnections, Settings base, Duration idle) {
    return base.with(LimitOptions.MAX_BODY_BYTES, (long) MAX_BODY)
        .with(LimitOptions.MAX_CONNECTIONS, maxConnections)
        .with(LimitOptions.IDLE_TIMEOUT_S, idle)
        .with(LimitOptions.HEADER_READ_TIMEOUT_S, idle)
        .with(LimitOptions.STREAM_IDLE_TIMEOUT_S, idle);
  }

  int port() {
    return ingress.port();
  }

  /** Stops listening, as an instance does that drains. */
  Future<Void> undeploy() {
    return vertx.undeploy(deployment);
  }

  IngressRig route(String prefix) {
    return route(prefix, Backpressure.DEFAULTS);
  }

  IngressRig route(String prefix, Settings backpressure) {
    return route(prefix, upstream.router(), backpressure);
  }

  IngressRig route(String prefix, DeploymentRouter to, Settings backpressure) {
    ingress.update(
        RouteTable.of("", Map.of(prefix, new IngressRoute("app", to, backpressure, null))));
    return this;
  }

  /** A connection that is closed before the server is, where its test does not. */
  RawClient raw() throws IOException {
    RawClient raw = new RawClient(port());
    clients.add(raw);
    return raw;
  }

  RawHttp2 http2() throws IOException {
    RawHttp2 raw = new RawHttp2(port());
    clients.add(raw);
    return raw;
  }

  /** All that a connection of its own is told before it is closed. */
  String told(String sent) throws IOException {
    try (RawClient raw = new RawClient(port())) {
      return raw.send(sent).readToEnd();
    }
  }

  HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + ingress.port() + path))
        .version(HttpClient.Version.HTTP_1_1);
  }

  CompletableFuture<HttpResponse<String>> send(HttpRequest.Builder request) {
    return client.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  HttpResponse<String> answer(HttpRequest.Builder request) throws Exception {
    return send(request).get(10, SECONDS);
  }

  HttpResponse<String> get(String path) throws Exception {
    return answer(request(path));
  }

  /** A status and a body. */
  static String said(HttpResponse<String> response) {
    return response.statusCode() + " " + response.body();
  }

  /** How many requests to {@code /} ended with a status. */
  double answered(int status) {
    return metric(
        "serve_num_http_requests_total{application=\"app\",method=\"GET\",route=\"/\","
            + "status_code=\""
            + status
            + "\"}");
  }

  /** How many requests to {@code /} failed with a status. */
  double errors(int status, String method) {
    return metric(
        "serve_num_http_error_requests_total{application=\"app\",error_code=\""
            + status
            + "\",method=\""
            + method
            + "\",route=\"/\"}");
  }

  long heldBytes() {
    return upstream.loop().streams.bytes();
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

  /** Once its clients have gone nothing runs, waits or is remembered. */
  void assertAtRest() throws IOException {
    closeClients();
    eventually("no request under way", () -> ongoing() == 0);
    eventually("no slot in use", () -> upstream.router().counters.running() == 0);
    eventually("no room taken", () -> requestBytes() == 0);
    eventually("none for answers", () -> metric("berth_http_large_answer_bytes") == 0);
    eventually("nor wanted", () -> metric("berth_http_large_answer_bytes_waiting") == 0);
    eventually("no body gathered", () -> bodies.inUse() == 0);
    eventually("nothing pending", () -> upstream.loop().pendingRequests() == 0);
  }

  double ongoing() {
    return metric(
        "serve_num_ongoing_http_requests{node_id=\"node-1\",node_ip_address=\"127.0.0.1\"}");
  }

  /** Looks again every few milliseconds, on a timer, until it is so or 10 s are over. */
  void eventually(String what, Supplier<Boolean> condition) {
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
      met.orTimeout(10, SECONDS).join();
    } catch (CompletionException late) {
      throw new AssertionError("not within 10 s: " + what, late);
    } finally {
      vertx.cancelTimer(timer);
    }
  }

  private void closeClients() throws IOException {
    for (Closeable client : clients) {
      client.close();
    }
  }

  /** And nothing is left of its requests. */
  @Override
  public void close() throws IOException {
    try {
      assertAtRest();
    } finally {
      vertx.close().toCompletionStage().toCompletableFuture().orTimeout(10, SECONDS).join();
    }
  }

  static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, SECONDS);
  }
}
