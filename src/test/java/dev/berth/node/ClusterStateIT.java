package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.code.StartFailedException;
import dev.berth.view.LogFeed;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A control node whose state directory comes back older, empty or damaged, and a worker. */
@Timeout(120)
@SuppressWarnings("try") // a control node runs as long as its block
class ClusterStateIT {
  private static final String APPS = "/api/serve/applications/";
  private static final String APP =
      """
      applications:
        - name: a
          route_prefix: /a
          import_path: dev.berth.node.TestApplications:where
          deployments: [{name: where, num_replicas: %d, max_ongoing_requests: 1}]
      """;

  @TempDir private Path folder;
  private final int control = ClusterIT.freePort();
  private final int https = ClusterIT.freePort();
  private final int admin = ClusterIT.freePort();
  private @Nullable TestNode worker;

  private String yaml(String name, String more) {
    boolean leads = name.equals("n1");
    return """
        http_options: {host: 127.0.0.1, port: 0}
        berth:
          event_loops: 2
          admin: {port: %d}
          state_dir: %s
          cluster:
            name: t
            node: %s
            role: %s
            control: ["n1@127.0.0.1:%d"]
            bind: 127.0.0.1
            insecure: true
            ports: {control: %d, data: 0, consensus: %d, https: %d}
            detection: {interval_ms: 100, timeout_ms: 1000}
            %s
        """
        .formatted(
            leads ? admin : 0,
            folder.resolve(name),
            name,
            leads ? "control" : "worker",
            control,
            leads ? control : 0,
            ClusterIT.freePort(),
            leads ? https : 0,
            more);
  }

  /** The control node, which may never complete its start. */
  private final class Control implements AutoCloseable {
    private final CompletableFuture<String> stop = new CompletableFuture<>();
    final Future<BerthNode> started;

    Control(String adopt) {
      started = BerthNode.start(TestNode.read(yaml("n1", adopt)), LogFeed.NONE, stop);
    }

    @Override
    public void close() {
      stop.complete("SIGTERM");
      started
          .compose(BerthNode::close)
          .toCompletionStage()
          .toCompletableFuture()
          .exceptionally(ended -> null)
          .join();
      TestNode.until(() -> status(said -> true) == null, () -> "it listens");
    }
  }

  @BeforeEach
  void begin() throws Exception {
    try (Control first = new Control("")) {
      TestNode.await(first.started);
      worker = new TestNode(TestNode.read(yaml("n2", "")));
    }
  }

  @AfterEach
  void end() {
    worker.close();
  }

  /** What the control node says of the cluster; null when it does not, or says something else. */
  private @Nullable JsonObject status(Predicate<JsonObject> is) {
    try {
      JsonObject said = new JsonObject(TestNode.at(admin, "GET", "/api/v1/cluster", "").body());
      return is.test(said) ? said : null;
    } catch (CompletionException nobody) {
      return null;
    }
  }

  private void untilStandsBy() {
    TestNode.until(
        () -> status(said -> said.getString("stands_by") != null) != null,
        () -> "it does not stand by");
  }

  /** Its own routers must not wait for a controller that commands nobody. */
  private void untilUncontrolled() {
    TestNode.until(
        () ->
            TestNode.at(admin, "GET", "/metrics", "")
                .body()
                .lines()
                .anyMatch(
                    each ->
                        each.startsWith("berth_controller_connected{")
                            && Double.parseDouble(each.substring(each.lastIndexOf(' '))) == 0),
        () -> "it hears itself");
  }

  private static boolean isAlive(JsonObject status) {
    return status.getString("stands_by") == null
        && status.getJsonArray("nodes").encode().contains("\"n2\"");
  }

  private void untilCommands() {
    TestNode.until(() -> status(ClusterStateIT::isAlive) != null, () -> "n2 is not there");
  }

  private int deploy(int replicas) {
    return TestNode.at(admin, "PUT", APPS, APP.formatted(replicas)).statusCode();
  }

  private void deployed(int replicas) {
    untilCommands();
    TestNode.until(() -> deploy(replicas) == 200, () -> "not taken");
    until200();
    TestNode.until(
        () -> TestNode.at(admin, "GET", APPS, "").body().contains("\"RUNNING\""),
        () -> "it does not run");
  }

  private void until200() {
    TestNode.until(() -> worker.get("/a").statusCode() == 200, () -> "it does not answer");
  }

  private void copy(String from, String to) throws IOException {
    Path source = folder.resolve(from);
    try (Stream<Path> all = Files.walk(source)) {
      for (Path each : all.toList()) {
        Files.copy(each, folder.resolve(to).resolve(source.relativize(each).toString()));
      }
    }
  }

  private void restore(String backup) throws IOException {
    Files.move(folder.resolve("n1"), folder.resolve("before-" + backup));
    copy(backup, "n1");
  }

  @Test
  void olderStateStandsByOverRestartsUntilItIsAdopted() throws Exception {
    try (Control ignored = new Control("")) {
      deployed(1);
    }
    copy("n1", "backup");
    try (Control ignored = new Control("")) {
      deployed(2);
    }
    restore("backup");
    for (int start = 1; start <= 4; start++) {
      try (Control ignored = new Control("")) {
        untilStandsBy();
        untilUncontrolled();
        assertThat(deploy(3)).as("start %d", start).isEqualTo(503);
        assertThat(worker.get("/a").statusCode()).isEqualTo(200);
      }
    }

    String named;
    try (Control asks = new Control("adopt: \"?\"")) {
      assertThatThrownBy(() -> TestNode.await(asks.started))
          .hasCauseInstanceOf(StartFailedException.class)
          .hasMessageContaining("On n2 stop or are replaced: [a (revision 2)]")
          .hasMessageContaining("This state has [a (revision 1)]");
      named = adopt(asks.started.cause());
    }
    for (int start = 1; start <= 2; start++) { // named once more, it is adopted already
      try (Control adopts = new Control("adopt: \"" + named + "\"")) {
        TestNode.await(adopts.started);
        untilCommands();
        assertThat(status(said -> true).getLong("generation")).isEqualTo(2);
        until200();
      }
    }
    try (Control ignored = new Control("")) {
      deployed(2);
    }
  }

  private static String adopt(Throwable refused) {
    Matcher named = Pattern.compile("--adopt=(\\S+:\\d+)").matcher(refused.getMessage());
    assertThat(named.find()).as(refused.getMessage()).isTrue();
    return named.group(1);
  }

  @Test
  void backupWithNothingDeployedSinceIsAccepted() throws Exception {
    try (Control ignored = new Control("")) {
      deployed(1);
    }
    copy("n1", "backup");
    for (int start = 0; start < 3; start++) {
      try (Control ignored = new Control("")) {
        untilCommands();
        until200();
      }
    }
    restore("backup");
    try (Control restored = new Control("")) {
      TestNode.await(restored.started);
      untilCommands();
      deployed(2);
    }
  }

  @Test
  void emptyStateAdoptsNodesOfAnotherCluster() throws Exception {
    try (Control ignored = new Control("")) {
      deployed(1);
    }
    Files.move(folder.resolve("n1"), folder.resolve("lost"));
    String named;
    try (Control asks = new Control("adopt: \"?\"")) {
      assertThatThrownBy(() -> TestNode.await(asks.started))
          .hasMessageContaining("On n2 stop or are replaced: [a (revision 1)]");
      named = adopt(asks.started.cause());
    }
    try (Control adopts = new Control("adopt: \"" + named + "\"")) {
      TestNode.await(adopts.started);
      deployed(1);
    }
  }
}
