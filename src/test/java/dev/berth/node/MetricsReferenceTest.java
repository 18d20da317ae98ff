package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.metrics.Meters;
import io.vertx.core.Future;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
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
          deployments: [{name: front, max_queued_requests: 5}]
        - name: broken
          route_prefix: /broken
          import_path: dev.berth.node.TestApplications:broken
      berth: {event_loops: 1, admin: {port: 0}, shutdown_timeout_s: 5}
      """;

  private final HttpClient client = HttpClient.newHttpClient();

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }

  private String get(int port, String path) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + port + path);
    return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body();
  }

  /** Run with {@code -Dberth.docs.write=true} to write the file anew. */
  @Test
  void theReferenceSaysWhatAnInstanceExports() throws Exception {
    BerthNode node = await(BerthNode.start(ConfigReader.read("test.yaml", Path.of("."), CONFIG)));
    try {
      get(node.port(), "/plain");
      get(node.port(), "/broken");
      String reference = MetricsReference.render(get(node.adminPort(), "/metrics"));
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
    } finally {
      await(node.close());
    }
  }
}
