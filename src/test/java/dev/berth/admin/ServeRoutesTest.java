package dev.berth.admin;

import static dev.berth.admin.FakeCommands.application;
import static dev.berth.admin.FakeCommands.deployment;
import static dev.berth.admin.FakeCommands.effective;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import dev.berth.fakes.LogLines;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ServeRoutesTest {
  private static final String APPLICATIONS = "/api/serve/applications/";
  private static final String OUTCOME =
      "{\"revision\": 9, \"applications\": [{\"name\": \"a\", \"change\": \"KEPT\", \"revision\": 4}]}";
  private static final String SCALE = "/api/v1/applications/a/deployments/d/scale";
  private static final String CONFIG = "{\"name\": \"a\", \"import_path\": \"x:y\"}";

  private static final FakeCommands COMMANDS = new FakeCommands();
  private static final List<String> KILLED = new CopyOnWriteArrayList<>();

  @AutoClose
  private static final AdminClient ADMIN =
      new AdminClient(
          COMMANDS,
          (deployment, replica) -> {
            KILLED.add(deployment + " " + replica);
            return replica.equals("a#d#1");
          });

  @BeforeEach
  void forget() {
    COMMANDS.reset();
    KILLED.clear();
  }

  private static void assertText(HttpResponse<String> response, int status, String text) {
    assertThat(response.body()).isEqualTo(text);
    assertThat(response.statusCode()).isEqualTo(status);
    assertThat(response.headers().firstValue("content-type")).hasValue("text/plain; charset=utf-8");
  }

  private static void assertJson(HttpResponse<String> response, int status, String json) {
    assertThat(new JsonObject(response.body())).isEqualTo(new JsonObject(json));
    assertThat(response.statusCode()).isEqualTo(status);
    assertThat(response.headers().firstValue("content-type"))
        .hasValue("application/json; charset=utf-8");
  }

  private static void assertEmpty(HttpResponse<String> response) {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    assertThat(response.body()).isEmpty();
  }

  // --- Ray's ---

  @Test
  void theVersionIsRaysAndSaysWhoReallyAnswers() {
    assertJson(
        ADMIN.get("/api/ray/version"),
        200,
        """
        {"version": "4", "ray_version": "2.60.0", "ray_commit": "berth 1.2.3",
         "session_name": "node-1"}
        """);
  }

  @Test
  void theDetailsAreInRaysShape() {
    COMMANDS.details = FakeCommands.serve(application("a", CONFIG, deployment("d", effective())));
    HttpResponse<String> response = ADMIN.get(APPLICATIONS);
    assertThat(response.statusCode()).isEqualTo(200);
    JsonObject details = new JsonObject(response.body());
    assertThat(RayModels.problems("ServeInstanceDetails", details)).isEmpty();
    assertThat(details.getJsonObject("applications").fieldNames()).containsExactly("a");
  }

  @ParameterizedTest
  @CsvSource({"declarative, a", "DECLARATIVE, a", "imperative, b", "'', 'a,b'"})
  void theDetailsCanBeOfOneKindOfApplication(String type, String names) {
    COMMANDS.details = FakeCommands.serve(application("a", CONFIG), application("b", null));
    JsonObject details = ADMIN.json(APPLICATIONS + "?api_type=" + type);
    assertThat(String.join(",", details.getJsonObject("applications").fieldNames()))
        .isEqualTo(names);
  }

  @Test
  void anotherKindIsRefusedInRaysWords() {
    assertText(
        ADMIN.get(APPLICATIONS + "?api_type=Unknown"),
        400,
        "Invalid 'api_type' value: 'Unknown'. Must be one of: imperative, declarative");
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "PUT", "DELETE"})
  void withoutTheSlashAtItsEndAPathLeadsToTheOneWithIt(String method) {
    HttpResponse<String> response =
        ADMIN.send(method, "/api/serve/applications?api_type=declarative", null);
    assertThat(response.statusCode()).isEqualTo(308);
    assertThat(response.headers().firstValue("location"))
        .hasValue("/api/serve/applications/?api_type=declarative");
    assertThat(COMMANDS.asked).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {APPLICATIONS, "/api/serve/applications"})
  void anotherMethodIsNotAllowed(String path) {
    assertThat(ADMIN.send("POST", path, "{}").statusCode()).isEqualTo(405);
  }

  @Test
  void aDeclarationIsPassedOnAsItCameAndAnsweredWithNothing() {
    assertEmpty(ADMIN.send("PUT", APPLICATIONS, "applications: [] # ä", "Content-Type", "x/y"));
    assertThat(COMMANDS.asked).containsExactly("deploy applications: [] # ä");
  }

  @Test
  void whichFileItIsIsPassedOn() {
    String file = "file://host/a%20b.yaml";
    assertEmpty(ADMIN.send("PUT", APPLICATIONS, "{}", "Berth-File", file));
    assertJson(ADMIN.send("PUT", "/api/v1/applications/a", "{}", "berth-file", file), 200, OUTCOME);
    assertThat(COMMANDS.asked).containsExactly("deploy {} of " + file, "deploy a {} of " + file);
  }

  @Test
  void theAnswerComesWhenTheDeclarationIsDurableAndNotBefore() throws Exception {
    Promise<Void> durable = Promise.promise();
    COMMANDS.gate = durable.future();
    CompletableFuture<HttpResponse<String>> answer =
        ADMIN.sendAsync("PUT", APPLICATIONS, "{}".getBytes());
    while (COMMANDS.asked.isEmpty()) {
      Thread.onSpinWait();
    }
    // The server answers others meanwhile, and this one not.
    assertThat(ADMIN.get("/-/healthz").statusCode()).isEqualTo(200);
    assertThat(answer).isNotDone();
    durable.complete();
    assertEmpty(answer.get(20, TimeUnit.SECONDS));
  }

  @ParameterizedTest
  @CsvSource({"INVALID, 400", "NOT_FOUND, 404", "PRECONDITION, 412", "UNAVAILABLE, 503"})
  void aRefusedDeclarationIsToldWithEveryProblemOnALine(CommandRejectionReason kind, int status) {
    COMMANDS.refuse(kind, "applications[0].name: 3 (expected: text)", "target_capacity: ü");
    String problems = "applications[0].name: 3 (expected: text)\ntarget_capacity: ü";
    assertText(ADMIN.send("PUT", APPLICATIONS, "{}"), status, problems);
    assertText(ADMIN.send("DELETE", APPLICATIONS, null), status, problems);
    assertText(ADMIN.get(APPLICATIONS), status, problems);
  }

  @Test
  void whatWasNotExpectedIsAnInternalErrorWithoutItsWords() {
    COMMANDS.refusal = new IllegalStateException("secret of the inside");
    HttpResponse<String> response = ADMIN.send("PUT", APPLICATIONS, "{}");
    assertThat(response.statusCode()).isEqualTo(500);
    assertThat(response.body()).doesNotContain("secret");
  }

  @Test
  void everythingCanBeDeleted() {
    assertEmpty(ADMIN.send("DELETE", APPLICATIONS, null));
    assertThat(COMMANDS.asked).containsExactly("delete all");
  }

  // --- scale ---

  @Test
  void aDeploymentIsScaledAndAnsweredInRaysWords() {
    assertJson(
        ADMIN.send("POST", SCALE, "{\"target_num_replicas\": 3, \"other\": 1}"),
        200,
        """
        {"message":
         "Scaling request received. Deployment will get scaled asynchronously."}
        """);
    assertThat(COMMANDS.asked).containsExactly("scale a d 3");
  }

  @Test
  void autoscalingIsPausedAtANumberAndGoesOn() {
    String pause = "{\"target_num_replicas\": 3, \"autoscaling\": \"pause\"}";
    assertThat(ADMIN.send("POST", SCALE, pause).body()).endsWith(",\"autoscaling\":\"paused\"}");
    assertThat(ADMIN.send("POST", SCALE, "{\"autoscaling\": \"resume\"}").body())
        .endsWith(",\"autoscaling\":\"resumed\"}");
    assertThat(ADMIN.send("POST", SCALE, "{\"autoscaling\": \"pause\"}").statusCode())
        .as("at which")
        .isEqualTo(400);
    assertThat(COMMANDS.asked).containsExactly("pause a d 3", "pause a d null");
  }

  @Test
  void namesInAPathAreDecoded() {
    ADMIN.send(
        "POST",
        "/api/v1/applications/a%20b%2Fc+d/deployments/%C3%A4%3F/scale",
        "{\"target_num_replicas\": 0}");
    assertThat(COMMANDS.asked).containsExactly("scale a b/c+d ä? 0");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[1]",
        "3",
        "{\"target_num_replicas\": 3",
        "{}",
        "{\"target_num_replicas\": null}",
        "{\"target_num_replicas\": -1}",
        "{\"target_num_replicas\": 1.5}",
        "{\"target_num_replicas\": \"two\"}",
        "{\"target_num_replicas\": true}",
        "{\"target_num_replicas\": 4294967297}",
        "{\"target_num_replicas\": 1e999}",
      })
  void aBadNumberIsRefusedInRaysForm(String body) {
    HttpResponse<String> response = ADMIN.send("POST", SCALE, body);
    assertThat(response.statusCode()).isEqualTo(400);
    JsonObject error = new JsonObject(response.body());
    assertThat(error.fieldNames()).containsExactly("error");
    assertThat(error.getString("error")).startsWith("Invalid request body: ").contains("expected");
    assertThat(COMMANDS.asked).isEmpty();
  }

  @Test
  void aNumberIsNotLookedForInMegabytes() {
    String body = "{\"target_num_replicas\": 2" + " ".repeat(1 << 20) + "}";
    assertJson(
        ADMIN.send("POST", SCALE, body),
        400,
        """
        {"error": "Invalid request body: 1048602 bytes (expected: at most 16384 bytes)"}
        """);
    assertThat(COMMANDS.asked).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"target_num_replicas\": 2.0}", "{\"target_num_replicas\": 2e0}"})
  void aWholeNumberMayBeWrittenWithAPoint(String body) {
    assertThat(ADMIN.send("POST", SCALE, body).statusCode()).isEqualTo(200);
    assertThat(COMMANDS.asked).containsExactly("scale a d 2");
  }

  @ParameterizedTest
  @CsvSource({
    "INVALID, 400, why",
    "NOT_FOUND, 404, Application or Deployment not found",
    "PRECONDITION, 412, why",
    "UNAVAILABLE, 503, why"
  })
  void aRefusedScaleIsToldInRaysForm(CommandRejectionReason kind, int status, String error) {
    COMMANDS.refuse(kind, "why");
    assertJson(
        ADMIN.send("POST", SCALE, "{\"target_num_replicas\": 3}"),
        status,
        new JsonObject().put("error", error).encode());
  }

  // --- ours ---

  @Test
  void everythingIsShownUnderOurOwnNames() {
    COMMANDS.details = FakeCommands.serve(application("a", CONFIG, deployment("d", effective())));
    HttpResponse<String> response = ADMIN.get("/api/v1/serve");
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(new JsonObject(response.body()))
        .isEqualTo(
            new JsonObject(ServeJson.of(COMMANDS.details).encode())
                .put("blocked_loops", new JsonArray()));
  }

  @Test
  void oneApplicationIsDeclaredAndDeleted() {
    assertJson(ADMIN.send("PUT", "/api/v1/applications/a%20b", CONFIG), 200, OUTCOME);
    assertEmpty(ADMIN.send("DELETE", "/api/v1/applications/a", null));
    assertThat(COMMANDS.asked).containsExactly("deploy a b " + CONFIG, "delete a");
  }

  @Test
  void whatAFileSaysIsDeclaredAndOthersStayUnlessTheyArePruned() {
    String all = "/api/v1/applications";
    assertJson(ADMIN.send("PUT", all, "{}", "Berth-File", "file://h/f"), 200, OUTCOME);
    assertJson(ADMIN.send("PUT", all + "?prune=all&revision=9", "{}"), 200, OUTCOME);
    assertJson(ADMIN.send("PUT", all + "?dry_run=true", "{}"), 200, OUTCOME);
    assertJson(ADMIN.send("PUT", all + "/a?dry_run=true", "{}"), 200, OUTCOME);
    assertThat(COMMANDS.asked)
        .containsExactly(
            "deploy {} of file://h/f, keeps",
            "deploy {}, at 9",
            "deploy {}, keeps, dry",
            "deploy a {}, dry");
    for (String wrong :
        List.of("?prune=some", "?revision=x", "?dry_run=yes", "?purge=all", "/a?prune=all")) {
      assertThat(ADMIN.send("PUT", all + wrong, "{}").statusCode()).as(wrong).isEqualTo(400);
    }
    assertThat(COMMANDS.asked).hasSize(4);
  }

  @Test
  void theHistoryIsGivenAndARollbackNamesARevisionOfIt() {
    String a = "/api/v1/applications/a";
    assertJson(
        ADMIN.send("GET", a + "/history", null),
        200,
        "{\"revisions\": [{\"revision\": 3, \"deployed_ms\": 500, \"state\": \"RAN\","
            + " \"message\": \"\", \"digest\": \"d16e\", \"route_prefix\": null,"
            + " \"jars\": [\"a.jar 5ha\"], \"config\": {\"name\": \"a\"}}]}");
    assertJson(ADMIN.send("POST", a + "/rollback?to=3&dry_run=true", null), 200, "{\"to\": 3}");
    assertJson(ADMIN.send("POST", a + "/rollback?to=3", null), 200, "{\"revision\": 7}");
    assertThat(COMMANDS.asked)
        .containsExactly("history a", "rollback a to 3, dry", "rollback a to 3");
    assertThat(ADMIN.send("POST", a + "/rollback?to=x", null).statusCode()).isEqualTo(400);
    assertThat(ADMIN.send("POST", a + "/rollback?back=3", null).statusCode()).isEqualTo(400);
  }

  @Test
  void howADeploymentAutoscalesIsGivenOrWhyNot() {
    String path = "/api/v1/applications/a/deployments/d/autoscaling";
    assertJson(ADMIN.send("GET", path, null), 200, "{\"policy_failures\": 0}");
    assertThat(COMMANDS.asked).containsExactly("autoscaling a d");
    COMMANDS.refuse(
        CommandRejectionReason.NOT_FOUND,
        "deployment: a#d does not autoscale (expected: one that does)");
    HttpResponse<String> refused = ADMIN.send("GET", path, null);
    assertThat(refused.statusCode()).isEqualTo(404);
    assertThat(refused.body()).contains("does not autoscale");
  }

  @Test
  void whichCommandItIsIsHandedOn() {
    String[] one = {"Idempotency-Key", "one"};
    String a = "/api/v1/applications/a";
    ADMIN.send("PUT", APPLICATIONS, "{}", one);
    ADMIN.send("DELETE", APPLICATIONS, null, one);
    ADMIN.send("PUT", a, "{}", one);
    ADMIN.send("DELETE", a, null, one);
    ADMIN.send("POST", a + "/rollback", null, one);
    ADMIN.send("POST", a + "/deployments/d/scale", "{\"target_num_replicas\": 1}", one);

    assertThat(COMMANDS.asked)
        .containsExactly(
            "once one", "deploy {}",
            "once one", "delete all",
            "once one", "deploy a {}",
            "once one", "delete a",
            "once one", "rollback a",
            "once one", "scale a d 1");
  }

  @ParameterizedTest
  @CsvSource({
    "PUT, /api/serve/applications/, {}",
    "DELETE, /api/serve/applications/,",
    "POST, /api/v1/applications/a/rollback,",
    "POST, /api/v1/applications/a/deployments/d/scale, '{\"target_num_replicas\": 1}'"
  })
  void aCommandWithSeveralKeysIsRefused(String method, String path, String body) {
    String[] two = {"Idempotency-Key", "one", "Idempotency-Key", "two"};
    HttpResponse<String> response = ADMIN.send(method, path, body, two);
    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains("Idempotency-Key: several (expected: one)");
    assertThat(COMMANDS.asked).isEmpty();
  }

  @Test
  void theControllerIsStartedAnewAndTheInstanceDrained() {
    assertThat(ADMIN.send("POST", "/api/v1/controller/restart", null).statusCode()).isEqualTo(200);
    assertThat(ADMIN.send("POST", "/api/v1/drain", null).statusCode()).isEqualTo(202);
    assertThat(COMMANDS.asked).containsExactly("restart controller", "drain");
  }

  @Test
  void aReplicaIsKilledByItsWholeName() {
    String replicas = "/api/v1/applications/a/deployments/d/replicas/";
    assertThat(ADMIN.send("DELETE", replicas + "a%23d%231", null).statusCode()).isEqualTo(202);
    HttpResponse<String> unknown = ADMIN.send("DELETE", replicas + "a%23d%232", null);
    assertThat(unknown.statusCode()).isEqualTo(404);
    assertThat(new JsonObject(unknown.body()).getString("message"))
        .isEqualTo("replica: a#d#2 (expected: one of a#d on this instance)");
    assertThat(KILLED).containsExactly("a#d a#d#1", "a#d a#d#2");
  }

  @ParameterizedTest
  @CsvSource({
    "INVALID, 400, invalid",
    "NOT_FOUND, 404, not_found",
    "PRECONDITION, 412, precondition_failed",
    "UNAVAILABLE, 503, unavailable"
  })
  void oursAreRefusedInJsonWithEveryProblem(CommandRejectionReason kind, int status, String code) {
    COMMANDS.refuse(kind, "one", "two");
    JsonObject expected =
        new JsonObject()
            .put("code", code)
            .put("message", "one\ntwo")
            .put("problems", new JsonArray().add("one").add("two"));
    for (String[] asked :
        new String[][] {
          {"GET", "/api/v1/serve"},
          {"PUT", "/api/v1/applications/a"},
          {"DELETE", "/api/v1/applications/a"},
          {"POST", "/api/v1/applications/a/rollback"},
          {"POST", "/api/v1/controller/restart"},
          {"POST", "/api/v1/drain"}
        }) {
      assertJson(ADMIN.send(asked[0], asked[1], null), status, expected.encode());
    }
  }

  // --- bodies ---

  @Test
  void aBodyThatIsTooLongIsRefusedAndForgotten() {
    byte[] longest = " ".repeat(4 << 20).getBytes();
    assertThat(ADMIN.sendAsync("PUT", APPLICATIONS, longest).join().statusCode()).isEqualTo(200);
    HttpResponse<String> refused =
        ADMIN.sendAsync("PUT", APPLICATIONS, new byte[(4 << 20) + 1]).join();
    assertThat(refused.statusCode()).isEqualTo(413);
    assertThat(new JsonObject(refused.body()).getString("message"))
        .isEqualTo("body: longer than 4194304 bytes (expected: at most as many)");
    assertThat(COMMANDS.asked).hasSize(1);
    assertThat(bodyBytes()).isEqualTo("0.0");
  }

  @Test
  void declarationsThatWaitTakeABoundedNumberOfBytesTogether() {
    Promise<Void> durable = Promise.promise();
    COMMANDS.gate = durable.future();
    byte[] body = " ".repeat(4 << 20).getBytes();
    List<CompletableFuture<HttpResponse<String>>> waiting = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      waiting.add(ADMIN.sendAsync("PUT", APPLICATIONS, body));
    }
    while (COMMANDS.asked.size() < 4) {
      Thread.onSpinWait();
    }
    HttpResponse<String> refused = ADMIN.send("PUT", APPLICATIONS, "{}");
    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(bodyBytes()).isEqualTo("1.6777216E7");
    durable.complete();
    waiting.forEach(answer -> assertEmpty(answer.join()));
    assertEmpty(ADMIN.send("PUT", APPLICATIONS, "{}"));
    assertThat(bodyBytes()).isEqualTo("0.0");
  }

  @Test
  void aBodyThatIsNoTextIsRefused() {
    HttpResponse<String> refused =
        ADMIN.sendAsync("PUT", APPLICATIONS, new byte[] {'{', (byte) 0xff, '}'}).join();
    assertText(refused, 400, "body: not UTF-8 (expected: UTF-8)");
    HttpResponse<String> scale = ADMIN.sendAsync("POST", SCALE, new byte[] {(byte) 0xff}).join();
    assertThat(scale.statusCode()).isEqualTo(400);
    assertThat(bodyBytes()).isEqualTo("0.0");
  }

  @Test
  void aClientThatWaitsToBeAskedForItsBodyIsAsked() throws Exception {
    String head =
        "PUT /api/serve/applications/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
            + "Expect: 100-continue\r\nConnection: close\r\n\r\n";
    assertThat(ADMIN.raw(head + "{}"))
        .startsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n");
  }

  @Test
  void aCommandOfTwoLengthsIsRefused() throws Exception {
    String head =
        "PUT /api/serve/applications/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
            + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    assertThat(ADMIN.raw(head + "2\r\n{}\r\n0\r\n\r\n")).startsWith("HTTP/1.1 400");
  }

  private String bodyBytes() {
    return ADMIN
        .send("GET", "/metrics", null)
        .body()
        .lines()
        .filter(line -> line.startsWith("berth_admin_body_bytes "))
        .map(line -> line.substring(line.indexOf(' ') + 1))
        .findFirst()
        .orElse("missing");
  }

  // --- log ---

  @Test
  void eachAcceptedCommandIsOneLineThatSaysWhoAndWhatAndARefusedOneIsNone() {
    List<ILoggingEvent> said;
    try (LogLines lines = new LogLines(AdminResponses.class, Level.INFO)) {
      ADMIN.send("PUT", APPLICATIONS, "{}");
      ADMIN.send("POST", SCALE, "{\"target_num_replicas\": 3}");
      ADMIN.send("POST", "/api/v1/applications/a/rollback", null);
      COMMANDS.refuse(CommandRejectionReason.INVALID, "no");
      ADMIN.send("PUT", APPLICATIONS, "{}");
      said = lines.all();
    }
    assertThat(said.stream().map(event -> String.valueOf(event.getKeyValuePairs())))
        .containsExactly(
            "[command=\"deploy\", by=\"address 127.0.0.1\"]",
            "[command=\"scale\", by=\"address 127.0.0.1\", application=\"a\", deployment=\"d\","
                + " replicas=\"3\"]",
            "[command=\"rollback\", by=\"address 127.0.0.1\", application=\"a\","
                + " revision=\"7\"]");
  }
}
