package dev.berth.admin;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.JarRoutes.ByteRange;
import dev.berth.view.JarCatalog;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class JarRoutesTest {
  private static final String HELLO =
      "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  private static final String PATH = "/api/v1/jars/" + HELLO;

  @TempDir private Path folder;
  private final Map<String, Path> kept = new HashMap<>(); // by digest
  private boolean full;
  private Promise<Void> shelfAnswers = Promise.promise();
  private String name = "";

  private final class Shelf implements JarCatalog {
    @Override
    public Future<@Nullable Path> find(String sha256) {
      return shelfAnswers.future().map(answers -> kept.get(sha256));
    }

    @Override
    public Future<Path> begin(long bytes) {
      return full
          ? Future.failedFuture(new IOException("No space left on device"))
          : Future.succeededFuture(folder.resolve("received.tmp"));
    }

    @Override
    public Future<Void> take(Path written, String name, String sha256) {
      JarRoutesTest.this.name = name;
      kept.put(sha256, written);
      return Future.succeededFuture();
    }
  }

  private final JarRoutes routes = new JarRoutes(new Shelf(), 100);
  @AutoClose private final AdminClient admin = new AdminClient(routes);

  JarRoutesTest() {
    shelfAnswers.complete();
    routes.show(admin.meters);
  }

  private void keepHello() throws IOException {
    kept.put(HELLO, Files.writeString(folder.resolve("hello.jar"), "hello"));
  }

  @ParameterizedTest
  @CsvSource({
    "bytes=0-, 0, 10",
    "bytes=3-, 3, 7",
    "bytes=3-5, 3, 3",
    "bytes=3-99, 3, 7",
    "bytes=-4, 6, 4",
    "bytes=-40, 0, 10",
    "bytes=9-9, 9, 1",
    "bytes=10-, 10, 0",
    "bytes=-0, 10, 0",
    "bytes=5-3, 5, 0",
  })
  void aRangeIsAPart(String range, long from, long length) {
    assertThat(ByteRange.of(range, 10)).isEqualTo(new ByteRange(from, length));
  }

  @ParameterizedTest
  @CsvSource({"bytes=-", "bytes=1-2;4-5", "lines=1-2", "bytes=a-", "bytes=9999999999999999999-"})
  void whatIsNoSingleRangeIsAll(String range) {
    assertThat(ByteRange.of(range, 10)).isNull();
    assertThat(ByteRange.of(null, 10)).isNull();
  }

  @Test
  void aJarIsSentWholeOrInPart() throws Exception {
    keepHello();
    HttpResponse<String> whole = admin.get(PATH);
    assertThat(whole.statusCode()).isEqualTo(200);
    assertThat(whole.body()).isEqualTo("hello");
    HttpResponse<String> part = admin.get(PATH, "Range", "bytes=1-3");
    assertThat(part.statusCode()).isEqualTo(206);
    assertThat(part.body()).isEqualTo("ell");
    assertThat(part.headers().firstValue("Content-Range")).hasValue("bytes 1-3/5");
    HttpResponse<String> beyond = admin.get(PATH, "Range", "bytes=5-");
    assertThat(beyond.statusCode()).isEqualTo(416);
    assertThat(beyond.headers().firstValue("Content-Range")).hasValue("bytes */5");
  }

  @Test
  void headSaysWhetherItIsThere() throws Exception {
    assertThat(admin.send("HEAD", PATH, null).statusCode()).isEqualTo(404);
    keepHello();
    HttpResponse<String> there = admin.send("HEAD", PATH, null);
    assertThat(there.statusCode()).isEqualTo(200);
    assertThat(there.headers().firstValue("Content-Length")).hasValue("5");
  }

  @Test
  void aJarIsKeptUnderItsNameAndOnce() throws Exception {
    assertThat(admin.send("PUT", PATH + "?name=echo.jar", "hello").statusCode()).isEqualTo(201);
    assertThat(name).isEqualTo("echo.jar");
    assertThat(kept.get(HELLO)).hasContent("hello");
    assertThat(admin.send("PUT", PATH, "hello").statusCode()).isEqualTo(200);
  }

  @Test
  void anotherContentThanTheNameSaysIsRefusedWithBothDigests() {
    HttpResponse<String> refused = admin.send("PUT", PATH, "hallo");
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(new JsonObject(refused.body()).getString("message"))
        .startsWith(
            "the received jar has sha256 d3751d33f9cd5049c4af2b462735457e4d3baf130bcbb87f389e349fbaeb20b9")
        .contains("expected: " + HELLO);
    assertThat(kept).isEmpty();
  }

  @Test
  void aFullDiskIsA507() {
    full = true;
    HttpResponse<String> refused = admin.send("PUT", PATH, "hello");
    assertThat(refused.statusCode()).isEqualTo(507);
    assertThat(new JsonObject(refused.body()).getString("message"))
        .isEqualTo("The jar cannot be stored: No space left on device");
    full = false;
    assertThat(admin.send("PUT", PATH, "hello").statusCode()).isEqualTo(201);
  }

  @Test
  void aClientThatLeavesLeavesNothing() throws Exception {
    assertThat(admin.send("PUT", "/api/v1/jars/short", "hello").statusCode()).isEqualTo(400);
    assertThat(admin.send("PUT", PATH + "?name=a.txt", "hello").statusCode()).isEqualTo(400);
    for (int i = 0; i < 8; i++) { // more than may send at a time
      try (java.net.Socket socket = new java.net.Socket("127.0.0.1", admin.port)) {
        String head = "PUT " + PATH + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhe";
        socket.getOutputStream().write(head.getBytes(java.nio.charset.StandardCharsets.UTF_8));
        socket.shutdownOutput();
        socket.getInputStream().readAllBytes(); // the server has seen the end
      }
    }
    assertThat(admin.send("PUT", PATH, "hello").statusCode()).isEqualTo(201);
  }

  private Socket put(int length, String sent) throws IOException {
    Socket socket = new Socket("127.0.0.1", admin.port);
    socket.setSoTimeout(20_000);
    String head = "PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s";
    socket.getOutputStream().write(head.formatted(PATH, length, sent).getBytes(UTF_8));
    return socket;
  }

  private void awaitUploads(int expected) {
    long until = System.nanoTime() + 20_000_000_000L;
    while (!admin.get("/metrics").body().contains("berth_jar_uploads " + expected + ".0\n")) {
      assertThat(System.nanoTime()).isLessThan(until);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void uploadGivenUpBeforeItIsReadFreesItsPlace(boolean isKept) throws Exception {
    if (isKept) {
      keepHello();
    }
    shelfAnswers = Promise.promise();
    for (int i = 0; i < 4; i++) {
      put(1_000_000, "he").close();
    }
    awaitUploads(0);
    shelfAnswers.complete();
    assertThat(admin.send("PUT", PATH, "hello").statusCode()).isEqualTo(isKept ? 200 : 201);
    awaitUploads(0);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void uploadBelowTheLeastRateEnds(boolean isKept) throws Exception {
    if (isKept) {
      keepHello();
    }
    try (Socket socket = put(1_000_000, "he")) {
      String answer = new String(socket.getInputStream().readAllBytes(), UTF_8);
      assertThat(answer).startsWith("HTTP/1.1 408 ").contains("\"code\":\"upload_too_slow\"");
    }
    awaitUploads(0);
    assertThat(folder.resolve("received.tmp")).doesNotExist();
  }
}
