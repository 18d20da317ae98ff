package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.metrics.Meters;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.junit.jupiter.api.Test;

/** Every metric an instance exports stands in {@code docs/metrics.md}, and nothing else does. */
class MetricsReferenceTest {
  private static final Path REFERENCE = Path.of("docs/metrics.md");

  /** All that can be shown: a limited queue, a log, a request that succeeds and one that fails. */
  private static final String CONFIG =
      """
      http_options: {host: 127.0.0.1, port: 0}
      logging_config: {enable_access_log: true}
      applications:
        - name: plain
          route_prefix: /plain
          import_path: dev.berth.node.TestApplications:plain
          deployments: [{name: front, max_queued_requests: 5, autoscaling_config: {}}]
          berth: {traffic: [{deployment: front, weight: 1}], shadow: [{deployment: back}]}
        - name: telling
          route_prefix: /telling
          import_path: dev.berth.node.TestApplications:telling
          deployments: [{name: telling, autoscaling_config: {}}]
        - name: broken
          route_prefix: /broken
          import_path: dev.berth.node.TestApplications:broken
      berth:
        event_loops: 1
        admin: {port: 0}
        shutdown_timeout_s: 5
        autoscaling: {record: target/metrics-reference.jsonl}
      """;

  /** Run with {@code -Dberth.docs.write=true} to write the file anew. */
  @Test
  void theReferenceSaysWhatAnInstanceExports() throws Exception {
    try (TestNode node = new TestNode(CONFIG)) {
      node.get("/plain");
      node.get("/broken");
      TestNode.until(
          () -> node.admin("GET", "/metrics", "").body().contains("autoscaling_stats_failed"),
          () -> "no hook was asked");
      String reference = MetricsReference.render(node.admin("GET", "/metrics", "").body());
      if (Boolean.getBoolean("berth.docs.write")) {
        Files.writeString(REFERENCE, reference);
      } else {
        assertThat(Files.readString(REFERENCE))
            .as(
                "%s; write it anew with: mvn test -Dtest=MetricsReferenceTest"
                    + " -Dberth.docs.write=true",
                REFERENCE)
            .isEqualTo(reference);
      }
      Properties meanings = new Properties();
      try (InputStream in = Meters.class.getResourceAsStream("metrics.properties")) {
        meanings.load(in);
      }
      assertThat(meanings.stringPropertyNames())
          .as("what metrics.properties explains is exported")
          .allMatch(name -> reference.matches("(?s).*\\| `" + name + "(_total)?` \\|.*"));
    }
  }
}
