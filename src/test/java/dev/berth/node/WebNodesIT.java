package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.web.WebApplications;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A Router with a replica on each of two nodes. */
@Timeout(90)
class WebNodesIT {
  private static final String APP =
      """
      applications:
        - name: shop
          route_prefix: /shop
          import_path: 'dev.berth.web.WebApplications:shop'
          deployments: [{name: shop, num_replicas: 2, max_replicas_per_node: 1}]
      """;

  @TempDir private Path folder;
  private final List<TestNode> nodes = new ArrayList<>();
  private int control;

  private void start(String name, String role) throws Exception {
    nodes.add(
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0}
            berth:
              event_loops: 2
              admin: {port: 0}
              state_dir: %s
              shutdown_timeout_s: 5
              cluster:
                name: t
                node: %s
                role: %s
                control: ["n1@127.0.0.1:%d"]
                bind: 127.0.0.1
                insecure: true
                ports: {control: %d, data: 0, consensus: %d, https: 0}
                detection: {interval_ms: 100, timeout_ms: 1000}
            """
                .formatted(
                    folder.resolve(name),
                    name,
                    role,
                    control,
                    role.equals("control") ? control : 0,
                    ClusterIT.freePort())));
  }

  @AfterEach
  void stop() {
    nodes.get(0).admin("DELETE", "/api/serve/applications/", "");
    for (int i = nodes.size() - 1; i >= 0; i--) {
      nodes.get(i).close();
    }
  }

  private static HttpResponse<String> ready(TestNode node, String path) {
    TestNode.until(
        () -> node.get(path).statusCode() == 200, () -> path + ": " + node.get(path).body());
    return node.get(path);
  }

  @Test
  void routerOfAnotherNodeKnowsItsPrefix() throws Exception {
    WebApplications.webroot = folder;
    Files.writeString(folder.resolve("big.bin"), "x".repeat(300_000));
    control = ClusterIT.freePort();
    start("n1", "control");
    start("n2", "worker");
    HttpResponse<String> deployed = nodes.get(0).admin("PUT", "/api/serve/applications/", APP);
    assertThat(deployed.statusCode()).as(deployed.body()).isEqualTo(200);
    for (TestNode node : nodes) {
      String ledger = "/api/v1/ledger";
      TestNode.until(
          () -> node.admin("GET", ledger, "").body().contains("shop#shop#"),
          () -> node.admin("GET", ledger, "").body());
      assertThat(ready(node, "/shop/items/1").body()).isEqualTo("item 1 []");
      assertThat(node.get("/shop/prices/7", "x-request-id", "r").body()).isEqualTo("/7 of r/shop");
      HttpResponse<String> file = node.get("/shop/static/big.bin");
      assertThat(file.body()).hasSize(300_000);
      assertThat(file.headers().firstValue("content-length")).contains("300000");
      assertThat(node.post("/shop/pipe", "y".repeat(200_000)).body()).hasSize(200_000);
      assertThat(node.admin("GET", "/metrics", "").body()).contains("route=\"/shop/items/:id\"");
    }
  }
}
