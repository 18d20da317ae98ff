package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Batches whose requests arrive at two nodes. */
@Timeout(90)
class BatchNodesIT {
  private static final String APP =
      """
      applications:
        - name: batched
          route_prefix: /batched
          import_path: 'dev.berth.node.TestApplications:batched'
          deployments:
            - name: batched
              num_replicas: %d
              max_replicas_per_node: 1
              berth: {batching: {max_batch_size: 16, batch_wait_timeout_s: 20}}
      """;

  @TempDir private Path folder;
  private NodePair pair;

  @AfterEach
  void stop() {
    pair.nodes.get(0).admin("DELETE", "/api/serve/applications/", "");
    pair.close();
  }

  private void deploy(int replicas) throws Exception {
    pair = new NodePair(folder);
    HttpResponse<String> deployed = pair.deploy(APP.formatted(replicas));
    assertThat(deployed.statusCode()).as(deployed.body()).isEqualTo(200);
    for (TestNode node : pair.nodes) {
      TestNode.until(
          () -> node.get("/-/routes").body().contains("/batched") && running(node) == replicas,
          () -> node.admin("GET", "/api/v1/ledger", "").body());
    }
  }

  private static int running(TestNode node) {
    return node.admin("GET", "/api/v1/ledger", "").body().split("batched#batched#", -1).length - 1;
  }

  /** Sends 16 requests, to the given nodes in turn; no window ends within the test. */
  private void sixteenShareABatch(TestNode... at) {
    List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      responses.add(at[i % at.length].getAsync("/batched"));
    }
    assertThat(responses)
        .allSatisfy(each -> assertThat(each.join().body()).isEqualTo("16 together"));
  }

  @Test
  void requestsOfBothNodesShareABatch() throws Exception {
    deploy(1);
    TestNode first = pair.nodes.get(0);
    TestNode second = pair.nodes.get(1);
    for (int round = 0; round < 3; round++) {
      sixteenShareABatch(first, second);
      sixteenShareABatch(first);
      sixteenShareABatch(second);
    }
  }

  @Test
  void requestsOfOneNodeFillOneReplicaOfTwo() throws Exception {
    deploy(2);
    for (int round = 0; round < 3; round++) {
      for (TestNode node : pair.nodes) {
        sixteenShareABatch(node);
      }
    }
  }
}
