package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What is served changes while requests come at a steady rate, through the packaged jar and its
 * REST API: no request is lost. The long form, with figures, is {@code src/it/lifecycle.sh}.
 */
class ChangesUnderLoadIT {
  private static final long GAP_MILLIS = 5; // between requests: a fifth of what one replica can do

  @TempDir private Path folder;

  private Server empty() throws IOException {
    Path empty = Files.writeString(folder.resolve("empty.yaml"), "applications: []\n");
    return Server.start(empty, "--host=127.0.0.1", "--port=0", "--admin-port=0", "--ephemeral");
  }

  @Test
  void noChangeLosesARequest() throws Exception {
    try (Server server = empty();
        Load load = new Load(server)) {
      Flow flow = new Flow(server, TestJar.in(folder).toString());
      flow.deploy(1, 1, "", false);
      flow.awaitReplicas(1);
      load.begin();

      flow.deploy(2, 1, "", false); // one replica, replaced
      flow.awaitAnswer("2 ");
      flow.deploy(2, 1, "live", false);
      flow.awaitAnswer("2 live");
      flow.post("/deployments/work/scale", "{\"target_num_replicas\": 3}");
      flow.awaitReplicas(3);
      flow.post("/deployments/work/scale", "{\"target_num_replicas\": 1}");
      flow.awaitReplicas(1);

      flow.deploy(3, 1, "live", true);
      flow.await("DEPLOY_FAILED", () -> flow.status().equals("DEPLOY_FAILED"));
      assertThat(flow.application().getString("message")).contains("version 3 is broken");
      assertThat(server.get("/flow").body()).isEqualTo("2 live");
      flow.post("/rollback", "{}");
      flow.awaitReplicas(1);

      List<String> before = flow.replicaIds();
      flow.command("POST", "/api/v1/controller/restart", "{}");
      flow.await("a new term", () -> flow.term() > 1);
      flow.awaitReplicas(1);
      assertThat(flow.replicaIds()).isEqualTo(before);

      load.end();
      assertThat(load.answers()).containsOnlyKeys("200").isNotEmpty();
    }
  }

  @Test
  void aKilledReplicaIsReplacedAndLosesOnlyWhatItWasWorkingOn() throws Exception {
    try (Server server = empty();
        Load load = new Load(server)) {
      Flow flow = new Flow(server, TestJar.in(folder).toString());
      flow.deploy(1, 2, "", false);
      flow.awaitReplicas(2);
      load.begin();
      String killed = flow.replicaIds().get(0);
      flow.command(
          "DELETE",
          "/api/v1/applications/flow/deployments/work/replicas/" + killed.replace("#", "%23"),
          "");
      flow.await("its end", () -> !flow.replicaIds().contains(killed));
      flow.awaitReplicas(2);
      load.end();
      assertThat(load.answers()).containsKey("200");
      long others =
          load.answers().entrySet().stream()
              .filter(each -> !each.getKey().equals("200"))
              .mapToLong(each -> each.getValue().sum())
              .sum();
      assertThat(others).as("%s", load.answers()).isLessThanOrEqualTo(5); // its slots
    }
  }

  /** Sends a request each few milliseconds, whatever comes of those before. */
  private static final class Load implements AutoCloseable {
    private final Server server;
    private final Map<String, LongAdder> answers = new ConcurrentHashMap<>(); // by status
    private final LongAdder underWay = new LongAdder();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

    Load(Server server) {
      this.server = server;
    }

    void begin() {
      timer.scheduleAtFixedRate(this::send, 0, GAP_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void send() {
      underWay.increment();
      HttpRequest request = server.request("/flow").build();
      server
          .http
          .sendAsync(request, HttpResponse.BodyHandlers.ofString())
          .whenComplete(
              (answer, failed) -> {
                String outcome =
                    failed == null ? String.valueOf(answer.statusCode()) : failed.toString();
                answers.computeIfAbsent(outcome, none -> new LongAdder()).increment();
                underWay.decrement();
              });
    }

    void end() throws InterruptedException {
      timer.shutdown();
      assertThat(timer.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
      server.await("the last answer", () -> underWay.sum() == 0);
    }

    Map<String, LongAdder> answers() {
      return answers;
    }

    @Override
    public void close() {
      timer.shutdownNow();
    }
  }

  /** The application and what the admin server says of it. */
  private static final class Flow {
    private final Server server;
    private final String jar;

    Flow(Server server, String jar) {
      this.server = server;
      this.jar = jar;
    }

    void deploy(int version, int replicas, String setting, boolean broken) throws Exception {
      String application =
          """
          {"applications": [{"name": "flow", "route_prefix": "/flow",
            "import_path": "dev.berth.it.app.FlowApplication:build",
            "runtime_env": {"jars": ["%s"]}, "external_scaler_enabled": true,
            "args": {"version": %d, "broken": %b},
            "deployments": [{"name": "work", "num_replicas": %d, "user_config": {"setting": "%s"},
                             "berth": {"max_constructor_retry_count": 1}}]}]}
          """;
      command(
          "PUT",
          "/api/serve/applications/",
          application.formatted(jar, version, broken, replicas, setting));
    }

    void post(String path, String body) throws Exception {
      command("POST", "/api/v1/applications/flow" + path, body);
    }

    void command(String method, String path, String body) throws Exception {
      HttpResponse<String> answer = server.admin(method, path, body);
      assertThat(answer.statusCode() / 100)
          .as("%s %s: %s %s", method, path, answer.statusCode(), answer.body())
          .isEqualTo(2);
    }

    JsonObject application() {
      return new JsonObject(server.admin("/api/serve/applications/"))
          .getJsonObject("applications")
          .getJsonObject("flow");
    }

    String status() {
      return application().getString("status");
    }

    long term() {
      return new JsonObject(server.admin("/api/v1/serve")).getLong("term");
    }

    private JsonArray replicas() {
      return application()
          .getJsonObject("deployments")
          .getJsonObject("work", new JsonObject().put("replicas", new JsonArray()))
          .getJsonArray("replicas");
    }

    List<String> replicaIds() {
      return replicas().stream()
          .map(each -> ((JsonObject) each).getString("replica_id"))
          .sorted()
          .toList();
    }

    void awaitReplicas(int wanted) {
      await(
          wanted + " replicas",
          () ->
              status().equals("RUNNING")
                  && replicas().size() == wanted
                  && replicas().stream()
                      .allMatch(each -> "RUNNING".equals(((JsonObject) each).getString("state"))));
    }

    void awaitAnswer(String wanted) {
      await(
          wanted,
          () -> {
            try {
              return server.get("/flow").body().equals(wanted);
            } catch (IOException | InterruptedException failed) {
              throw new AssertionError(failed);
            }
          });
    }

    void await(String what, java.util.function.BooleanSupplier condition) {
      server.await(what, condition);
    }
  }
}
