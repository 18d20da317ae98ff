package dev.berth.cli;

import static dev.berth.cli.FakeInstance.application;
import static dev.berth.cli.FakeInstance.deployment;
import static dev.berth.cli.FakeInstance.replica;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.ApplicationDetails;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.DeploymentStatus;
import dev.berth.protocol.ReplicaPhase;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Config, scale, rollback, shutdown and drain. */
class OperatorCommandsTest {
  private static final String SCALE = "POST /api/v1/applications/my%20shop/deployments/cart/scale";
  private static final String DELETE = "DELETE /api/serve/applications/";

  @AutoClose private final FakeInstance instance = new FakeInstance();

  private static ApplicationDetails shop(DeploymentStatus status, int target, int running) {
    return application(
        "my shop",
        ApplicationStatus.RUNNING,
        "",
        4,
        "{\"name\":\"my shop\",\"args\":{\"price\":1.5,\"none\":null,\"tags\":[\"yes\",2]}}",
        deployment(
            "cart",
            status,
            "",
            target,
            java.util.Collections.nCopies(running, replica("r", ReplicaPhase.RUNNING, "v2"))
                .toArray(dev.berth.protocol.ReplicaDetails[]::new)));
  }

  @Test
  void whatWasSubmittedIsPrintedAsYamlDocuments() {
    instance.serves(
        shop(DeploymentStatus.HEALTHY, 1, 1),
        application("not from a file", ApplicationStatus.RUNNING, "", 1, null),
        application("b", ApplicationStatus.RUNNING, "", 1, "{\"name\":\"b\"}"));

    assertThat(instance.execute("config")).isZero();
    assertThat(instance.out)
        .hasToString(
            """
            name: my shop
            args:
              price: 1.5
              none: null
              tags:
              - 'yes'
              - 2

            ---

            name: b
            """
                .replace("'yes'", "yes")); // a string in YAML 1.2
  }

  @Test
  void whatWasSubmittedIsPrintedAsJsonToo() {
    instance.serves(shop(DeploymentStatus.HEALTHY, 1, 1));

    assertThat(instance.execute("config", "my shop", "--json")).isZero();
    assertThat(new JsonArray(instance.out.toString()).getJsonObject(0).getJsonObject("args"))
        .isEqualTo(new JsonObject("{\"price\":1.5,\"none\":null,\"tags\":[\"yes\",2]}"));
    assertThat(instance.execute("config", "other")).isEqualTo(1);
    assertThat(instance.err.toString()).startsWith("berth: other: no such application");
  }

  @Test
  void aScaleIsAskedForAndWaitedFor() {
    instance
        .answer(SCALE, 200, "{\"message\":\"Scaling request received.\"}")
        .serves(shop(DeploymentStatus.HEALTHY, 1, 1)) // not taken up yet
        .serves(shop(DeploymentStatus.UPSCALING, 3, 1))
        .serves(shop(DeploymentStatus.HEALTHY, 3, 3));

    assertThat(instance.execute("scale", "my shop", "cart", "3", "--wait")).isZero();
    assertThat(instance.commands()).containsExactly(SCALE + " {\"target_num_replicas\":3}");
    assertThat(instance.out.toString().lines().filter(line -> !line.contains("RUNNING")))
        .containsExactly(
            "my shop/cart: 3 replicas wanted",
            "my shop/cart: HEALTHY, replicas 1/1, version v2",
            "my shop/cart: UPSCALING, replicas 1/3, version v2",
            "my shop/cart: HEALTHY, replicas 3/3, version v2");
  }

  @Test
  void aScaleThatFailsOrIsRefusedSaysWhy() {
    instance
        .answer(SCALE, 200, "{}")
        .answer(SCALE, 412, "{\"error\":\"external_scaler_enabled: false\"}")
        .serves(shop(DeploymentStatus.DEPLOY_FAILED, 3, 1));

    assertThat(instance.execute("scale", "my shop", "cart", "3", "--wait", "--json")).isEqualTo(1);
    assertThat(new JsonObject(instance.out.toString()).getString("outcome")).isEqualTo("failed");
    assertThat(instance.execute("scale", "my shop", "cart", "3")).isEqualTo(1);
    assertThat(instance.err.toString().lines())
        .containsExactly(
            "berth: my shop/cart: DEPLOY_FAILED, replicas 1/3",
            "berth: external_scaler_enabled: false");
    assertThat(instance.execute("scale", "my shop", "cart", "-1")).isEqualTo(2);
    assertThat(instance.execute("scale", "my shop", "cart", "many")).isEqualTo(2);
  }

  @Test
  void aRollbackSaysItsRevisionAndIsWaitedFor() {
    instance
        .answer("POST /api/v1/applications/my%20shop/rollback", 200, "{\"revision\":4}")
        .serves(shop(DeploymentStatus.HEALTHY, 1, 1));

    assertThat(instance.execute("rollback", "my shop", "--wait")).isZero();
    assertThat(instance.out.toString())
        .startsWith("my shop: goes back, as revision 4\n")
        .contains("my shop: RUNNING");
  }

  @Test
  void aRollbackToNothingIsAFailure() {
    instance.answer(
        "POST /api/v1/applications/new/rollback",
        412,
        "{\"code\":\"precondition_failed\",\"message\":\"m\",\"problems\":[\"new: no earlier one\"]}");
    assertThat(instance.execute("rollback", "new")).isEqualTo(1);
    assertThat(instance.err).hasToString("berth: new: no earlier one\n");
  }

  @Test
  void aShutdownAsksFirst() {
    instance.terminal = true;
    instance.answer(DELETE, 200, "").serves(shop(DeploymentStatus.HEALTHY, 1, 1));
    instance.typed.add("no");

    assertThat(instance.execute("shutdown")).isEqualTo(1);
    assertThat(instance.commands()).isEmpty();
    assertThat(instance.out).hasToString("Delete my shop of " + instance.address() + "? [y/N] ");
    assertThat(instance.err).hasToString("berth: nothing was deleted\n");

    instance.typed.add("y");
    assertThat(instance.execute("shutdown")).isZero();
    assertThat(instance.commands()).containsExactly(DELETE);
  }

  @Test
  void withoutATerminalAShutdownMustBeConfirmedOnTheCommandLine() {
    instance.answer(DELETE, 200, "").serves(shop(DeploymentStatus.HEALTHY, 1, 1));

    assertThat(instance.execute("shutdown")).isEqualTo(2);
    assertThat(instance.asked).isEmpty();
    assertThat(instance.err.toString()).startsWith("berth: no terminal to ask on (expected: -y");
    assertThat(instance.execute("shutdown", "-y", "--json")).isZero();
    assertThat(new JsonObject(instance.out.toString()).getJsonArray("deleted"))
        .containsExactly("my shop");
  }

  @Test
  void aDrainIsWaitedForUntilNothingAnswers() {
    instance.answer("POST /api/v1/drain", 202, "{}");
    instance.pauses.add(() -> {});
    instance.pauses.add(instance::close);

    assertThat(instance.execute("drain", "--wait")).isZero();
    assertThat(instance.asked)
        .containsExactly("POST /api/v1/drain", "GET /-/healthz", "GET /-/healthz");
    assertThat(instance.out.toString()).endsWith(": drains\nIt has ended.\n");
  }

  @Test
  void aDrainThatTakesTooLongIsSaid() {
    instance.answer("POST /api/v1/drain", 202, "{}");

    assertThat(instance.execute("drain", "--wait", "--timeout-s=1")).isEqualTo(4);
    assertThat(instance.err).hasToString("berth: it answers still after 1.0 s\n");
    assertThat(instance.execute("drain", "--json")).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "deploy",
        "status",
        "config",
        "scale",
        "rollback",
        "logs",
        "ledger",
        "explain",
        "shutdown",
        "drain"
      })
  void helpShowsExamplesExitCodesAndHowToReachTheInstance(String command) {
    assertThat(instance.execute(command, "--help")).isZero();
    assertThat(instance.out.toString())
        .contains("Usage: berth " + command, "Exit codes:", "  3   no admin server answers")
        .contains(
            "Examples:", "  berth " + command, "--address=URL", "--token-file=FILE", "--json");
    assertThat(instance.out.toString().lines())
        .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(80));
  }
}
