package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Routes whose requests must pass rules at the ingress: no other way leads to their deployments.
 */
@Timeout(60)
class RuledRoutesIT {
  private static final String BODY = "{\"model\":\"small\"}";
  private static final String INSTANCE =
      """
      http_options: {host: 127.0.0.1, port: 0}
      berth:
        ephemeral: true
        admin: {port: 0}
        shutdown_timeout_s: 5
        endpoints:
          - {route_prefix: %s, queue_timeout_s: %s, traffic: [{application: llm, deployment: one, weight: 1}]}
      """;
  private static final String APPLICATION =
      """
      applications:
        - name: llm
          route_prefix: /llm
          import_path: berth:openai
          args: {models: [{name: small, deployment: one}]}
          deployments:
            - {name: one, berth: {upstreams: [{url: '%s', max_ongoing_requests: 2}]}}
      """;

  @Test
  void endpointLeadsToNoDeploymentWithRules() throws Exception {
    try (CountingUpstream upstream = new CountingUpstream();
        TestNode node =
            new TestNode(INSTANCE.formatted("/ep", 1) + APPLICATION.formatted(upstream.url()))) {
      TestNode.until(
          () -> node.post("/llm/v1/chat/completions", BODY).statusCode() == 200, () -> "no model");
      int before = upstream.requests();
      assertThat(node.post("/ep/v1/chat/completions", BODY).statusCode()).isEqualTo(503);
      assertThat(upstream.requests()).isEqualTo(before);
    }
  }

  @Test
  void parkedRequestEntersNoRouteWithRules() throws Exception {
    try (CountingUpstream upstream = new CountingUpstream();
        TestNode node = new TestNode(INSTANCE.formatted("/", 30) + "applications: []\n")) {
      CompletableFuture<HttpResponse<String>> parked =
          node.postAsync("/llm/v1/chat/completions", BODY);
      TestNode.until(
          () ->
              node.admin("GET", "/metrics", "")
                  .body()
                  .lines()
                  .anyMatch(line -> line.matches("berth_http_requests_parked(\\{.*})? 1\\.0")),
          () -> "not parked");
      node.admin("PUT", "/api/serve/applications/", APPLICATION.formatted(upstream.url()));
      assertThat(parked.join().statusCode()).isEqualTo(503);
      assertThat(upstream.requests()).isZero();
    }
  }
}
