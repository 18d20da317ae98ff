package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an instance says of a deployment that autoscales, and what it records. */
class AutoscalingViewTest {
  private static final String CONFIG =
      """
      http_options: {host: 127.0.0.1, port: 0}
      applications:
        - name: auto
          route_prefix: /auto
          import_path: dev.berth.node.TestApplications:plain
          deployments:
            - {name: front, autoscaling_config: {max_replicas: 3, upscale_delay_s: 0}}
        - name: fixed
          route_prefix: /fixed
          import_path: dev.berth.node.TestApplications:plain
      berth:
        event_loops: 1
        admin: {port: 0}
        metrics: {record_interval_ms: 10, push_interval_ms: 10}
        autoscaling: {record: %s}
      """;

  @TempDir Path dir;

  private static HttpResponse<String> ask(TestNode node, String application, String deployment) {
    return node.admin(
        "GET",
        "/api/v1/applications/" + application + "/deployments/" + deployment + "/autoscaling",
        "");
  }

  @Test
  void anInstanceSaysWhyThereAreSoManyReplicasAndRecordsIt() throws Exception {
    Path record = dir.resolve("scaling.jsonl");
    try (TestNode node = new TestNode(CONFIG.formatted(record))) {
      node.get("/auto");
      TestNode.until(
          () -> !inputs(ask(node, "auto", "front")).getJsonArray("sources").isEmpty(),
          () -> "a report: " + ask(node, "auto", "front").body());
      JsonObject whole = new JsonObject(ask(node, "auto", "front").body());
      long now = System.currentTimeMillis();
      JsonObject decision = whole.getJsonArray("decisions").getJsonObject(0);
      assertThat(decision.getLong("at_ms")).isBetween(now - 60_000, now + 1);
      assertThat(decision.getString("why")).isNotEmpty();
      assertThat(decision.getValue("until_ms")).as("no delay runs").isNull();
      assertThat(decision.getJsonObject("state").containsKey("since_ms")).isTrue();
      assertThat(whole.getJsonObject("now").getInteger("max_replicas")).isEqualTo(3);
      assertThat(whole.getJsonObject("demand").getInteger("instances")).isEqualTo(1);
      JsonObject source =
          inputs(ask(node, "auto", "front")).getJsonArray("sources").getJsonObject(0);
      assertThat(source.getLong("age_ms")).isBetween(0L, 10_000L);
      assertThat(whole.encode()).doesNotContain("_nanos");

      assertThat(ask(node, "fixed", "front").statusCode()).isEqualTo(404);
      assertThat(ask(node, "fixed", "front").body()).contains("fixed#front does not autoscale");
      assertThat(ask(node, "fixed", "x").body())
          .contains("deployment: fixed#x (expected: one with");
      assertThat(ask(node, "none", "x").body()).contains("application: none (expected: a deployed");
      assertThat(ask(node, "none", "x").statusCode()).isEqualTo(404);

      JsonObject serve = new JsonObject(node.admin("GET", "/api/v1/serve", "").body());
      assertThat(serve.encode()).contains("\"min_replicas\":1", "\"autoscaling\":null");
      assertThat(node.admin("GET", "/api/serve/applications/", "").body())
          .contains("\"autoscaling_detail\"");
    }
    assertThat(Files.readString(record))
        .contains("\"max_replicas\":3", "\"average_load\"", "\"decision\"")
        .doesNotContain("_nanos", "\"name\":\"fixed\"");
  }

  private static JsonObject inputs(HttpResponse<String> answer) {
    return new JsonObject(answer.body()).getJsonObject("inputs");
  }
}
