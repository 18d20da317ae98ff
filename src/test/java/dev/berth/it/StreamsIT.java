package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
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
  void aDeclaredBodyOverTheLimitIs413AtOnce() throws Exception {
    try (Socket socket = connect()) {
      send(socket, "POST /s/count HTTP/1.1\r\nHost: t\r\nContent-Length: 300000000\r\n\r\n");
      assertThat(head(socket)).startsWith("HTTP/1.1 413").contains("connection: close");
    }
  }

  @Test
  void aHandlerThatTakesBodiesWholeAnswers413ToALargerOne() throws Exception {
    HttpResponse<String> declared =
        post("/whole", HttpRequest.BodyPublishers.ofByteArray(new byte[3 * MIB]));
    assertThat(declared.statusCode()).isEqualTo(413);
    Sent sent = new Sent(3 * MIB);
    try (Socket socket = connect()) {
      send(socket, "POST /whole HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
      byte[] part = new byte[MIB / 2];
      for (int i = 0; i < 5; i++) {
        sent.read(part, 0, part.length);
        chunk(socket, part);
      }
      assertThat(head(socket)).startsWith("HTTP/1.1 413");
    }
  }

  // --- 100-continue ---

  @Test
  void aClientThatExpectsToBeToldIsToldWhenAReplicaHasAccepted() throws Exception {
    try (Socket socket = connect()) {
      send(
          socket,
          "POST /s/count HTTP/1.1\r\nHost: t\r\nContent-Length: 100000\r\n"
              + "Expect: 100-continue\r\n\r\n");
      assertThat(head(socket)).startsWith("HTTP/1.1 100");
      socket.getOutputStream().write(new byte[100_000]);
      assertThat(head(socket)).startsWith("HTTP/1.1 200");
    }
  }

  @Test
  void aRefusedRequestIsNeverToldToGoOn() throws Exception {
    Socket one = connect();
    try (Socket two = connect();
        Socket waiting = connect();
        Socket refused = connect()) {
      for (Socket busy : new Socket[] {one, two}) {
        send(busy, "POST /s/react HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
        chunk(busy, new byte[] {1});
      }
      server.await("two run", () -> server.sum("serve_replica_processing_queries") == 2);
      String large = "Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n";
      send(waiting, "POST /s/count HTTP/1.1\r\nHost: t\r\n" + large);
      server.await("one waits", () -> server.sum("serve_deployment_queued_queries") == 1);
      send(refused, "POST /s/count HTTP/1.1\r\nHost: t\r\n" + large);
      String answer = new String(refused.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(answer).startsWith("HTTP/1.1 503").contains("connection: close");
      assertThat(waiting.getInputStream().available()).as("told nothing yet").isZero();
      one.close();
      assertThat(head(waiting)).startsWith("HTTP/1.1 100");
      waiting.getOutputStream().write(new byte[100_000]);
      assertThat(head(waiting)).startsWith("HTTP/1.1 200");
    }
  }

  @Test
  void aBodyThatIsTooLargeForItsHandlerIsNotAskedFor() throws Exception {
    try (Socket socket = connect()) {
      send(
          socket,
          "POST /whole HTTP/1.1\r\nHost: t\r\nContent-Length: 3000000\r\n"
              + "Expect: 100-continue\r\n\r\n");
      assertThat(head(socket)).startsWith("HTTP/1.1 413").contains("connection: close");
    }
  }

  // --- answers before the end ---

  @Test
  void anAnswerBeforeTheBodyIsReadByAClientThatIsStillSending() throws Exception {
    try (Socket socket = connect()) {
      send(socket, "POST /s/early HTTP/1.1\r\nHost: t\r\nContent-Length: 100000000\r\n\r\n");
      OutputStream out = socket.getOutputStream();
      for (int i = 0; i < 4; i++) {
        out.write(new byte[50_000]);
      }
      String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(answer)
          .startsWith("HTTP/1.1 200")
          .contains("connection: close")
          .endsWith("enough");
    }
  }

  @Test
  void aSmallRestIsDroppedAndTheConnectionKept() throws Exception {
    try (Socket socket = connect()) {
      send(socket, "POST /s/early HTTP/1.1\r\nHost: t\r\nContent-Length: 200000\r\n\r\n");
      socket.getOutputStream().write(new byte[200_000]);
      assertThat(head(socket)).startsWith("HTTP/1.1 200").doesNotContain("connection: close");
      assertThat(new String(socket.getInputStream().readNBytes(6), StandardCharsets.UTF_8))
          .isEqualTo("enough");
      send(socket, "GET /s/early HTTP/1.1\r\nHost: t\r\n\r\n");
      assertThat(head(socket)).startsWith("HTTP/1.1 200");
    }
  }

  // --- both directions at once ---

  @Test
  void anEchoAnswersEachPieceBeforeTheNextIsSent() throws Exception {
    try (Socket socket = connect()) {
      send(socket, "POST /s/echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (int i = 0; i < 5; i++) {
        String piece = "piece " + i;
        chunk(socket, piece.getBytes(StandardCharsets.UTF_8));
        if (i == 0) {
          assertThat(head(socket)).startsWith("HTTP/1.1 200");
        }
        assertThat(line(socket)).isEqualTo("7");
        assertThat(line(socket)).isEqualTo(piece);
      }
      send(socket, "0\r\n\r\n");
      assertThat(line(socket)).isEqualTo("0");
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
    try (Socket socket = connect()) {
      send(socket, "POST " + path + " HTTP/1.1\r\nHost: t\r\nContent-Length: " + size + "\r\n\r\n");
      Thread sending =
          new Thread(
              () -> {
                try {
                  sent.transferTo(socket.getOutputStream());
                } catch (IOException cut) {
                  throw new UncheckedIOException(cut);
                }
              });
      sending.start();
      assertThat(head(socket)).startsWith("HTTP/1.1 200");
      for (int length = chunkSize(socket); length > 0; length = chunkSize(socket)) {
        byte[] piece = socket.getInputStream().readNBytes(length);
        bytes += piece.length;
        sum.update(piece);
        line(socket);
      }
      sending.join();
    }
    assertThat(bytes + " " + sum.getValue()).isEqualTo(sent.expected());
  }

  private static int chunkSize(Socket socket) throws IOException {
    return Integer.parseInt(line(socket), 16);
  }

  // --- clients that stand still, or go ---

  @Test
  void aClientThatStopsSendingIs408AndItsHandlerIsCancelled() throws Exception {
    try (Socket socket = connect()) {
      send(socket, "POST /s/count HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n");
      socket.getOutputStream().write(new byte[100_000]);
      assertThat(head(socket)).startsWith("HTTP/1.1 408");
    }
  }

  @Test
  void aHandlerThatDoesNotReadIsNoFaultOfItsClient() throws Exception {
    try (Socket socket = connect()) {
      send(
          socket,
          "POST /s/paused HTTP/1.1\r\nHost: t\r\nX-Request-Timeout-Seconds: 1.6\r\n"
              + "Content-Length: 1000000\r\n\r\n");
      long begun = System.nanoTime();
      CompletableFuture<Void> sending =
          CompletableFuture.runAsync(
              () -> {
                try {
                  socket.getOutputStream().write(new byte[1_000_000]);
                } catch (IOException closed) {
                  // The answer came first.
                }
              });
      assertThat(head(socket)).startsWith("HTTP/1.1 408"); // by the request's own timeout
      assertThat(Duration.ofNanos(System.nanoTime() - begun))
          .isGreaterThan(Duration.ofMillis(1500));
      sending.join();
    }
  }

  @Test
  void aClientKilledMidUploadFreesTheSlotOfAHandlerThatReactsWithinASecond() throws Exception {
    Socket socket = connect();
    send(socket, "POST /s/react HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n");
    socket.getOutputStream().write(new byte[200_000]);
    server.await("it runs", () -> server.sum("serve_replica_processing_queries") == 1);
    long left = System.nanoTime();
    socket.close();
    server.await("the slot", () -> server.sum("serve_replica_processing_queries") == 0);
    assertThat(Duration.ofNanos(System.nanoTime() - left)).isLessThan(Duration.ofSeconds(1));
    assertThat(server.sum("serve_zombie_requests")).isZero();
  }

  // --- helpers of the wire ---

  private static Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    socket.setSoTimeout(20_000);
    socket.setTcpNoDelay(true);
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  private static void chunk(Socket socket, byte[] bytes) throws IOException {
    send(socket, Integer.toHexString(bytes.length) + "\r\n");
    socket.getOutputStream().write(bytes);
    send(socket, "\r\n");
  }

  private static String line(Socket socket) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int next = socket.getInputStream().read(); next != '\n'; ) {
      if (next < 0) {
        throw new IOException("closed after: " + line);
      }
      if (next != '\r') {
        line.append((char) next);
      }
      next = socket.getInputStream().read();
    }
    return line.toString();
  }

  private static String head(Socket socket) throws IOException {
    StringBuilder head = new StringBuilder();
    for (String line = line(socket); !line.isEmpty(); line = line(socket)) {
      head.append(line).append("\r\n");
    }
    return head.toString();
  }
}
