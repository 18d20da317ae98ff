package dev.berth.admin;

import static dev.berth.admin.FakeCommands.application;
import static dev.berth.admin.FakeCommands.deployment;
import static dev.berth.admin.FakeCommands.effective;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import io.vertx.core.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The requests of Ray Serve's own command line, byte for byte as {@code src/it/ray-cli.sh --record}
 * saw them, sent to {@link ServeRoutes}; and what the started jar answered them then.
 */
class RayCommandsTest {
  private static final JsonObject RECORDED = new JsonObject(RayModels.resource("exchanges.json"));
  private static final String APPLICATIONS = "/api/serve/applications/";
  private static final FakeCommands COMMANDS = new FakeCommands();
  @AutoClose private static final AdminClient OPEN = admin(Map.of());

  @AutoClose
  private static final AdminClient CLOSED = admin(Map.of("ray", "a-token-for-this-run-only"));

  /** One request and its answer. */
  private record Recorded(JsonObject request, JsonObject response) {
    String method() {
      return request.getString("method");
    }

    String path() {
      return request.getString("path");
    }

    String body() {
      return request.getString("body");
    }

    boolean hasToken() {
      return request.getJsonObject("headers").containsKey("Authorization");
    }

    /** Its bytes; of the host, the connection and paths of that machine it has its own. */
    String bytes() {
      StringBuilder text = new StringBuilder(method() + " " + path() + " HTTP/1.1\r\n");
      text.append("Host: localhost\r\n");
      for (Map.Entry<String, Object> header : request.getJsonObject("headers")) {
        String value =
            switch (header.getKey()) {
              case "Connection" -> "close";
              case "Content-Length" ->
                  String.valueOf(body().getBytes(StandardCharsets.UTF_8).length);
              default -> String.valueOf(header.getValue());
            };
        text.append(header.getKey()).append(": ").append(value).append("\r\n");
      }
      return text.append("\r\n").append(body()).toString();
    }
  }

  private static AdminClient admin(Map<String, String> secrets) {
    return new AdminClient(
        secrets,
        meters -> List.of(AdminClient.serving(COMMANDS, (deployment, replica) -> false, meters)));
  }

  @BeforeEach
  void forget() {
    COMMANDS.reset();
  }

  private static Stream<JsonObject> steps() {
    return RECORDED.getJsonArray("steps").stream().map(JsonObject.class::cast);
  }

  static Stream<Arguments> exchanges() {
    return steps()
        .flatMap(
            step ->
                step.getJsonArray("exchanges").stream()
                    .map(JsonObject.class::cast)
                    .map(
                        each ->
                            Arguments.of(
                                step.getString("step"),
                                new Recorded(
                                    each.getJsonObject("request"),
                                    each.getJsonObject("response")))));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("exchanges")
  void aRequestOfRaysCommandsIsAnsweredAsTheyExpect(String step, Recorded recorded)
      throws Exception {
    int status = recorded.response().getInteger("status");
    String answered = recorded.response().getString("body");
    COMMANDS.details =
        FakeCommands.serve(
            application("echo", "{\"import_path\": \"x:y\"}", deployment("echo", effective())));
    if (status == 400) {
      COMMANDS.refuse(CommandRejectionReason.INVALID, answered.split("\n"));
    }

    String[] response =
        (recorded.hasToken() ? CLOSED : OPEN).raw(recorded.bytes()).split("\r\n\r\n", 2);

    assertThat(response[0]).startsWith("HTTP/1.1 " + status + " ");
    switch (recorded.method() + " " + recorded.path()) {
      case "GET /api/ray/version" ->
          assertThat(new JsonObject(response[1]).getString("ray_version"))
              .isEqualTo(RECORDED.getString("ray_version"));
      case "GET " + APPLICATIONS ->
          assertThat(RayModels.problems("ServeInstanceDetails", new JsonObject(response[1])))
              .isEmpty();
      case "PUT " + APPLICATIONS -> {
        assertThat(response[1]).isEqualTo(answered);
        assertThat(COMMANDS.asked).containsExactly("deploy " + recorded.body());
      }
      case "DELETE " + APPLICATIONS -> {
        assertThat(response[1]).isEmpty();
        assertThat(COMMANDS.asked).containsExactly("delete all");
      }
      default -> throw new AssertionError(recorded.path() + ": asked by Ray in " + step);
    }
  }

  /** Those of the started jar, which Ray's own models took when they were recorded. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("exchanges")
  void whatTheStartedJarAnsweredIsInRaysShapes(String step, Recorded recorded) {
    if (recorded.method().equals("PUT")) {
      assertThat(RayModels.problems("ServeDeploySchema", new JsonObject(recorded.body())))
          .isEmpty();
    } else if (recorded.path().equals(APPLICATIONS) && recorded.method().equals("GET")) {
      JsonObject answered = new JsonObject(recorded.response().getString("body"));
      assertThat(RayModels.problems("ServeInstanceDetails", answered)).isEmpty();
    }
  }

  @Test
  void everyCommandWasRecorded() {
    assertThat(RECORDED.getString("ray_version")).isEqualTo(ServeRoutes.RAY_VERSION);
    assertThat(steps().map(step -> step.getString("step")))
        .contains(
            "deploy",
            "deploy a change",
            "deploy an import path",
            "deploy what is refused",
            "deploy what fails",
            "deploy with a token",
            "status",
            "status of one",
            "status of nothing",
            "status of what failed",
            "config",
            "config of one",
            "shutdown");
  }
}
