package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.web.WebApplications;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
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
  private NodePair pair;

  @AfterEach
  void stop() {
    pair.nodes.get(0).admin("DELETE", "/api/serve/applications/", "");
    pair.close();
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
    pair = new NodePair(folder, "{trusted_proxies: [127.0.0.1]}");
    HttpResponse<String> deployed = pair.deploy(APP);
    assertThat(deployed.statusCode()).as(deployed.body()).isEqualTo(200);
    for (TestNode node : pair.nodes) {
      String ledger = "/api/v1/ledger";
      TestNode.until(
          () -> node.admin("GET", ledger, "").body().contains("shop#shop#"),
          () -> node.admin("GET", ledger, "").body());
      assertThat(ready(node, "/shop/items/1").body()).isEqualTo("item 1 []");
      assertThat(node.get("/shop/prices/7", "x-request-id", "r").body()).isEqualTo("/7 of r/shop");
      String host = "127.0.0.1:" + node.port();
      assertThat(node.get("/shop/origin").body())
          .startsWith("127.0.0.1, http://" + host + "/shop/origin, ")
          .endsWith(", 127.0.0.1 http " + host); // by prices, which is on one of the nodes
      String[] proxy = {"x-forwarded-for", "192.0.2.7", "x-forwarded-proto", "https"};
      assertThat(node.get("/shop/origin", proxy).body())
          .startsWith("192.0.2.7, https://" + host + "/shop/origin, ")
          .endsWith(", 192.0.2.7 https " + host);
      HttpResponse<String> file = node.get("/shop/static/big.bin");
      assertThat(file.body()).hasSize(300_000);
      assertThat(file.headers().firstValue("content-length")).contains("300000");
      assertThat(node.post("/shop/pipe", "y".repeat(200_000)).body()).hasSize(200_000);
      assertThat(node.admin("GET", "/metrics", "").body()).contains("route=\"/shop/items/:id\"");
    }
  }
}
