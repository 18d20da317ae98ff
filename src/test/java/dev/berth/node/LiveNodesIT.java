package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.live.FeedClient;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The live feed and the history of running instances. */
@Timeout(120)
class LiveNodesIT {
  private static final String PLAIN =
      """
      applications:
        - name: plain
          route_prefix: /plain
          import_path: dev.berth.node.TestApplications:plain
      """;
  private static final String ALONE =
      """
      http_options: {host: 127.0.0.1, port: 0}
      berth: {event_loops: 1, admin: {port: 0, dashboard: %s}, shutdown_timeout_s: 5}
      """;
  private static final String OF_PLAIN = "/api/v1/history?deployment=plain%23front";

  @TempDir private Path folder;

  private static double highest(TestNode node, String path, String column) {
    var response = node.admin("GET", path, "");
    if (response.statusCode() != 200) {
      return -1;
    }
    JsonArray values =
        new JsonObject(response.body()).getJsonObject("columns").getJsonArray(column);
    return values.stream()
        .filter(Objects::nonNull)
        .mapToDouble(each -> (Double) each)
        .max()
        .orElse(-1);
  }

  @Test
  void requestsAppearInTheFeedAndInTheHistory() throws Exception {
    try (TestNode node = new TestNode(ALONE.formatted(true) + PLAIN);
        FeedClient feed =
            new FeedClient(
                node.node.adminPort(),
                "overview,deployment:plain%23front,requests,ledger,nodes,log,traffic,upstreams")) {
      assertThat(feed.next()).startsWith("event: hello").contains("\"controller\":true");
      for (int topic = 0; topic < 8; topic++) {
        assertThat(feed.next()).startsWith("event: snapshot");
      }
      TestNode.until(
          () -> {
            assertThat(node.get("/plain", "X-Berth-Explain", "1").statusCode()).isEqualTo(200);
            return highest(node, "/api/v1/history", "requests_per_s") > 0
                && highest(node, OF_PLAIN, "p99_ms") > 0
                && highest(node, OF_PLAIN, "slots") > 0
                && highest(node, OF_PLAIN, "target") > 0;
          },
          () -> node.admin("GET", OF_PLAIN, "").body());
      assertThat(feed.until("\"arrived_at\""))
          .startsWith("event: delta data: {\"topic\":\"requests\"");
      String own =
          "/api/v1/history?node="
              + new JsonObject(node.admin("GET", "/api/v1/serve", "").body()).getString("node");
      assertThat(highest(node, own, "loop_lag_ms")).isGreaterThanOrEqualTo(0);
    }
  }

  @Test
  void workerShowsTheWholeClusterAndItselfWithoutAController() throws Exception {
    try (NodePair pair = new NodePair(folder)) {
      TestNode worker = pair.nodes.get(1);
      assertThat(pair.deploy(PLAIN).statusCode()).isEqualTo(200);
      TestNode.until(
          () -> worker.get("/plain").statusCode() == 200, () -> worker.get("/plain").body());
      try (FeedClient feed = new FeedClient(worker.node.adminPort(), "overview,nodes,ledger")) {
        assertThat(feed.next()).startsWith("event: hello data: {\"node\":\"n1~");
        String overview = feed.until("\"overview\"");
        assertThat(overview).contains("\"app/plain\"").contains("\"node/n1\"", "\"node/n2\"");
        TestNode.until(
            () -> {
              worker.get("/plain");
              return highest(worker, OF_PLAIN, "requests_per_s") > 0
                  && highest(worker, OF_PLAIN, "slots") > 0;
            },
            () -> worker.admin("GET", OF_PLAIN, "").body());
        pair.nodes.remove(0).close();
        TestNode.until(
            () -> worker.admin("GET", "/api/v1/history", "").statusCode() == 200,
            () -> worker.admin("GET", "/api/v1/history", "").body());
        try (FeedClient own = new FeedClient(worker.node.adminPort(), "overview,autoscaling")) {
          assertThat(own.next())
              .startsWith("event: hello data: {\"node\":\"n2~")
              .contains("\"controller\":false", "\"why\":\"controller: ");
          assertThat(own.next()).contains("\"node/n2~");
          assertThat(own.next())
              .startsWith("event: unavailable")
              .doesNotContain("controller: on another node");
        }
      }
    }
  }

  @Test
  void disabledDashboardHasNeitherFeedNorHistory() throws Exception {
    try (TestNode node = new TestNode(ALONE.formatted(false) + PLAIN)) {
      assertThat(node.admin("GET", "/api/v1/live?topics=overview", "").statusCode()).isEqualTo(404);
      assertThat(node.admin("GET", "/api/v1/history", "").statusCode()).isEqualTo(404);
      assertThat(node.admin("GET", "/metrics", "").body()).doesNotContain("berth_live_viewers");
    }
  }
}
