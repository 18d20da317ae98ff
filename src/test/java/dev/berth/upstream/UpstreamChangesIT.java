package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import dev.berth.node.TestNode;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Changes of upstreams while requests run. */
@Timeout(120)
class UpstreamChangesIT {
  /** A number of clients, each of which sends the next request when it has its response. */
  private static final class Load implements AutoCloseable {
    private final TestNode node;
    private final AtomicBoolean over = new AtomicBoolean();
    private final Queue<CompletableFuture<Void>> clients = new ConcurrentLinkedQueue<>();
    final Map<Integer, LongAdder> statuses = new ConcurrentHashMap<>();

    Load(TestNode node, int clients, String path) {
      this.node = node;
      for (int i = 0; i < clients; i++) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        this.clients.add(done);
        send(path, done);
      }
    }

    private void send(String path, CompletableFuture<Void> done) {
      node.getAsync(path)
          .whenComplete(
              (HttpResponse<String> answer, Throwable failed) -> {
                int status = failed == null ? answer.statusCode() : -1;
                statuses.computeIfAbsent(status, none -> new LongAdder()).increment();
                if (over.get()) {
                  done.complete(null);
                } else {
                  send(path, done);
                }
              });
    }

    long count() {
      return statuses.values().stream().mapToLong(LongAdder::sum).sum();
    }

    /** Waits for so many more responses. */
    void await(int more) {
      long goal = count() + more;
      TestNode.until(() -> count() >= goal, () -> more + " responses: " + statuses);
    }

    @Override
    public void close() {
      end();
    }

    void end() {
      over.set(true);
      clients.forEach(CompletableFuture::join);
    }
  }

  @Test
  void maximumChangesLiveAndIsNeverExceeded() throws Exception {
    try (CountingUpstream one = new CountingUpstream();
        UpstreamRig rig = new UpstreamRig("", deployment("models", "", upstream(one.url(), 3)))) {
      rig.awaitOpen(3);
      try (Load load = new Load(rig.node, 40, "/models/x?wait=5")) {
        load.await(200);
        assertThat(one.highest()).isEqualTo(3);
        int before = 3;
        for (int max : new int[] {9, 2, 6, 1, 4}) {
          if (max > before) {
            one.resetHighest();
          }
          rig.declare(deployment("models", "", upstream(one.url(), max)));
          rig.awaitOpen(max); // the ledger has the new maximum
          if (max < before) {
            TestNode.until( // requests on their way to the server count, too
                () -> rig.sum("running") <= max, () -> "excess ended: " + one.ongoing());
            one.resetHighest();
          }
          load.await(200);
          assertThat(one.highest()).as("maximum %d", max).isEqualTo(max);
          before = max;
        }
        load.end();
        assertThat(load.statuses).containsOnlyKeys(200);
      }
      rig.assertAtRest();
    }
  }

  @Test
  void newFallbackReceivesTheRefusalsOfTheOnlyUpstream() throws Exception {
    try (CountingUpstream one = new CountingUpstream();
        CountingUpstream two = new CountingUpstream();
        UpstreamRig rig =
            new UpstreamRig(
                "",
                deployment("models", "", upstream(one.url(), 3)),
                deployment("other", "", upstream(two.url(), 2)))) {
      rig.awaitOpen(5);
      one.behave("status=429");
      assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(429);
      rig.declare(
          deployment("models", "fallback: [other]", upstream(one.url(), 3)),
          deployment("other", "", upstream(two.url(), 2)));
      TestNode.until(() -> rig.node.get("/models/x").statusCode() == 200, () -> "the fallback");
      rig.declare(
          deployment("models", "", upstream(one.url(), 3)),
          deployment("other", "", upstream(two.url(), 2)));
      TestNode.until(() -> rig.node.get("/models/x").statusCode() == 429, () -> "no fallback");
    }
  }

  @Test
  void changeKeepsThePauseOfARetryAfter() throws Exception {
    try (CountingUpstream one = new CountingUpstream();
        CountingUpstream two = new CountingUpstream();
        UpstreamRig rig =
            new UpstreamRig(
                "", deployment("models", "", upstream(one.url(), 3), upstream(two.url(), 1)))) {
      rig.awaitOpen(4);
      one.behave("status=429&retry=4");
      for (int i = 0; one.requests() == 0; i++) {
        rig.node.get("/models/" + i);
      }
      rig.awaitOpen(1);
      assertThat(rig.status()).contains("with Retry-After, until 20");
      long begin = System.nanoTime();
      rig.declare(deployment("models", "", upstream(one.url(), 5), upstream(two.url(), 2)));
      TestNode.until(() -> rig.sum("max_ongoing_requests") > 1, () -> "the change");
      TestNode.until(() -> rig.sum("max_ongoing_requests") > 2, () -> "the end of the pause");
      assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThan(Duration.ofSeconds(2));
      rig.awaitOpen(7);
    }
  }

  @Test
  void upstreamsAreAddedAndRemovedUnderLoad() throws Exception {
    try (CountingUpstream one = new CountingUpstream();
        CountingUpstream two = new CountingUpstream();
        UpstreamRig rig = new UpstreamRig("", deployment("models", "", upstream(one.url(), 3)))) {
      rig.awaitOpen(3);
      try (Load load = new Load(rig.node, 20, "/models/x?wait=5")) {
        load.await(100);
        rig.declare(deployment("models", "", upstream(one.url(), 3), upstream(two.url(), 2)));
        rig.awaitOpen(5);
        load.await(200);
        assertThat(two.highest()).isEqualTo(2);
        rig.declare(deployment("models", "", upstream(two.url(), 2)));
        rig.awaitOpen(2);
        TestNode.until(() -> one.ongoing() == 0, () -> "the removed upstream has drained");
        int requests = one.requests();
        load.await(100);
        assertThat(one.requests()).isEqualTo(requests);
        load.end();
        assertThat(load.statuses).containsOnlyKeys(200);
      }
      assertThat(one.highest()).isEqualTo(3);
      assertThat(two.highest()).isEqualTo(2);
      rig.assertAtRest();
    }
  }

  @Test
  void otherSettingsChangeWithoutARestartOfTheReplica() throws Exception {
    try (CountingUpstream one = new CountingUpstream();
        UpstreamRig rig = new UpstreamRig("", deployment("models", "", upstream(one.url(), 3)))) {
      rig.awaitOpen(3);
      assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
      String replica = rig.ledgers().getJsonObject(0).getString("replica");
      rig.declare(deployment("models", "", upstream(one.url(), 3, "path_prefix: /v2")));
      AtomicInteger sent = new AtomicInteger();
      TestNode.until(
          () -> {
            sent.incrementAndGet();
            rig.node.get("/models/x");
            return one.received().stream().anyMatch(each -> each.target().equals("/v2/x"));
          },
          () -> "the new prefix: " + one.received());
      assertThat(one.requests()).isEqualTo(sent.get() + 1);
      assertThat(rig.ledgers().getJsonObject(0).getString("replica")).isEqualTo(replica);
    }
  }
}
