package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.FakeMcpServer;
import io.vertx.core.json.JsonObject;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two nodes of a cluster in front of two MCP servers, each of which one node owns. */
@Timeout(90)
class McpNodesIT {
  private static final String APP =
      """
      applications:
        - name: tools
          route_prefix: /mcp
          import_path: berth:mcp
          deployments:
            - name: servers
              berth:
                mcp: {max_streams: 1}
                upstreams:
                  - {url: '%s', max_ongoing_requests: 1}
                  - {url: '%s', max_ongoing_requests: 1}
      """;

  private static final String RESULT = "{\"jsonrpc\":\"2.0\",\"id\":\"answer\",\"result\":{}}";

  @TempDir private Path folder;
  private NodePair pair;
  private List<TestNode> nodes;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private FakeMcpServer one;
  private FakeMcpServer two;

  @BeforeEach
  void twoNodes() throws Exception {
    one = new FakeMcpServer("one");
    two = new FakeMcpServer("two");
    pair = new NodePair(folder);
    nodes = pair.nodes;
    HttpResponse<String> deployed = pair.deploy(APP.formatted(one.url(), two.url()));
    assertThat(deployed.statusCode()).as(deployed.body()).isEqualTo(200);
    for (TestNode node : nodes) {
      TestNode.until(() -> initialize(node).statusCode() == 200, () -> initialize(node).body());
    }
  }

  @AfterEach
  void end() {
    pair.close();
    one.close();
    two.close();
  }

  private HttpRequest.Builder to(TestNode node, String... headers) {
    HttpRequest.Builder to =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.port() + "/mcp"));
    return headers.length == 0 ? to : to.headers(headers);
  }

  private HttpResponse<String> send(HttpRequest.Builder request) {
    return client
        .sendAsync(request.build(), BodyHandlers.ofString())
        .orTimeout(30, TimeUnit.SECONDS)
        .join();
  }

  private HttpResponse<InputStream> open(HttpRequest.Builder request) {
    return client
        .sendAsync(request.build(), BodyHandlers.ofInputStream())
        .orTimeout(30, TimeUnit.SECONDS)
        .join();
  }

  private static String call(String id, String tool) {
    return "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}"
        .formatted(id, tool);
  }

  private HttpResponse<String> post(TestNode node, String body, String... headers) {
    return send(to(node, headers).POST(BodyPublishers.ofString(body)));
  }

  private HttpResponse<String> initialize(TestNode node) {
    return post(node, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\"}");
  }

  /** Returns a session at one of the servers, made by either node. */
  private String sessionAt(String server) {
    for (int i = 0; i < 100; i++) {
      TestNode node = nodes.get(i % 2); // each prefers its own server
      String session = initialize(node).headers().firstValue("mcp-session-id").orElseThrow();
      HttpResponse<String> response = post(node, call("1", "echo"), "mcp-session-id", session);
      if (response.body().contains(server)) {
        return session;
      }
    }
    throw new AssertionError("no session at " + server);
  }

  @Test
  void sessionOfOneNodeIsRoutedByAnother() {
    for (String server : List.of("one", "two")) {
      String session = sessionAt(server);
      for (TestNode node : nodes) {
        HttpResponse<String> response = post(node, call("1", "echo"), "mcp-session-id", session);
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(new JsonObject(response.body()).getJsonObject("result").getString("server"))
            .isEqualTo(server);
      }
    }
  }

  @Test
  void messagesAndStreamsCrossNodesWithoutASlot() throws Exception {
    for (FakeMcpServer server : List.of(one, two)) {
      String name = server == one ? "one" : "two";
      String session = sessionAt(name);
      for (TestNode node : nodes) { // one of them is not the owner
        HttpResponse<InputStream> running =
            open(
                to(node, "mcp-session-id", session)
                    .POST(BodyPublishers.ofString(call("elicit", "elicit"))));
        HttpResponse<InputStream> stream = open(to(node, "mcp-session-id", session).GET());
        assertThat(stream.statusCode()).isEqualTo(200);
        assertThat(send(to(node, "mcp-session-id", session).GET()).statusCode()).isEqualTo(409);
        String other = sessionAt(name.equals("one") ? "two" : "one");
        try (InputStream open = open(to(node, "mcp-session-id", other).GET()).body()) {
          assertThat(open.read()).isPositive(); // the limit is one for each server
        }
        assertThat(post(node, RESULT, "mcp-session-id", session).statusCode()).isEqualTo(202);
        assertThat(new String(running.body().readAllBytes(), StandardCharsets.UTF_8))
            .contains("elicitation/create")
            .contains("\"result\"");
        stream.body().close();
        TestNode.until(
            () -> one.streams() + two.streams() == 0, () -> "streams of " + name + " are open");
      }
    }
  }

  @Test
  void limitOfAToolHoldsForTheCallsOfBothNodesWhichWait() {
    String limited =
        APP.formatted(one.url(), two.url())
            .replace("max_streams: 1", "tools: {wait: {max_ongoing_requests: 1}}")
            .replace("', max_ongoing_requests: 1}", "', max_ongoing_requests: 3}");
    pair.deploy(limited);
    for (TestNode node : nodes) {
      TestNode.until(
          () ->
              node.admin("GET", "/api/v1/ledger", "")
                  .body()
                  .contains("\"max_ongoing_requests\" : 6"), // together
          () -> node.admin("GET", "/api/v1/ledger", "").body());
    }
    String session = sessionAt("one");
    List<CompletableFuture<HttpResponse<String>>> calls = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      calls.add(
          client.sendAsync(
              to(nodes.get(i % 2), "mcp-session-id", session)
                  .POST(BodyPublishers.ofString(call("w" + i, "wait")))
                  .build(),
              BodyHandlers.ofString()));
    }
    TestNode.until(() -> one.ongoing() == 1, () -> "a call runs");
    for (TestNode node : nodes) {
      assertThat(post(node, call("e", "echo"), "mcp-session-id", session).statusCode())
          .isEqualTo(200);
    }
    TestNode.until(
        () -> {
          for (int i = 0; i < 6; i++) {
            one.releaseIfOpen("w" + i);
          }
          return calls.stream().allMatch(CompletableFuture::isDone);
        },
        () -> calls.toString());
    for (CompletableFuture<HttpResponse<String>> each : calls) {
      assertThat(each.join().statusCode()).as(each.join().body()).isEqualTo(200);
    }
    assertThat(one.highest()).isEqualTo(1);
  }
}
