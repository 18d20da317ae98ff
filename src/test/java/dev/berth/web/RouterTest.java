package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.node.TestNode;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A Router behind the ingress of an instance: slots, streams, uploads, labels. */
class RouterTest {
  @TempDir private @Nullable Path folder;
  private TestNode node;

  @BeforeEach
  void start() throws Exception {
    WebApplications.EVENTS.clear();
    WebApplications.webroot = Objects.requireNonNull(folder);
    Files.writeString(folder.resolve("huge.bin"), "x".repeat(20_000_000));
    node =
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications:
            - name: shop
              route_prefix: /shop
              import_path: 'dev.berth.web.WebApplications:shop'
              deployments: [{name: shop, graceful_shutdown_timeout_s: 0.1}]
            berth: {event_loops: 1, admin: {port: 0}, limits: {max_route_templates: 30}}
            """);
  }

  @AfterEach
  void stop() {
    node.close();
  }

  private static String event(String name) throws Exception {
    return WebApplications.EVENTS
        .computeIfAbsent(name, made -> new CompletableFuture<>())
        .get(10, TimeUnit.SECONDS);
  }

  private long ongoing() {
    return new JsonObject(node.admin("GET", "/api/v1/ledger", "").body())
        .getJsonObject("total")
        .getLong("running");
  }

  private void untilOngoing(int count) {
    TestNode.until(() -> ongoing() == count, () -> "ongoing: " + ongoing());
  }

  private static List<Path> uploads() throws IOException {
    try (Stream<Path> files = Files.list(Path.of(WebApplications.uploads))) {
      return files.toList();
    }
  }

  private String metrics() {
    return node.admin("GET", "/metrics", "").body();
  }

  private Socket socket(String text) throws IOException {
    Socket socket = new Socket("127.0.0.1", node.port());
    socket.setSoTimeout(10_000);
    socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
    socket.getOutputStream().flush();
    return socket;
  }

  private static String readUntil(Socket socket, String end) throws IOException {
    ByteArrayOutputStream read = new ByteArrayOutputStream();
    InputStream in = socket.getInputStream();
    while (!read.toString(StandardCharsets.ISO_8859_1).endsWith(end)) {
      int next;
      try {
        next = in.read();
      } catch (IOException failed) {
        throw new IOException(failed + " after: " + read, failed);
      }
      if (next < 0) {
        throw new IOException("closed after: " + read);
      }
      read.write(next);
    }
    return read.toString(StandardCharsets.ISO_8859_1);
  }

  private static String part(String name, @Nullable String file, String content) {
    String disposition = "form-data; name=\"" + name + "\"";
    return "--X\r\nContent-Disposition: "
        + disposition
        + (file == null ? "" : "; filename=\"" + file + "\"\r\nContent-Type: image/png")
        + "\r\n\r\n"
        + content
        + "\r\n";
  }

  private HttpResponse<String> upload(String path, String parts) {
    return node.post(
        "/shop" + path, parts + "--X--\r\n", "content-type", "multipart/form-data; boundary=X");
  }

  // --- routes ---

  @Test
  void routesAreBelowThePrefix() {
    assertThat(node.get("/shop/items/7").body()).isEqualTo("item 7 []");
    assertThat(node.get("/shop/v1/orders/7").body()).isEqualTo("order 7 at /shop/v1/");
    assertThat(node.get("/shop/redirect").statusCode()).isEqualTo(302);
    assertThat(node.get("/shop/nothing").statusCode()).isEqualTo(404);
    assertThat(node.get("/shop").statusCode()).isEqualTo(404);
    assertThat(node.get("/items/7").statusCode()).isEqualTo(404);
  }

  @Test
  void dotSegmentsDoNotLeaveThePrefix() throws Exception {
    for (String path :
        List.of("/shop/../x", "/shop/../xxxx/items/1", "/shop/%2e%2e/items/1", "/shop/..")) {
      try (Socket client = socket("GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n")) {
        assertThat(readUntil(client, "\r\n\r\n")).contains(" 404 ");
      }
    }
    assertThat(node.get("/shop/a/../items/1").body()).isEqualTo("item 1 []");
  }

  @Test
  void rootPathPrecedesThePrefix() throws Exception {
    node.close();
    node =
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0, root_path: /base}
            applications:
            - {name: shop, route_prefix: /shop, import_path: 'dev.berth.web.WebApplications:shop'}
            - {name: low, route_prefix: /basement, import_path: 'dev.berth.web.WebApplications:shop'}
            berth: {event_loops: 1, admin: {port: 0}}
            """);
    assertThat(node.get("/base/shop/items/1").body()).isEqualTo("item 1 []");
    assertThat(node.get("/basement/items/1").body()).isEqualTo("item 1 []");
    assertThat(node.get("/base/basement/items/1").body()).isEqualTo("item 1 []");
    assertThat(node.get("/shop/items/1").body()).isEqualTo("item 1 []");
  }

  @Test
  void routerCallsAnotherDeploymentForItsRequest() {
    assertThat(node.get("/shop/prices/7", "x-request-id", "r-1").body())
        .isEqualTo("/7 of r-1/shop");
  }

  @Test
  void templateIsTheRouteLabelAndNoHeader() {
    HttpResponse<String> response = node.get("/shop/items/1");
    node.get("/shop/items/2");
    node.get("/shop/v1/orders/3");
    node.get("/shop/static/none");
    node.get("/shop/boom");
    assertThat(response.headers().firstValue("x-berth-route")).isEmpty();
    assertThat(metrics())
        .containsPattern("serve_num_http_requests[^\\n]*route=\"/shop/items/:id\"[^\\n]* 2")
        .containsPattern("serve_num_http_requests[^\\n]*route=\"/shop/v1/orders/:id\"[^\\n]* 1")
        .containsPattern("serve_num_http_requests[^\\n]*route=\"/shop/boom\"[^\\n]* 1")
        .containsPattern("serve_num_http_requests[^\\n]*route=\"/shop/static/\\*\"[^\\n]* 1")
        .doesNotContain("/shop/items/1");
  }

  @Test
  void labelsAreBounded() {
    IntStream.range(0, 300).forEach(each -> node.get("/shop/items/" + each));
    IntStream.range(0, 300).forEach(each -> node.get("/shop/no/" + each));
    assertThat(labels()).isLessThan(5);
    IntStream.range(0, 100).forEach(each -> node.get("/shop/label/" + each));
    assertThat(labels()).isLessThan(40);
    assertThat(metrics()).containsPattern("berth_route_template_overflows_total[^\\n]* 7\\d");
  }

  private long labels() {
    return metrics()
        .lines()
        .filter(line -> line.startsWith("serve_num_http_requests"))
        .map(line -> line.replaceAll(".*route=\"([^\"]*)\".*", "$1"))
        .distinct()
        .count();
  }

  // --- uploads ---

  @Test
  void uploadIsAFileUntilItsRequestEnds() throws Exception {
    String parts = part("picture", "fish.png", "x".repeat(100_000)) + part("note", null, "a fish");
    assertThat(upload("/in/file", parts).body())
        .isEqualTo("[picture=fish.png:100000:image/png:true] a fish");
    TestNode.until(
        () -> {
          try {
            return uploads().isEmpty();
          } catch (IOException failed) {
            throw new java.io.UncheckedIOException(failed);
          }
        },
        () -> "uploads remain");
  }

  @Test
  void uploadsAreBounded() throws Exception {
    HttpResponse<String> large = upload("/in/file", part("a", "a.bin", "x".repeat(2_400_000)));
    assertThat(large.statusCode()).isEqualTo(413);
    HttpResponse<String> field = upload("/in/file", part("a", null, "x".repeat(10_000)));
    assertThat(field.statusCode()).isEqualTo(400);
    String many =
        IntStream.range(0, 10_000)
            .mapToObj(each -> part("f" + each, null, ""))
            .collect(Collectors.joining());
    assertThat(upload("/in/file", many).statusCode()).isEqualTo(400);
    untilOngoing(0);
    untilNoUploads();
  }

  @Test
  void unfinishedUploadOfAClientThatLeavesIsRemoved() throws Exception {
    String head =
        "POST /shop/in/file HTTP/1.1\r\nHost: test\r\nContent-Type: multipart/form-data;"
            + " boundary=X\r\nContent-Length: 200000\r\n\r\n";
    try (Socket client =
        socket(head + part("a", "a.bin", "x".repeat(120_000)).replaceAll("\r\n$", ""))) {
      TestNode.until(() -> count() == 1, () -> "uploads: " + count());
      untilOngoing(1);
      assertThat(client.getInputStream().available()).isZero();
    }
    untilOngoing(0);
    untilNoUploads();
  }

  @Test
  void uploadOfACancelledHandlerIsRemoved() throws Exception {
    String body = part("a", "a.bin", "x".repeat(1_000)) + "--X--\r\n";
    String head =
        "POST /shop/in/held HTTP/1.1\r\nHost: test\r\nContent-Type: multipart/form-data;"
            + " boundary=X\r\nContent-Length: "
            + body.length()
            + "\r\n\r\n";
    try (Socket client = socket(head + body)) {
      assertThat(Path.of(event("held"))).exists();
      assertThat(client.getInputStream().available()).isZero();
    }
    untilNoUploads();
  }

  @Test
  void uploadHandlerStartsTheBody() {
    assertThat(upload("/bare-upload", part("a", "a.bin", "x")).body()).isEqualTo("a.bin");
  }

  @Test
  void completeFileElsewhereOutlivesACancel() throws Exception {
    String body = part("a", "a.bin", "x".repeat(1_000)) + "--X--\r\n";
    String head =
        "POST /shop/stored HTTP/1.1\r\nHost: test\r\nContent-Type: multipart/form-data;"
            + " boundary=X\r\nContent-Length: "
            + body.length()
            + "\r\n\r\n";
    try (Socket client = socket(head + body)) {
      event("stored");
      assertThat(client.getInputStream().available()).isZero();
    }
    event("left");
    node.get("/shop/busy"); // the one event loop has handled the cancel
    assertThat(WebApplications.webroot.resolve("stored.bin")).hasSize(1_000);
  }

  private int count() {
    try {
      return uploads().size();
    } catch (IOException failed) {
      throw new java.io.UncheckedIOException(failed);
    }
  }

  private void untilNoUploads() {
    TestNode.until(() -> count() == 0, () -> "uploads: " + count());
  }

  // --- streams ---

  @Test
  void slotIsHeldUntilAStreamedResponseHasEnded() throws Exception {
    try (Socket client = socket("GET /shop/late-end HTTP/1.1\r\nHost: test\r\n\r\n")) {
      readUntil(client, "first\r\n");
      assertThat(ongoing()).isEqualTo(1);
      WebApplications.EVENTS
          .computeIfAbsent("late-end", made -> new CompletableFuture<>())
          .complete("go");
      readUntil(client, "0\r\n\r\n");
    }
    untilOngoing(0);
  }

  @Test
  void clientThatLeavesAStreamRunsTheCloseHandlerAndFreesTheSlot() throws Exception {
    try (Socket client = socket("GET /shop/ticks HTTP/1.1\r\nHost: test\r\n\r\n")) {
      readUntil(client, "tick\r\n");
      assertThat(event("ticking")).isEqualTo("yes");
      assertThat(ongoing()).isEqualTo(1);
    }
    assertThat(event("ticks")).isEqualTo("closed");
    untilOngoing(0);
  }

  @Test
  void slowClientStopsTheWriterAndItsFile() throws Exception {
    try (Socket client = socket("GET /shop/flood HTTP/1.1\r\nHost: test\r\n\r\n")) {
      assertThat(Integer.parseInt(event("flood"))).isLessThan(100);
      readUntil(client, "0\r\n\r\n");
      assertThat(event("drained")).isEqualTo("yes");
    }
    assertThat(node.get("/shop/static/huge.bin").body()).hasSize(20_000_000);
    try (Socket client = socket("GET /shop/static/huge.bin HTTP/1.1\r\nHost: test\r\n\r\n")) {
      assertThat(readUntil(client, "\r\n\r\n")).contains("content-length: 20000000");
      untilOngoing(1);
    }
    untilOngoing(0);
    TestNode.until(() -> openFiles() == 0, () -> "open files: " + openFiles());
  }

  /** Returns the descriptors of the large file; 0 without {@code /proc}. */
  private static long openFiles() {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.filter(
              each -> {
                try {
                  return Files.readSymbolicLink(each).endsWith("huge.bin");
                } catch (IOException closed) {
                  return false;
                }
              })
          .count();
    } catch (IOException none) {
      return 0;
    }
  }

  @Test
  void bodyIsPipedWhileItArrives() throws Exception {
    try (Socket client =
        socket(
            "POST /shop/pipe HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "5\r\nfirst\r\n")) {
      readUntil(client, "first\r\n");
      client
          .getOutputStream()
          .write("5\r\nlater\r\n0\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
      readUntil(client, "later\r\n0\r\n\r\n");
    }
    assertThat(node.post("/shop/async-pipe", "x".repeat(300_000)).body()).hasSize(300_000);
    untilOngoing(0);
  }

  @Test
  void handlerThatNeverRespondsHoldsItsSlot() throws Exception {
    try (Socket client = socket("GET /shop/stuck HTTP/1.1\r\nHost: test\r\n\r\n")) {
      event("stuck");
      untilOngoing(1);
      assertThat(client.getInputStream().available()).isZero();
    }
    TestNode.until(
        () ->
            metrics().lines().anyMatch(each -> each.matches("serve_num_http_requests.*499.* 1.*")),
        this::metrics);
    assertThat(ongoing()).isEqualTo(1);
  }

  @Test
  void blockingHandlerThatReadsClosedHoldsItsSlotUntilItReturns() throws Exception {
    try (Socket client = socket("GET /shop/polls HTTP/1.1\r\nHost: test\r\n\r\n")) {
      assertThat(event("polling")).isEqualTo("yes");
      assertThat(client.getInputStream().available()).isZero();
    }
    assertThat(event("polled")).isEqualTo("yes");
    node.get("/shop/items/1"); // the one event loop has handled all events before
    assertThat(ongoing()).isEqualTo(1);
    WebApplications.EVENTS.get("finish").complete("go");
    untilOngoing(0);
  }

  @Test
  void bodyOfAnotherLengthResetsItsResponse() throws Exception {
    for (String path : List.of("/shop/short", "/shop/long")) {
      try (Socket client = socket("GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n")) {
        byte[] all = client.getInputStream().readAllBytes(); // the connection closes
        assertThat(new String(all, StandardCharsets.ISO_8859_1)).doesNotContain("456");
      }
    }
    untilOngoing(0);
  }

  @Test
  void failureOfAHeadFreesTheSlot() {
    assertThat(node.get("/shop/status-600").statusCode()).isEqualTo(500);
    assertThat(node.get("/shop/fail-600").statusCode()).isEqualTo(500);
    assertThat(node.get("/shop/broken/write").statusCode()).isEqualTo(500);
    assertThat(node.get("/shop/broken/whole").statusCode()).isEqualTo(500);
    assertThat(node.get("/shop/broken/end").body()).isEqualTo("all");
    untilOngoing(0);
  }

  @Test
  void clientReceivesOneContinue() throws Exception {
    try (Socket client =
        socket(
            "POST /shop/in/echo HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\n"
                + "Content-Length: 5\r\n\r\n")) {
      readUntil(client, "100 Continue\r\n\r\n");
      client.getOutputStream().write("hello".getBytes(StandardCharsets.ISO_8859_1));
      assertThat(readUntil(client, "hello")).contains("200 OK").doesNotContain("100 Continue");
    }
  }

  @Test
  void malformedEscapesAreBadRequests() throws Exception {
    for (String path : List.of("/shop/items/%zz", "/shop/items/1?q=%zz")) {
      try (Socket client = socket("GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n")) {
        assertThat(readUntil(client, "\r\n\r\n")).contains(" 400 ");
      }
    }
    untilOngoing(0);
  }

  @Test
  void secondEndIsRefused() throws Exception {
    assertThat(node.get("/shop/twice").body()).isEqualTo("once");
    assertThat(event("twice")).contains("already been written");
  }

  @Test
  void blockedLoopDelaysAndLosesNothing() {
    CompletableFuture<HttpResponse<String>> busy = node.getAsync("/shop/busy");
    assertThat(node.get("/shop/items/1").body()).isEqualTo("item 1 []");
    assertThat(busy.join().body()).isEqualTo("busy");
  }

  // --- sessions ---

  @Test
  void sessionCountsAndChangesItsIdAtLogin() {
    String first = cookie(node.get("/shop/s/count"));
    assertThat(node.get("/shop/s/count", "cookie", first).body()).isEqualTo("visits 2");
    String second = cookie(node.get("/shop/s/login", "cookie", first));
    assertThat(second).isNotEqualTo(first);
    assertThat(node.get("/shop/s/count", "cookie", second).body()).isEqualTo("visits 3");
    assertThat(node.get("/shop/s/count", "cookie", first).body()).isEqualTo("visits 1");
    assertThat(node.get("/shop/s/count", "cookie", "vertx-web.session=fixed").body())
        .isEqualTo("visits 1");
  }

  private static String cookie(HttpResponse<String> response) {
    return response.headers().firstValue("set-cookie").orElseThrow().split(";")[0];
  }

  @Test
  void formNeedsItsCsrfToken() {
    HttpResponse<String> form = node.get("/shop/form");
    String cookie = cookie(form);
    String token = cookie.substring(cookie.indexOf('=') + 1);
    String[] type = {"content-type", "application/x-www-form-urlencoded"};
    assertThat(node.post("/shop/form", "a=b", type).statusCode()).isEqualTo(403);
    assertThat(
            node.post(
                    "/shop/form", "a=b", type[0], type[1], "cookie", cookie, "x-xsrf-token", token)
                .body())
        .isEqualTo("posted");
  }
}
