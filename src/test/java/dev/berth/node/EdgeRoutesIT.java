package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The rules of routes for browsers, from a file and a deploy to the responses. */
@Timeout(60)
class EdgeRoutesIT {
  private static final String INSTANCE =
      """
      http_options: {host: 127.0.0.1, port: 0}
      berth:
        ephemeral: true
        admin: {port: 0}
        shutdown_timeout_s: 5
        response_headers: {x-instance: here}
        endpoints:
          - {route_prefix: /ep, traffic: [{application: gated, deployment: front, weight: 1}], cors: {origins: ['*']}}
          - {route_prefix: /none, traffic: [{application: no, deployment: no, weight: 1}], cors: {origins: ['*']}}
      """;
  private static final String GATED =
      """
      applications:
        - name: gated
          route_prefix: /
          import_path: dev.berth.node.TestApplications:gated
          args: {held: edge}
          berth: {cors: {origins: ['https://%s.example']}, response_headers: {x-app: gated}}
          deployments:
            - {name: front, max_ongoing_requests: 1, berth: {queue_timeout_s: 0.2}}
      """;
  private static final String BUILT_IN =
      """
      applications:
        - name: llm
          route_prefix: /llm
          import_path: berth:openai
          args: {models: [{name: small, deployment: one}]}
          berth: {cors: {origins: ['https://a.example']}, compression: {min_bytes: 1}}
          deployments:
            - {name: one, berth: {upstreams: [{url: '%s', max_ongoing_requests: 2}]}}
        - name: tools
          route_prefix: /mcp
          import_path: berth:mcp
          berth: {cors: {origins: ['https://a.example']}}
          deployments:
            - {name: servers, berth: {upstreams: [{url: 'http://127.0.0.1:9', max_ongoing_requests: 2}]}}
      """;
  private static final String ALLOWED = "access-control-allow-origin";

  @AfterEach
  void openGates() {
    TestApplications.openGates();
  }

  private static HttpResponse<String> preflight(TestNode node, String path) throws Exception {
    return node.sendAsync(
            "OPTIONS", path, "origin", "https://a.example", "access-control-request-method", "POST")
        .get();
  }

  private static String allowed(HttpResponse<String> response) {
    return response.statusCode() + " " + response.headers().firstValue(ALLOWED).orElse("none");
  }

  @Test
  void preflightIsAnsweredWhileAllSlotsAreTaken() throws Exception {
    try (TestNode node = new TestNode(INSTANCE + GATED.formatted("a"))) {
      TestNode.until(() -> node.get("/").statusCode() == 200, () -> "no replica");
      CompletableFuture<HttpResponse<String>> held =
          node.getAsync("/held", "origin", "https://a.example");
      TestApplications.gate("edge").entered.get();
      HttpResponse<String> refused = node.get("/", "origin", "https://a.example");
      assertThat(allowed(refused)).isEqualTo("503 https://a.example");
      assertThat(refused.headers().map()).containsKeys("x-app", "x-instance");
      assertThat(allowed(preflight(node, "/held"))).isEqualTo("204 https://a.example");
      assertThat(allowed(preflight(node, "/ep/held"))).isEqualTo("204 *");
      assertThat(allowed(preflight(node, "/none"))).isEqualTo("204 *"); // not parked
      assertThat(node.get("/-/healthz").headers().map())
          .containsKey("x-instance")
          .doesNotContainKey("x-app");
      node.admin("PUT", "/api/serve/applications/", GATED.formatted("b")); // while it is held
      TestNode.until(
          () ->
              allowed(node.get("/", "origin", "https://b.example")).equals("503 https://b.example"),
          () -> "not changed in place");
      TestApplications.openGates();
      assertThat(held.get().body()).isEqualTo("ok"); // by the same replica
    }
  }

  @Test
  void builtInApplicationsHaveTheRulesToo() throws Exception {
    try (CountingUpstream upstream = new CountingUpstream();
        TestNode node = new TestNode(INSTANCE + BUILT_IN.formatted(upstream.url()))) {
      upstream.behave("llm");
      String chat = "/llm/v1/chat/completions";
      String body = "{\"model\":\"small\"}";
      TestNode.until(() -> node.post(chat, body).statusCode() == 200, () -> "no model");
      HttpResponse<String> answer =
          node.post(chat, body, "origin", "https://a.example", "accept-encoding", "deflate");
      assertThat(allowed(answer)).isEqualTo("200 https://a.example");
      assertThat(answer.headers().firstValue("content-encoding")).hasValue("deflate");
      assertThat(allowed(preflight(node, chat))).isEqualTo("204 https://a.example");
      HttpResponse<String> plain = node.sendAsync("OPTIONS", chat, "accept", "*/*").get();
      assertThat(plain.statusCode()).isEqualTo(405); // no preflight
      assertThat(plain.headers().firstValue("allow")).hasValue("POST");
      assertThat(allowed(preflight(node, "/mcp"))).isEqualTo("204 https://a.example");
      HttpResponse<String> other = node.post("/mcp", "{}", "origin", "https://a.example");
      assertThat(allowed(other)).isEqualTo("403 https://a.example"); // by the origins of MCP
    }
  }
}
