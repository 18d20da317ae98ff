package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.node.TestNode;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.ext.web.Router;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Equality of one Router's responses behind an HTTP server of Vert.x and behind the ingress. */
class RouterComparisonTest {
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** Headers of either server, or of time and chance. */
  private static final List<String> OWN =
      List.of("x-request-id", "date", "set-cookie", "transfer-encoding");

  @TempDir private static @Nullable Path folder;
  private static @Nullable TestNode node;
  private static @Nullable Vertx vertx;
  private static @Nullable HttpServer server;

  @BeforeAll
  static void start() throws Exception {
    Path root = Files.createDirectories(Objects.requireNonNull(folder).resolve("web/sub"));
    Files.writeString(root.resolve("../a.txt"), "0123456789");
    Files.writeString(root.resolve("../big.bin"), "x".repeat(200_000));
    Files.writeString(root.resolve("index.html"), "<p>index</p>");
    Files.writeString(root.resolve("../../outside.txt"), "secret");
    WebApplications.webroot = root.getParent();
    node = new TestNode(YAML);
    Vertx raw = Vertx.vertx();
    vertx = raw;
    Router router = Router.router(raw);
    WebApplications.routes(router, raw, folder.resolve("uploads").toString());
    server = TestNode.await(raw.createHttpServer().requestHandler(router).listen(0, "127.0.0.1"));
  }

  static final String YAML =
      """
      http_options: {host: 127.0.0.1, port: 0}
      applications:
      - {name: shop, route_prefix: /, import_path: 'dev.berth.web.WebApplications:shop'}
      berth: {event_loops: 1, admin: {port: 0}}
      """;

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
    if (vertx != null) {
      TestNode.await(vertx.close());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET /items/1",
        "GET /items/1?q=a%20b&q=c",
        "GET /items/a%2Fb",
        "GET /items/..%2f..%2fx",
        "GET /items/0",
        "HEAD /items/1",
        "OPTIONS /items/1",
        "DELETE /items/1",
        "POST /items/1",
        "GET /nothing",
        "HEAD /nothing",
        "POST /only-json text/plain x",
        "POST /only-json application/json {}",
        "GET /only-xml accept=text/plain",
        "GET /only-xml accept=application/xml",
        "GET /boom",
        "GET /fails",
        "GET /error-page",
        "GET /conflict",
        "GET /redirect",
        "GET /text accept=text/plain",
        "GET /cookie cookie=taste=sweet",
        "OPTIONS /cors/it origin=http://a.example access-control-request-method=PUT",
        "OPTIONS /cors/it origin=http://b.example access-control-request-method=PUT",
        "GET /cors/it origin=http://a.example",
        "GET /slow/never",
        "GET /private/me",
        "GET /private/me authorization=Basic dTpzZWNyZXQ=",
        "GET /private/me authorization=Basic dTp3cm9uZw==",
        "GET /form",
        "POST /form application/x-www-form-urlencoded a=b",
        "GET /v1/orders/7",
        "GET /v1/none",
        "PUT /v1/orders/7",
        "GET /static/a.txt",
        "HEAD /static/a.txt",
        "GET /static/a.txt range=bytes=2-4",
        "GET /static/a.txt range=bytes=20-",
        "GET /static/a.txt if-modified-since=Fri, 01 Jan 2100 00:00:00 GMT",
        "GET /static/big.bin",
        "HEAD /static/big.bin",
        "GET /static/big.bin range=bytes=100000-",
        "GET /static/sub",
        "GET /static/sub/",
        "GET /static/none",
        "GET /static/../outside.txt",
        "GET /static/%2e%2e/outside.txt",
        "GET /static/..%2foutside.txt",
        "GET /static/%252e%252e%252foutside.txt",
        "POST /in/json application/json {\"a\":1}",
        "POST /in/json application/json {",
        "POST /in/echo text/plain hello",
        "POST /in/echo text/plain",
        "GET /late",
        "POST /pipe text/plain piped",
        "GET /chunks",
        "GET /blocking",
        "GET /twice",
        "GET /length",
        "HEAD /length",
        "GET /no-content",
        "GET /s/count",
      })
  void routerAnswersAsOnAnHttpServer(String line) throws Exception {
    HttpResponse<String> raw = send(Objects.requireNonNull(server).actualPort(), line);
    HttpResponse<String> here = send(Objects.requireNonNull(node).port(), line);
    assertThat(here.statusCode()).as("status").isEqualTo(raw.statusCode());
    assertThat(headers(here)).as("headers").isEqualTo(headers(raw));
    assertThat(here.body()).as("body").isEqualTo(raw.body());
    if (raw.headers().firstValue("content-length").isPresent()) {
      assertThat(here.headers().firstValue("content-length"))
          .isEqualTo(raw.headers().firstValue("content-length"));
    }
  }

  private static Map<String, List<String>> headers(HttpResponse<?> response) {
    Map<String, List<String>> all = new TreeMap<>(response.headers().map());
    all.keySet().removeAll(OWN);
    all.remove("content-length"); // a short chunked body is sent whole
    return all;
  }

  static HttpResponse<String> send(int port, String line) throws Exception {
    String[] parts = line.split(" ", 4);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + parts[1]));
    String body = "";
    if (parts[0].equals("POST") && parts.length > 2) {
      request.header("content-type", parts[2]);
      body = parts.length > 3 ? parts[3] : "";
    } else {
      String rest = line.split(" ", 3).length > 2 ? line.split(" ", 3)[2] : "";
      for (String header : rest.isEmpty() ? new String[0] : rest.split(" (?=[a-z-]+=)")) {
        request.header(
            header.substring(0, header.indexOf('=')), header.substring(header.indexOf('=') + 1));
      }
    }
    return CLIENT.send(
        request
            .method(
                parts[0], body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
            .build(),
        BodyHandlers.ofString());
  }
}
