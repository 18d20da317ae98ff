package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What an instance shows of its routers, replicas and loops is what they have done. */
class MetricValuesTest {
  private static final String CONFIG =
      """
      http_options: {host: 127.0.0.1, port: 0}
      applications:
        - name: plain
          route_prefix: /plain
          import_path: dev.berth.node.TestApplications:plain
        - name: broken
          route_prefix: /broken
          import_path: dev.berth.node.TestApplications:broken
        - name: gated
          route_prefix: /gated
          import_path: dev.berth.node.TestApplications:gated
          args: {held: values}
          deployments: [{name: front, max_ongoing_requests: 1, max_queued_requests: 1}]
        - name: one
          route_prefix: /one
          import_path: dev.berth.node.TestApplications:where
          deployments: [{name: where, num_replicas: 1}]
        - name: ten
          route_prefix: /ten
          import_path: dev.berth.node.TestApplications:where
          deployments: [{name: where, num_replicas: 11}]
      berth: {event_loops: 1, admin: {port: 0}, shutdown_timeout_s: 5}
      """;
  private static final String PLAIN = "application=\"plain\",deployment=\"front\"";
  private static final String BROKEN = "application=\"broken\",deployment=\"broken\"";
  private static final String GATED = "application=\"gated\",deployment=\"front\"";

  private TestNode node;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode(CONFIG);
  }

  @AfterEach
  void stop() throws Exception {
    TestApplications.openGates();
    node.close();
  }

  private int status(String path) {
    return node.get(path).statusCode();
  }

  /** {@code name{labels} value}, without what names one replica. */
  private List<String> lines() {
    String all = node.admin("GET", "/metrics", "").body();
    return all.replaceAll(",replica(_id)?=\"[^\"]*\"", "").lines().toList();
  }

  @Test
  void requestsAreCountedByTheRouterAndByTheReplica() throws Exception {
    for (int i = 0; i < 3; i++) {
      assertThat(status("/plain")).isEqualTo(200);
    }
    assertThat(status("/broken")).isEqualTo(500);
    assertThat(lines())
        .contains(
            "serve_num_router_requests_total{" + PLAIN + ",route=\"/plain\"} 3.0",
            "serve_handle_request_counter_total{" + PLAIN + ",route=\"/plain\"} 3.0",
            "serve_request_router_fulfillment_time_ms_count{" + PLAIN + "} 3",
            "serve_request_router_queue_len{" + PLAIN + "} 0.0",
            "berth_back_pressured_requests_total{" + PLAIN + "} 0.0",
            "serve_deployment_request_counter_total{" + PLAIN + ",route=\"/plain\"} 3.0",
            "serve_deployment_processing_latency_ms_count{" + PLAIN + ",route=\"/plain\"} 3",
            "serve_deployment_processing_latency_ms_bucket{"
                + PLAIN
                + ",route=\"/plain\",le=\"+Inf\"} 3",
            "serve_health_check_latency_ms_count{" + PLAIN + "} 1",
            "serve_deployment_replica_starts_total{" + PLAIN + "} 1.0",
            "serve_deployment_replica_healthy{" + PLAIN + "} 1.0",
            "serve_zombie_requests{" + PLAIN + "} 0.0",
            "berth_replica_slots{" + PLAIN + "} 5.0",
            "berth_slots_granted_total{" + PLAIN + "} 3.0",
            "berth_audit_mismatches{" + PLAIN + "} 0.0",
            "serve_deployment_error_counter_total{"
                + BROKEN
                + ",exception_type=\"dev.berth.api.BerthException$HandlerFailed\","
                + "route=\"/broken\"} 1.0",
            "berth_pending_requests_limit{loop=\"0\"} 8192.0",
            "berth_late_answers_dropped_total{loop=\"0\"} 0.0");
  }

  /** The byte budget of {@code /metrics}: an instance may host thousands of idle replicas. */
  @Test
  void anIdleReplicaTakesAtMost900BytesAndNoCounterAt0() throws Exception {
    String one = linesOf("one", 1);
    String ten = linesOf("ten", 11);
    assertThat((ten.length() - one.length()) / 10).as(one).isBetween(100, 900);
    assertThat((ten.lines().count() - one.lines().count()) / 10.0).as(one).isEqualTo(7);
    assertThat(ten.lines())
        .filteredOn(line -> line.contains("replica"))
        .noneMatch(line -> line.contains("_bucket{"))
        .noneMatch(line -> line.contains("_total{") && line.endsWith(" 0.0"));
  }

  /** The series of an idle application with so many replicas. */
  private String linesOf(String application, int replicas) {
    Supplier<List<String>> lines =
        () ->
            node.admin("GET", "/metrics", "")
                .body()
                .lines()
                .filter(line -> line.contains("application=\"" + application + "\""))
                .toList();
    TestNode.until(
        () ->
            lines.get().stream().filter(each -> each.startsWith("berth_replica_slots{")).count()
                == replicas,
        () -> "lines: " + lines.get());
    return String.join("\n", lines.get());
  }

  @Test
  void whatRunsWaitsAndIsRefusedIsToldApart() throws Exception {
    TestApplications.Gate gate = TestApplications.gate("values");
    CompletableFuture<HttpResponse<String>> running = node.getAsync("/gated/held");
    gate.entered.get(20, TimeUnit.SECONDS);
    CompletableFuture<HttpResponse<String>> waiting = node.getAsync("/gated/held");
    TestNode.until(
        () -> lines().contains("serve_deployment_queued_queries{" + GATED + "} 1.0"),
        () -> "lines: " + lines());
    assertThat(status("/gated")).isEqualTo(503);
    assertThat(lines())
        .contains(
            "berth_queued_queries_limit{" + GATED + "} 1.0",
            "serve_num_ongoing_requests_at_replicas{" + GATED + "} 1.0",
            "serve_request_router_queue_len{" + GATED + "} 1.0",
            "serve_reserved_slots_active{" + GATED + "} 0.0",
            "serve_replica_processing_queries{" + GATED + "} 1.0",
            "berth_back_pressured_requests_total{" + GATED + "} 1.0",
            "berth_slot_hand_offs_total{" + GATED + "} 0.0",
            "berth_queued_requests 1.0",
            "berth_pending_requests{loop=\"0\"} 1.0");
    gate.open.complete(null);
    assertThat(running.get(20, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    assertThat(waiting.get(20, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    assertThat(lines())
        .contains(
            "berth_slot_hand_offs_total{" + GATED + "} 1.0",
            "serve_num_ongoing_requests_at_replicas{" + GATED + "} 0.0",
            "serve_deployment_queued_queries{" + GATED + "} 0.0");
  }
}
