package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.zip.CRC32;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies of any size through the packaged server: every way to send, read, and break off. */
@Timeout(60)
class StreamsIT {
  private static final int MIB = 1 << 20;
  @AutoClose private static Server server;

  @BeforeAll
  static void start(@TempDir Path folder) throws IOException {
    server =
        TestJar.serve(
            folder,
            """
            applications:
              - name: streams
                route_prefix: /s
                import_path: dev.berth.it.app.StreamsApplication:build
                runtime_env: {jars: [app.jar]}
                deployments:
                  - name: front
                    max_ongoing_requests: 2
                    max_queued_requests: 1
                    berth: {cancel_grace_s: 0.3}
              - name: whole
                route_prefix: /whole
                import_path: dev.berth.it.app.StreamsApplication:whole
                runtime_env: {jars: [app.jar]}
                deployments:
                  - name: whole
                    berth: {max_buffered_body_bytes: 2097152}
              - name: blocking
                route_prefix: /blocking
                import_path: dev.berth.it.app.StreamsApplication:blocking
                runtime_env: {jars: [app.jar]}
            berth:
              event_loops: 2
              limits: {max_body_bytes: 200000000, idle_timeout_s: 1}
            """);
  }

  @AfterEach
  void nothingIsLeft() {
    GatedServer.assertAtRest(server);
  }

  /** So many bytes of a seed, made as they are sent. */
  private static final class Sent extends InputStream {
    private final Random random = new Random(7);
    private final CRC32 sum = new CRC32();
    private final int total;
    private int left;

    Sent(int total) {
      this.total = total;
      this.left = total;
    }

    @Override
    public int read() {
      throw new UnsupportedOperationException();
    }

    @Override
    public int read(byte[] into, int offset, int length) {
      if (left == 0) {
        return -1;
      }
      int size = Math.min(left, length);
      byte[] made = new byte[size];
      random.nextBytes(made);
      System.arraycopy(made, 0, into, offset, size);
      sum.update(made);
      left -= size;
      return size;
    }

    String expected() {
      return total + " " + sum.getValue();
    }
  }

  private HttpResponse<String> post(String path, HttpRequest.BodyPublisher body) throws Exception {
    return server.send(server.request(path).timeout(Duration.ofSeconds(50)).POST(body).build());
  }

  // --- sizes and ways to send ---

  @ParameterizedTest
  @CsvSource({
    "/s/count, 0",
    "/s/count, 1",
    "/s/count, 65536",
    "/s/count, 65537",
    "/s/count, 1048576",
    "/s/relay, 10",
    "/s/relay, 3000000",
    "/whole, 65536",
    "/whole, 65537",
    "/whole, 2097152",
    "/blocking, 0",
    "/blocking, 100",
    "/blocking, 5000000"
  })
  void aBodyArrivesWholeDeclaredAndChunked(String path, int size) throws Exception {
    for (boolean declared : new boolean[] {true, false}) {
      Sent sent = new Sent(size);
      HttpRequest.BodyPublisher chunked = HttpRequest.BodyPublishers.ofInputStream(() -> sent);
      HttpResponse<String> response =
          post(
              path,
              declared && size > 0
                  ? HttpRequest.BodyPublishers.fromPublisher(chunked, size)
                  : chunked);
      assertThat(response.statusCode()).isEqualTo(200);
      assertThat(response.body()).isEqualTo(sent.expected());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aHundredMebibytesArrive(boolean declared) throws Exception {
    Sent sent = new Sent(100 * MIB);
    HttpRequest.BodyPublisher chunked = HttpRequest.BodyPublishers.ofInputStream(() -> sent);
    HttpResponse<String> response =
        post(
            "/s/count",
            declared ? HttpRequest.BodyPublishers.fromPublisher(chunked, 100 * MIB) : chunked);
    assertThat(response.body()).isEqualTo(sent.expected());
  }

  @Test
  void aSlowHandlerGetsAllOfIt() throws Exception {
    Sent sent = new Sent(4 * MIB);
    HttpResponse<String> response =
        post("/s/slow", HttpRequest.BodyPublishers.ofInputStream(() -> sent));
    assertThat(response.body()).isEqualTo(Integer.toString(4 * MIB));
  }

  // --- limits ---

  @Test
  void aHandlerThatTakesBodiesWholeAnswers413ToALargerOne() throws Exception {
    HttpResponse<String> declared =
        post("/whole", HttpRequest.BodyPublishers.ofByteArray(new byte[3 * MIB]));
    assertThat(declared.statusCode()).isEqualTo(413);
    Sent sent = new Sent(3 * MIB);
    try (Client client = new Client(server.port())) {
      client.send("POST /whole HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
      byte[] part = new byte[MIB / 2];
      for (int i = 0; i < 5; i++) {
        sent.read(part, 0, part.length);
        client.chunk(part);
      }
      assertThat(client.head()).startsWith("HTTP/1.1 413");
    }
  }

  // --- 100-continue ---

  @Test
  void aClientThatExpectsToBeToldIsToldWhenAReplicaHasAccepted() throws Exception {
    try (Client client = new Client(server.port())) {
      client.send(
          "POST /s/count HTTP/1.1\r\nHost: t\r\nContent-Length: 100000\r\n"
              + "Expect: 100-continue\r\n\r\n");
      assertThat(client.head()).startsWith("HTTP/1.1 100");
      client.send(new byte[100_000]);
      assertThat(client.head()).startsWith("HTTP/1.1 200");
    }
  }

  @Test
  void aRefusedRequestIsNeverToldToGoOn() throws Exception {
    Client one = new Client(server.port());
    try (Client two = new Client(server.port());
        Client waiting = new Client(server.port());
        Client refused = new Client(server.port())) {
      for (Client busy : List.of(one, two)) {
        busy.send("POST /s/react HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
        busy.chunk(new byte[] {1});
      }
      server.await("two run", () -> server.sum("serve_replica_processing_queries") == 2);
      String large = "Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n";
      waiting.send("POST /s/count HTTP/1.1\r\nHost: t\r\n" + large);
      server.await("one waits", () -> server.sum("serve_deployment_queued_queries") == 1);
      refused.send("POST /s/count HTTP/1.1\r\nHost: t\r\n" + large);
      String answer = refused.readToEnd();
      assertThat(answer).startsWith("HTTP/1.1 503").contains("connection: close");
      assertThat(waiting.in().available()).as("told nothing yet").isZero();
      one.close();
      assertThat(waiting.head()).startsWith("HTTP/1.1 100");
      waiting.send(new byte[100_000]);
      assertThat(waiting.head()).startsWith("HTTP/1.1 200");
    }
  }

  @Test
  void aBodyThatIsTooLargeForItsHandlerIsNotAskedFor() throws Exception {
    try (Client client = new Client(server.port())) {
      client.send(
          "POST /whole HTTP/1.1\r\nHost: t\r\nContent-Length: 3000000\r\n"
              + "Expect: 100-continue\r\n\r\n");
      assertThat(client.head()).startsWith("HTTP/1.1 413").contains("connection: close");
    }
  }

  // --- answers before the end ---

  @Test
  void anAnswerBeforeTheBodyIsReadByAClientThatIsStillSending() throws Exception {
    try (Client client = new Client(server.port())) {
      client.send("POST /s/early HTTP/1.1\r\nHost: t\r\nContent-Length: 100000000\r\n\r\n");
      OutputStream out = client.out();
      for (int i = 0; i < 4; i++) {
        out.write(new byte[50_000]);
      }
      String answer = client.readToEnd();
      assertThat(answer)
          .startsWith("HTTP/1.1 200")
          .contains("connection: close")
          .endsWith("enough");
    }
  }

  @Test
  void aSmallRestIsDroppedAndTheConnectionKept() throws Exception {
    try (Client client = new Client(server.port())) {
      client.send("POST /s/early HTTP/1.1\r\nHost: t\r\nContent-Length: 200000\r\n\r\n");
      client.send(new byte[200_000]);
      assertThat(client.head()).startsWith("HTTP/1.1 200").doesNotContain("connection: close");
      assertThat(new String(client.in().readNBytes(6), StandardCharsets.UTF_8)).isEqualTo("enough");
      client.send("GET /s/early HTTP/1.1\r\nHost: t\r\n\r\n");
      assertThat(client.head()).startsWith("HTTP/1.1 200");
    }
  }

  // --- both directions at once ---

  @Test
  void anEchoAnswersEachPieceBeforeTheNextIsSent() throws Exception {
    try (Client client = new Client(server.port())) {
      client.send("POST /s/echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (int i = 0; i < 5; i++) {
        String piece = "piece " + i;
        client.chunk(piece.getBytes(StandardCharsets.UTF_8));
        if (i == 0) {
          assertThat(client.head()).startsWith("HTTP/1.1 200");
        }
        assertThat(client.line()).isEqualTo("7");
        assertThat(client.line()).isEqualTo(piece);
      }
      client.send("0\r\n\r\n");
      assertThat(client.line()).isEqualTo("0");
    }
  }

  /** By hand: the JDK's client reads no answer before it has sent all. */
  @ParameterizedTest
  @ValueSource(strings = {"/s/echo", "/blocking?echo=1"})
  void aLargeEchoFlowsBothWays(String path) throws Exception {
    int size = 20 * MIB;
    Sent sent = new Sent(size);
    CRC32 sum = new CRC32();
    long bytes = 0;
    try (Client client = new Client(server.port())) {
      client.send("POST " + path + " HTTP/1.1\r\nHost: t\r\nContent-Length: " + size + "\r\n\r\n");
      Thread sending =
          new Thread(
              () -> {
                try {
                  sent.transferTo(client.out());
                } catch (IOException cut) {
                  throw new UncheckedIOException(cut);
                }
              });
      sending.start();
      assertThat(client.head()).startsWith("HTTP/1.1 200");
      for (int length = chunkSize(client); length > 0; length = chunkSize(client)) {
        byte[] piece = client.in().readNBytes(length);
        bytes += piece.length;
        sum.update(piece);
        client.line();
      }
      sending.join();
    }
    assertThat(bytes + " " + sum.getValue()).isEqualTo(sent.expected());
  }

  private static int chunkSize(Client client) throws IOException {
    return Integer.parseInt(client.line(), 16);
  }

  // --- clients that stand still, or go ---

  @Test
  void aClientThatStopsSendingIs408AndItsHandlerIsCancelled() throws Exception {
    try (Client client = new Client(server.port())) {
      client.send("POST /s/count HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n");
      client.send(new byte[100_000]);
      assertThat(client.head()).startsWith("HTTP/1.1 408");
    }
  }

  @Test
  void aHandlerThatDoesNotReadIsNoFaultOfItsClient() throws Exception {
    try (Client client = new Client(server.port())) {
      client.send(
          "POST /s/paused HTTP/1.1\r\nHost: t\r\nX-Request-Timeout-Seconds: 1.6\r\n"
              + "Content-Length: 1000000\r\n\r\n");
      long begun = System.nanoTime();
      CompletableFuture<Void> sending =
          CompletableFuture.runAsync(
              () -> {
                try {
                  client.send(new byte[1_000_000]);
                } catch (IOException closed) {
                  // The answer came first.
                }
              });
      assertThat(client.head()).startsWith("HTTP/1.1 408"); // by the request's own timeout
      assertThat(Duration.ofNanos(System.nanoTime() - begun))
          .isGreaterThan(Duration.ofMillis(1500));
      sending.join();
    }
  }

  @Test
  void aClientKilledMidUploadFreesTheSlotOfAHandlerThatReactsWithinASecond() throws Exception {
    Client client = new Client(server.port());
    client.send("POST /s/react HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n");
    client.send(new byte[200_000]);
    server.await("it runs", () -> server.sum("serve_replica_processing_queries") == 1);
    long left = System.nanoTime();
    client.close();
    server.await("the slot", () -> server.sum("serve_replica_processing_queries") == 0);
    assertThat(Duration.ofNanos(System.nanoTime() - left)).isLessThan(Duration.ofSeconds(1));
    assertThat(server.sum("serve_zombie_requests")).isZero();
  }
}
