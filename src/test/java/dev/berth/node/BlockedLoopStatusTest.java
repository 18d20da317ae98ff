package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A handler that blocks an event loop of an instance in this JVM, as operators see it. */
class BlockedLoopStatusTest {
  private TestNode node;

  @BeforeEach
  void start() throws Exception {
    node =
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications:
            - name: a
              route_prefix: /a
              import_path: 'dev.berth.node.TestApplications:blocks'
              args: {held: loop}
            berth: {event_loops: 3, ephemeral: true, admin: {port: 0}, shutdown_timeout_s: 5,
              health: {blocked_loop_unready_s: 0.3}}
            """);
  }

  @AfterEach
  void stop() {
    TestApplications.openGates();
    node.close();
  }

  private JsonArray blocked() {
    return new JsonObject(node.admin("GET", "/api/v1/serve", "").body())
        .getJsonArray("blocked_loops");
  }

  /** A connection may be that of the blocked loop, which answers nothing. */
  private boolean answers(String path) {
    return node.getAsync(path)
        .thenApply(answer -> answer.statusCode() == 200)
        .completeOnTimeout(false, 500, TimeUnit.MILLISECONDS)
        .join();
  }

  private boolean isReady() {
    return answers("/-/readyz");
  }

  @Test
  void statusNamesItAndTheInstanceIsNotReady() {
    assertThat(blocked()).isEmpty();
    assertThat(isReady()).isTrue();
    node.getAsync("/a/held");
    TestNode.until(() -> !blocked().isEmpty(), () -> "no loop is blocked");
    JsonObject loop = blocked().getJsonObject(0);
    assertThat(loop.getString("deployment")).isEqualTo("a#front");
    assertThat(loop.getString("replica_id")).startsWith("a#front#");
    assertThat(loop.getString("text"))
        .matches("event loop . is blocked since .*Z by a#front, request .*: at .*");
    TestNode.until(() -> !isReady(), () -> "the instance stays ready");
    TestNode.until(() -> answers("/a"), () -> "no replica on another loop takes its place");
    TestApplications.openGates();
    TestNode.until(() -> blocked().isEmpty() && isReady(), () -> "it stays blocked");
  }
}
