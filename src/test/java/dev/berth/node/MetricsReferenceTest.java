package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.berth.ingress.Certificates;
import dev.berth.metrics.Meters;
import dev.berth.replica.CountingReplica;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every metric an instance exports stands in {@code docs/metrics.md}, and nothing else does. */
class MetricsReferenceTest {
  private static final Path REFERENCE = Path.of("docs/metrics.md");

  private static final String HTTP = "http_options: {host: 127.0.0.1, port: 0}\n";

  /**
   * All that can be shown, by two nodes of a cluster: a limited queue, a log, a request that
   * succeeds, one that fails and one that dispatches a selection.
   */
  private static final String CONFIG =
      """
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
        - name: batched
          route_prefix: /batched
          import_path: dev.berth.node.TestApplications:batched
        - name: broken
          route_prefix: /broken
          import_path: dev.berth.node.TestApplications:broken
        - name: whose
          route_prefix: /whose
          import_path: dev.berth.node.TestApplications:whose
        - name: llm
          route_prefix: /llm
          import_path: berth:openai
          args: {models: [{name: small, deployment: small}]}
          deployments:
            - name: small
              berth: {upstreams: [{url: "http://127.0.0.1:%1$d", max_ongoing_requests: 1}]}
        - name: tools
          route_prefix: /mcp
          import_path: berth:mcp
          deployments:
            - name: server
              berth:
                upstreams: [{url: "http://127.0.0.1:%1$d", id: mcp, max_ongoing_requests: 1}]
      """;

  private static final String CHAT =
      """
      data: {"choices":[{"delta":{"content":"a b"}}]}

      data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}

      """;

  private static final String CLUSTER =
      """
      berth:
        event_loops: 1
        messages: event_bus
        admin: {port: 0}
        shutdown_timeout_s: 5
        state_dir: %s
        autoscaling: {record: target/metrics-reference.jsonl}
        cluster:
          name: t
          node: %s
          role: %s
          control: ["n1@127.0.0.1:%d"]
          bind: 127.0.0.1
          tls: {cert_file: %s, key_file: %s, ca_file: %s}
          event_bus: true
          ports: {control: %d, data: 0, consensus: %d, https: 0, bus: 0}
      """;

  @TempDir private Path folder;
  private X509Bundle authority;

  private String cluster(String node, String role, int control, int own) throws Exception {
    Path tls = Files.createDirectories(folder.resolve("tls-" + node));
    X509Bundle bundle = new CertificateBuilder().subject("CN=" + node).buildIssuedBy(authority);
    Path certificate = Certificates.write(tls.resolve("cert"), bundle.getCertificatePathPEM());
    Path key = Certificates.write(tls.resolve("key"), bundle.getPrivateKeyPEM());
    Path ca = Certificates.write(tls.resolve("ca"), authority.getCertificatePEM());
    int consensus = ClusterIT.freePort();
    return CLUSTER.formatted(
        folder.resolve(node), node, role, control, certificate, key, ca, own, consensus);
  }

  /** Run with {@code -Dberth.docs.write=true} to write the file anew. */
  @Test
  void theReferenceSaysWhatAnInstanceExports() throws Exception {
    authority = Certificates.authority();
    int control = ClusterIT.freePort();
    HttpServer model = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    model.createContext("/", MetricsReferenceTest::chat);
    model.start();
    String config = CONFIG.formatted(model.getAddress().getPort());
    try (TestNode node = new TestNode(HTTP + config + cluster("n1", "control", control, control));
        TestNode worker = new TestNode(HTTP + cluster("n2", "worker", control, 0))) {
      node.get("/plain");
      node.get("/batched");
      node.get("/broken");
      node.get("/whose");
      TestNode.until(
          () -> node.post("/llm/v1/chat/completions", "{\"model\":\"small\"}").body().equals(CHAT),
          () -> "no response of the model");
      TestNode.until(
          () ->
              List.of("autoscaling_stats_failed", "berth_slotless_requests").stream()
                  .allMatch(node.admin("GET", "/metrics", "").body()::contains),
          () -> "no hook was asked");
      node.admin("GET", "/metrics", "");
      String exported =
          node.admin("GET", "/metrics", "").body() + worker.admin("GET", "/metrics", "").body();
      assertThat(exported)
          .as("every source is read")
          .containsPattern("berth_metrics_not_read\\{.*} 0.0")
          .doesNotContainPattern("berth_metrics_not_read(\\{.*})? [1-9]");
      assertThat(exported.lines().filter(line -> !line.startsWith("#")))
          .as("each series says of which node it is")
          .allMatch(line -> line.matches(".*node_id=\"n[12]~[0-9a-f]+\".*"));
      String reference = MetricsReference.render(exported + CountingReplica.metrics());
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
      model.stop(0);
    }
  }

  private static void chat(HttpExchange exchange) throws IOException {
    try (exchange) {
      exchange.getResponseHeaders().add("content-type", "text/event-stream");
      byte[] events = CHAT.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, events.length);
      exchange.getResponseBody().write(events);
    }
  }
}
