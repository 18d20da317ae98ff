package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Batches whose requests arrive at two nodes. */
@Timeout(90)
class BatchNodesIT {
  private static final String APP =
      """
      applications:
        - name: batched
          route_prefix: /batched
          import_path: 'dev.berth.node.TestApplications:%s'
          deployments:
            - name: batched
              num_replicas: %d
              max_replicas_per_node: 1
              berth: {batching: {max_batch_size: 16, batch_wait_timeout_s: %s}}
      """;

  private static final String SLOTS = "max_ongoing_requests: 2";

  @TempDir private Path folder;
  private NodePair pair;

  @AfterEach
  void stop() {
    pair.nodes.get(0).admin("DELETE", "/api/serve/applications/", "");
    pair.close();
  }

  private void deploy(int replicas) throws Exception {
    deploy(replicas, "batched", "20");
  }

  private void deploy(int replicas, String handler, String window) throws Exception {
    deploy(APP.formatted(handler, replicas, window), replicas);
  }

  private void deploy(String application, int replicas) throws Exception {
    pair = new NodePair(folder);
    HttpResponse<String> deployed = pair.deploy(application);
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

  /** As many clients at each node, each with one request at a time. */
  @ParameterizedTest
  @ValueSource(ints = {5, 24}) // fewer and more than there are slots
  void neitherNodeTakesTheBatchesOfTheOther(int clients) throws Exception {
    deploy(1, "batchedSlowly", "0.005");
    bothAreServed(clients);
  }

  @Test
  void neitherNodeTakesTheSlotsOfTheOther() throws Exception {
    deploy(
        APP.formatted("slowly", 1, "0")
            .replace("berth: {batching: {max_batch_size: 16, batch_wait_timeout_s: 0}}", SLOTS),
        1);
    bothAreServed(8);
  }

  private void bothAreServed(int clients) {
    AtomicBoolean isOver = new AtomicBoolean();
    List<AtomicInteger> answers = List.of(new AtomicInteger(), new AtomicInteger());
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int i = 0; i < 2 * clients; i++) {
      all.add(ask(pair.nodes.get(i % 2), answers.get(i % 2), isOver));
    }
    int enough = 40 * clients;
    TestNode.until(
        () -> answers.get(0).get() + answers.get(1).get() >= enough, () -> answers.toString());
    isOver.set(true);
    all.forEach(CompletableFuture::join);

    assertThat(answers)
        .allSatisfy(each -> assertThat(each.get()).as("%s", answers).isGreaterThan(enough / 4));
  }

  private static CompletableFuture<Void> ask(
      TestNode node, AtomicInteger answers, AtomicBoolean isOver) {
    return node.getAsync("/batched")
        .thenComposeAsync(
            response -> {
              assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
              answers.incrementAndGet();
              return isOver.get()
                  ? CompletableFuture.completedFuture(null)
                  : ask(node, answers, isOver);
            });
  }
}
