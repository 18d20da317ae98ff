package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.ingress.Certificates;
import io.netty.pkitesting.X509Bundle;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests that an operator sends by the admin port to the data port of the instance. */
@Timeout(60)
class PlayIT {
  private static final String INSTANCE =
      """
      http_options: {host: 127.0.0.1, port: 0%s}
      berth:
        ephemeral: true
        shutdown_timeout_s: 5
        explain: {header: %s}
        admin: {port: 0, play: {max_concurrent: 1, max_response_bytes: 8, timeout_s: %s}}
      applications:
        - name: gated
          route_prefix: /app
          import_path: dev.berth.node.TestApplications:gated
          args: {held: play}
          deployments: [{name: front, max_ongoing_requests: 1}]
      """;

  @TempDir private Path folder;

  @AfterEach
  void openGates() {
    TestApplications.openGates();
  }

  private static TestNode start(String tls, boolean header, String timeout) throws Exception {
    return new TestNode(INSTANCE.formatted(tls, header, timeout));
  }

  private static TestNode start() throws Exception {
    TestNode node = start("", true, "30");
    TestNode.until(() -> node.get("/app").statusCode() == 200, () -> "no replica");
    return node;
  }

  private static HttpResponse<String> play(TestNode node, String json, String... headers) {
    return node.admin("POST", "/api/v1/play", json, headers);
  }

  private static List<JsonObject> lines(HttpResponse<String> response) {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    assertThat(response.headers().firstValue("content-type")).hasValue("application/x-ndjson");
    return response.body().lines().filter(line -> !line.isEmpty()).map(JsonObject::new).toList();
  }

  private static long running(TestNode node) {
    return new JsonObject(node.admin("GET", "/api/v1/ledger", "").body())
        .getJsonObject("total")
        .getLong("running");
  }

  @Test
  void responseIsStreamedWithItsExplanation() throws Exception {
    try (TestNode node = start()) {
      List<JsonObject> lines =
          lines(
              play(
                  node, "{\"path\": \"/app/x?y=1\", \"headers\": [[\"X-Request-ID\", \"mine\"]]}"));
      assertThat(lines).hasSize(3);
      JsonObject head = lines.get(0).getJsonObject("head");
      assertThat(head.getInteger("status")).isEqualTo(200);
      assertThat(head.getString("version")).isEqualTo("HTTP/1.1");
      assertThat(head.getString("request_id")).isEqualTo("mine");
      assertThat(lines.get(1).getJsonObject("chunk").getString("text")).isEqualTo("ok");
      JsonObject end = lines.get(2).getJsonObject("end");
      assertThat(end.getLong("bytes")).isEqualTo(2);
      assertThat(end.getBoolean("truncated")).isFalse();
      JsonObject record = end.getJsonObject("explanation");
      assertThat(record.getString("request_id")).isEqualTo("mine");
      assertThat(record.getString("request")).isEqualTo("GET /app/x");
      assertThat(record.getString("outcome")).isEqualTo("ok");
    }
  }

  @Test
  void longResponseIsCutAndUnroutedOneHasNoRecord() throws Exception {
    try (TestNode node = start()) {
      List<JsonObject> lines = lines(play(node, "{\"path\": \"/nothing\"}"));
      assertThat(lines.get(0).getJsonObject("head").getInteger("status")).isEqualTo(404);
      JsonObject end = lines.get(lines.size() - 1).getJsonObject("end");
      assertThat(end.getLong("bytes")).isEqualTo(8);
      assertThat(end.getBoolean("truncated")).isTrue();
      assertThat(end.getValue("explanation")).isNull();
      assertThat(end.getString("why")).isEqualTo("the request reached no deployment");
    }
  }

  @Test
  void clientThatLeavesFreesTheSlotAndThePlace() throws Exception {
    try (TestNode node = start()) {
      try (Socket socket = held(node)) {
        assertThat(socket.isConnected()).isTrue();
        TestApplications.gate("play").entered.get();
        assertThat(running(node)).isEqualTo(1);
        HttpResponse<String> second = play(node, "{\"path\": \"/app\"}");
        assertThat(second.statusCode()).isEqualTo(503);
        assertThat(second.headers().firstValue("retry-after")).hasValue("1");
        assertThat(new JsonObject(second.body()).getString("code")).isEqualTo("too_many_plays");
        assertThat(metric(node, "berth_admin_plays")).isEqualTo(1);
      }
      TestNode.until(() -> metric(node, "berth_admin_plays") == 0, () -> "the play goes on");
      TestNode.until(
          () -> node.admin("GET", "/api/v1/requests", "").body().contains("client_gone"),
          () -> "the request goes on: " + node.admin("GET", "/api/v1/requests", "").body());
      TestApplications.openGates(); // a handler settles after its cancellation
      TestNode.until(() -> running(node) == 0, () -> "the slot is held");
      assertThat(lines(play(node, "{\"path\": \"/app\"}"))).hasSize(3);
    }
  }

  private static Socket held(TestNode node) throws IOException {
    Socket socket = new Socket("127.0.0.1", node.node.adminPort());
    String json = "{\"path\": \"/app/held\"}";
    socket
        .getOutputStream()
        .write(
            ("POST /api/v1/play HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
                    .formatted(json.length(), json))
                .getBytes(StandardCharsets.UTF_8));
    InputStream in = socket.getInputStream();
    assertThat(new String(in.readNBytes(15), StandardCharsets.UTF_8)).isEqualTo("HTTP/1.1 200 OK");
    return socket;
  }

  private static double metric(TestNode node, String name) {
    return node.admin("GET", "/metrics", "")
        .body()
        .lines()
        .filter(line -> line.startsWith(name + "{") || line.startsWith(name + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  @Test
  void lateResponseEndsWithAnErrorLine() throws Exception {
    try (TestNode node = start("", true, "0.5")) {
      TestNode.until(() -> node.get("/app").statusCode() == 200, () -> "no replica");
      List<JsonObject> lines = lines(play(node, "{\"path\": \"/app/held\"}"));
      JsonObject error = lines.get(lines.size() - 1).getJsonObject("error");
      assertThat(error.getString("code")).isEqualTo("timeout");
      assertThat(error.getString("message")).isEqualTo("no whole response after 0.5 s");
      TestApplications.openGates();
    }
  }

  @Test
  void dataPortWithTlsIsReachedByItsOwnCertificateOnly() throws Exception {
    X509Bundle server = Certificates.server(Certificates.authority(), "localhost");
    Path certificate =
        Certificates.write(folder.resolve("server.pem"), server.getCertificatePathPEM());
    Path key = Certificates.write(folder.resolve("server.key"), server.getPrivateKeyPEM());
    String tls = ", ssl_certfile: %s, ssl_keyfile: %s".formatted(certificate, key);
    try (TestNode node = start(tls, true, "30")) {
      TestNode.until(
          () ->
              lines(play(node, "{\"path\": \"/app\"}"))
                  .get(0)
                  .getJsonObject("head", new JsonObject())
                  .getInteger("status", 0)
                  .equals(200),
          () -> "no response over TLS");
    }
  }

  @Test
  void pageOfAnotherSiteMayNotPlay() throws Exception {
    try (TestNode node = start()) {
      String json = "{\"path\": \"/app\"}";
      for (String[] foreign :
          new String[][] {
            {"Origin", "http://evil.example"},
            {"Origin", "null"},
            {"Sec-Fetch-Site", "cross-site"},
            {"Sec-Fetch-Site", "same-site"}
          }) {
        HttpResponse<String> refused = play(node, json, foreign);
        assertThat(refused.statusCode()).isEqualTo(403);
        assertThat(new JsonObject(refused.body()).getString("code")).isEqualTo("cross_site");
      }
    }
  }

  @Test
  void deploymentWithoutARouteHasNoNextRequest() throws Exception {
    String whose =
        "  - {name: whose, route_prefix: /whose, import_path:"
            + " 'dev.berth.node.TestApplications:whose'}\n";
    try (TestNode node = new TestNode(INSTANCE.formatted("", true, "30") + whose)) {
      TestNode.until(() -> node.get("/whose").statusCode() == 200, () -> node.get("/whose").body());
      String path = "/api/v1/applications/whose/deployments/%s/explain-next";
      assertThat(node.admin("POST", path.formatted("back"), "").statusCode()).isEqualTo(404);
      assertThat(node.admin("POST", path.formatted("front"), "").statusCode()).isEqualTo(202);
    }
  }

  @Test
  void nextRequestOfADeploymentIsExplainedOnceWithoutItsHeader() throws Exception {
    try (TestNode node = start("", false, "30")) {
      TestNode.until(() -> node.get("/app").statusCode() == 200, () -> "no replica");
      String path = "/api/v1/applications/gated/deployments/%s/explain-next";
      assertThat(node.admin("POST", path.formatted("none"), "").statusCode()).isEqualTo(404);
      assertThat(node.get("/app", "X-Berth-Explain", "1").statusCode()).isEqualTo(200);
      assertThat(node.admin("POST", path.formatted("front"), "").statusCode()).isEqualTo(202);
      CompletableFuture<HttpResponse<String>> first = node.getAsync("/app/next");
      assertThat(first.get().headers().firstValue("x-berth-overhead-us")).isPresent();
      assertThat(node.get("/app/later").headers().firstValue("x-berth-overhead-us")).isEmpty();
      TestNode.until(
          () -> node.admin("GET", "/api/v1/requests", "").body().contains("GET /app/next"),
          () -> "no record");
      assertThat(node.admin("GET", "/api/v1/requests", "").body()).doesNotContain("later");
      List<JsonObject> lines = lines(play(node, "{\"path\": \"/app\"}"));
      assertThat(lines.get(lines.size() - 1).getJsonObject("end").getString("why"))
          .isEqualTo("berth.explain.header is false");
    }
  }
}
