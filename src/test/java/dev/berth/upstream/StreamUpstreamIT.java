package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.ingress.Certificates;
import dev.berth.node.TestNode;
import dev.berth.upstream.UpstreamRig.ClientSocket;
import io.netty.pkitesting.X509Bundle;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.net.PemKeyCertOptions;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An instance in front of HTTP/2 upstreams of Vert.x. */
@Timeout(120)
class StreamUpstreamIT {
  private static final int CLIENTS = 100;
  private static final int MAX = 8;

  @TempDir private Path folder;
  private final Vertx vertx = Vertx.vertx();
  private final AtomicInteger ongoing = new AtomicInteger();
  private final AtomicInteger highest = new AtomicInteger();
  private final AtomicInteger connections = new AtomicInteger();
  private final Queue<String> versions = new ConcurrentLinkedQueue<>();
  private UpstreamRig rig;

  @AfterEach
  void everySlotIsReturned() throws Exception {
    try (UpstreamRig instance = rig) {
      TestNode.until(() -> ongoing.get() == 0, () -> "no request: " + ongoing);
      instance.assertAtRest();
    } finally {
      TestNode.await(vertx.close());
    }
  }

  private HttpServer listen(HttpServerOptions options) throws Exception {
    return TestNode.await(
        vertx
            .createHttpServer(options)
            .connectionHandler(each -> connections.incrementAndGet())
            .requestHandler(this::serve)
            .listen(0, "127.0.0.1"));
  }

  /** Counts a request until its end or its reset; {@code wait} is in milliseconds. */
  private void serve(HttpServerRequest request) {
    versions.add(request.version().alpnName());
    highest.accumulateAndGet(ongoing.incrementAndGet(), Math::max);
    AtomicBoolean counted = new AtomicBoolean(true);
    Runnable over = () -> ongoing.addAndGet(counted.getAndSet(false) ? -1 : 0);
    HttpServerResponse response = request.response();
    response.exceptionHandler(reset -> over.run()).closeHandler(closed -> over.run());
    int wait = Integer.parseInt(request.getParam("wait", "0"));
    Buffer part = Buffer.buffer("x".repeat(Integer.parseInt(request.getParam("size", "2"))));
    request
        .body()
        .onSuccess(
            body ->
                vertx.setTimer(
                    1 + wait,
                    timer -> {
                      if (counted.get()) {
                        response.putHeader("x-body", "" + body.length()).setChunked(true);
                        response.write(part);
                        over.run();
                        response.end("end");
                      }
                    }));
  }

  private String secure(boolean alpn) throws Exception {
    X509Bundle authority = Certificates.authority();
    Path ca = Certificates.write(folder.resolve("ca.pem"), authority.getCertificatePEM());
    Files.setPosixFilePermissions(ca, PosixFilePermissions.fromString("rw-------"));
    X509Bundle own = Certificates.server(authority, "upstream");
    HttpServer server =
        listen(
            new HttpServerOptions()
                .setSsl(true)
                .setUseAlpn(alpn)
                .setKeyCertOptions(
                    new PemKeyCertOptions()
                        .addCertValue(Buffer.buffer(own.getCertificatePathPEM()))
                        .addKeyValue(Buffer.buffer(own.getPrivateKeyPEM()))));
    return "https://localhost:" + server.actualPort();
  }

  private String plain() throws Exception {
    return "http://localhost:" + listen(new HttpServerOptions()).actualPort();
  }

  private void start(String url, String... keys) throws Exception {
    rig =
        new UpstreamRig(
            "secrets_dir: " + folder + ", limits: {address_connection_rate: 0}",
            deployment("models", "", upstream(url, MAX, keys)));
    rig.awaitOpen(MAX);
  }

  @ParameterizedTest
  @CsvSource({
    "true, '', h2",
    "false, '', http/1.1",
    "true, http: 2, h2",
    "true, http: 1.1, http/1.1"
  })
  void httpsSelectsTheProtocolByAlpn(boolean alpn, String key, String version) throws Exception {
    String tls = "tls: {ca_file: ca.pem}";
    start(secure(alpn), key.isEmpty() ? new String[] {tls} : new String[] {tls, key});
    for (int i = 0; i < 3; i++) {
      HttpResponse<String> answer = rig.node.get("/models/x?size=20000");
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).hasSize(20_003);
    }
    assertThat(versions).hasSize(3).containsOnly(version);
  }

  @ParameterizedTest
  @CsvSource({"10", "60000", "3000000"})
  void bodyReachesTheUpstream(int length) throws Exception {
    start(plain(), "http: '2'");
    ClientSocket client = rig.client();
    client.send("POST /models/x HTTP/1.1\r\nHost: t\r\nContent-Length: " + length + "\r\n\r\n");
    client.send("b".repeat(length));
    assertThat(client.readUntil("end")).startsWith("HTTP/1.1 200 ").contains("x-body: " + length);
    assertThat(versions).containsExactly("h2");
  }

  @Test
  void protocolChangesLive() throws Exception {
    String url = plain();
    start(url);
    assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
    for (String version : List.of("2", "1.1")) {
      rig.declare(deployment("models", "", upstream(url, MAX, "http: " + version)));
      String expected = version.equals("2") ? "h2" : "http/1.1";
      TestNode.until(
          () -> {
            versions.clear();
            assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
            return versions.contains(expected);
          },
          () -> "HTTP/" + version);
    }
  }

  @Test
  void slowReaderHoldsItsSlotBeyondTheReadAhead() throws Exception {
    start(plain(), "http: 2", "read_ahead_bytes: 65536");
    int size = 32 << 20;
    ClientSocket slow = rig.client().get("/models/x?size=" + size);
    slow.readUntil("\r\n\r\n");
    TestNode.until(() -> rig.sum("running") == 1, () -> "a slot");
    assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200); // on the same connection
    assertThat(rig.sum("running")).isEqualTo(1);
    long left = size;
    while (left > 0) {
      left -= slow.read(1 << 16);
    }
  }

  @ParameterizedTest
  @CsvSource({"false, 100", "true, 100", "false, 3"})
  void upstreamStaysWithinItsMaximumWhileClientsLeave(boolean secure, int streams)
      throws Exception {
    HttpServerOptions options = new HttpServerOptions();
    options.getInitialSettings().setMaxConcurrentStreams(streams);
    start(
        secure ? secure(true) : "http://localhost:" + listen(options).actualPort(),
        "http: 2",
        secure ? "tls: {ca_file: ca.pem}" : "stops_on_close: true");
    ExecutorService threads = Executors.newFixedThreadPool(24);
    try {
      Random random = new Random(33);
      List<Callable<Boolean>> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        long seed = random.nextLong();
        clients.add(() -> client(new Random(seed)));
      }
      int complete = 0;
      for (Future<Boolean> each : threads.invokeAll(clients)) {
        complete += each.get() ? 1 : 0;
      }
      assertThat(complete).isBetween(1, CLIENTS - 1);
    } finally {
      threads.shutdownNow();
    }
    TestNode.until(() -> ongoing.get() == 0, () -> "no request: " + ongoing);
    assertThat(highest.get()).isBetween(MAX / 2, MAX);
    rig.assertAtRest();
    assertThat(versions).containsOnly("h2");
    if (streams > MAX) {
      assertThat(connections.get()).isLessThan(CLIENTS / 2);
    }
  }

  private boolean client(Random random) throws Exception {
    try (ClientSocket client = rig.client()) {
      client.get(
          "/models/x?wait=%d&size=%d".formatted(random.nextInt(60), 1 + random.nextInt(30_000)),
          "Connection: close");
      switch (random.nextInt(4)) {
        case 0 -> {} // leaves at once
        case 1 -> LockSupport.parkNanos(random.nextInt(60_000_000));
        case 2 -> client.readUntil("\r\n\r\n");
        default -> {
          assertThat(client.readUntil("<the end>"))
              .startsWith("HTTP/1.1 200 ")
              .containsPattern("end(\r\n0\r\n\r\n)?<closed>$");
          return true;
        }
      }
      if (random.nextBoolean()) {
        client.reset();
      }
      return false;
    }
  }

  @Test
  void upstreamThatSpeaksOnlyHttp1IsClosed() throws Exception {
    HttpServerOptions plain = new HttpServerOptions().setHttp2ClearTextEnabled(false);
    String url = "http://localhost:" + listen(plain).actualPort();
    rig = new UpstreamRig("", deployment("models", "", upstream(url, MAX, "http: 2")));
    TestNode.until(() -> rig.status().contains("closed: connect: "), rig::status);
    assertThat(rig.node.get("/models/x", "x-request-timeout-seconds", "0.3").statusCode())
        .isIn(408, 503);
    assertThat(Files.list(folder)).isEmpty();
  }
}
