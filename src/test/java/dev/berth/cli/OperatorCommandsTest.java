package dev.berth.cli;

import static dev.berth.cli.FakeInstance.application;
import static dev.berth.cli.FakeInstance.deployment;
import static dev.berth.cli.FakeInstance.replica;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Config, scale, history, rollback, shutdown and drain. */
class OperatorCommandsTest {
  private static final String SCALE = "POST /api/v1/applications/my%20shop/deployments/cart/scale";
  private static final String DELETE = "DELETE /api/serve/applications/";

  @AutoClose private final FakeInstance instance = new FakeInstance();

  private static ApplicationDetails shop(DeploymentStatus status, int target, int running) {
    String config =
        "{\"name\":\"my shop\",\"args\":{\"price\":1.5,\"none\":null,\"tags\":[\"yes\",2]}}";
    List<ReplicaDetails> replicas =
        Collections.nCopies(running, replica("r", ReplicaPhase.RUNNING, "v2"));
    DeploymentDetails cart = deployment("cart", status, "", target, null, replicas);
    return application("my shop", ApplicationStatus.RUNNING, "", 4, config, cart);
  }

  @Test
  void whatWasSubmittedIsPrintedAsAFile() {
    instance.serves(
        shop(DeploymentStatus.HEALTHY, 1, 1),
        application("not from a file", ApplicationStatus.RUNNING, "", 1, null),
        application("b", ApplicationStatus.RUNNING, "", 1, "{\"name\":\"b\"}"));

    assertThat(instance.execute("config")).isZero();
    assertThat(instance.out)
        .hasToString(
            """
            applications:
            - name: my shop
              args:
                price: 1.5
                none: null
                tags:
                - yes
                - 2
            - name: b
            """); // yes is a string in YAML 1.2
  }

  @Test
  void whatWasSubmittedIsPrintedAsJsonToo() {
    instance.serves(shop(DeploymentStatus.HEALTHY, 1, 1));

    assertThat(instance.execute("config", "my shop", "--json")).isZero();
    assertThat(
            new JsonObject(instance.out.toString())
                .getJsonArray("applications")
                .getJsonObject(0)
                .getJsonObject("args"))
        .isEqualTo(new JsonObject("{\"price\":1.5,\"none\":null,\"tags\":[\"yes\",2]}"));
    assertThat(instance.execute("config", "other")).isEqualTo(1);
    assertThat(instance.err.toString()).startsWith("berth: other: no such application");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "~", "0x1F", "0o17", "1e3", ".inf", "9007199254740993", "1_000", "2026-11-22",
        "Null", "TRUE", "no", "- a", "a: b", "#c", "<<", "=",
        "!t", "&a", "*a", "'", "\"", "%", "|", "\\",
        "", " a ", "a\tb", "a\nb\n", "\u0007\u001b[2J", "\u0085\u009b", "\u2028", "\uD83D\uDE00",
        "\ufeffx"
      })
  void aFileOfItMeansWhatWasSubmitted(String text) {
    JsonObject args =
        new JsonObject()
            .put("text", text)
            .put("of" + text, true)
            .put("numbers", new JsonArray().add(1e300).add(Long.MIN_VALUE).add(-0.5).add(7));
    String config =
        new JsonObject().put("name", "b").put("import_path", "a.B:c").put("args", args).encode();
    instance.serves(application("b", ApplicationStatus.RUNNING, "", 1, config));

    for (String[] command : new String[][] {{"config"}, {"config", "--json"}}) {
      instance.out.getBuffer().setLength(0);
      assertThat(instance.execute(command)).isZero();
      assertThat(instance.out.toString())
          .doesNotContainPattern("[\\p{Cntrl}\\x{80}-\\x{9f}&&[^\n]]");
      ServeConfig read = ConfigReader.read("f", Path.of("."), instance.out.toString());
      assertThat(new JsonObject(new LinkedHashMap<>(read.applications().get(0).entry())).encode())
          .isEqualTo(config);
    }
  }

  @Test
  void aScaleIsAskedForAndWaitedFor() {
    instance
        .answer(SCALE, 200, "{\"message\":\"Scaling request received.\"}")
        .serves(shop(DeploymentStatus.HEALTHY, 1, 1)) // not taken up yet
        .serves(shop(DeploymentStatus.UPSCALING, 3, 1))
        .serves(shop(DeploymentStatus.HEALTHY, 3, 3));

    assertThat(instance.execute("scale", "my shop", "cart", "3", "--wait")).isZero();
    assertThat(instance.commands())
        .containsExactly(SCALE + " {\"autoscaling\":\"pause\",\"target_num_replicas\":3}");
    assertThat(instance.out.toString().lines().filter(line -> !line.contains("RUNNING")))
        .containsExactly(
            "my shop/cart: 3 replicas wanted",
            "my shop/cart: HEALTHY, replicas 1/1, version v2",
            "my shop/cart: UPSCALING, replicas 1/3, version v2",
            "my shop/cart: HEALTHY, replicas 3/3, version v2");
  }

  @Test
  void aScaleSaysThatItPausesAutoscalingAndAutoEndsThat() {
    instance
        .answer(SCALE, 200, "{\"autoscaling\":\"paused\"}")
        .answer(SCALE, 200, "{\"autoscaling\":\"resumed\"}")
        .serves(shop(DeploymentStatus.DOWNSCALING, 2, 3))
        .serves(shop(DeploymentStatus.HEALTHY, 2, 2));

    assertThat(instance.execute("scale", "my shop", "cart", "3")).isZero();
    assertThat(instance.execute("scale", "my shop", "cart", "--auto", "--wait")).isZero();
    assertThat(instance.commands().get(1)).endsWith(" {\"autoscaling\":\"resume\"}");
    assertThat(instance.out.toString())
        .contains(
            "my shop/cart: 3 replicas wanted; autoscaling is paused until --auto",
            "my shop/cart: as many replicas as the load requires wanted");
    assertThat(instance.execute("scale", "my shop", "cart")).isEqualTo(2);
    assertThat(instance.execute("scale", "my shop", "cart", "3", "--auto")).isEqualTo(2);
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
        .startsWith("my shop: rolls back, as revision 4\n")
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
  void aRollbackGoesToARevisionThatIsNamedOrOnlySaysSo() {
    String rollback = "POST /api/v1/applications/shop/rollback";
    instance.answer(rollback, 200, "{\"to\":3}").answer(rollback, 200, "{\"revision\":9}");

    assertThat(instance.execute("rollback", "shop", "--to=3", "--dry-run")).isZero();
    assertThat(instance.execute("rollback", "shop", "--to", "3")).isZero();
    assertThat(instance.asked).containsExactly(rollback + "?to=3&dry_run=true", rollback + "?to=3");
    assertThat(instance.out)
        .hasToString("shop: would roll back to revision 3\nshop: rolls back, as revision 9\n");
    assertThat(instance.execute("rollback", "shop", "--to=0")).isEqualTo(2);
  }

  @Test
  void theHistoryIsALineForEachRevision() {
    instance.answer(
        "GET /api/v1/applications/shop/history",
        200,
        """
        {"revisions": [
          {"revision": 9, "deployed_ms": 1767225600250, "state": "FAILED", "message": "no\\nmodel",
           "digest": "0123456789abcdef", "route_prefix": "/", "config": {}, "jars": []},
          {"revision": 3, "deployed_ms": 0, "state": "SERVES", "message": "",
           "digest": "fedcba9876543210", "jars": ["my shop.jar 99887766554433221100", "b.jar 00"]}
        ]}
        """);

    assertThat(instance.execute("history", "shop")).isZero();
    assertThat(instance.lines())
        .containsExactly(
            "revision | deployed | state | digest | message",
            " | 9 | 2026-01-01T00:00:00Z | failed | 0123456789ab | no; model",
            " | 3 | serves | fedcba987654");
    instance.out.getBuffer().setLength(0);
    assertThat(instance.execute("history", "shop", "--json")).isZero();
    assertThat(new JsonObject(instance.out.toString()).getJsonArray("revisions")).hasSize(2);
  }

  @Test
  void aWrongNameIsAnsweredWithThoseThatThereAre() {
    String unknown = "{\"code\":\"not_found\",\"message\":\"unknown\"}";
    instance
        .answer("POST /api/v1/applications/shpo/rollback", 404, unknown)
        .answer("GET /api/v1/applications/shpo/history", 404, unknown)
        .answer("POST /api/v1/applications/my%20shop/deployments/crat/scale", 404, unknown)
        .serves(shop(DeploymentStatus.HEALTHY, 1, 1));

    assertThat(instance.execute("rollback", "shpo")).isEqualTo(1);
    assertThat(instance.execute("history", "shpo")).isEqualTo(1);
    assertThat(instance.execute("scale", "my shop", "crat", "2")).isEqualTo(1);
    assertThat(instance.err.toString().lines())
        .containsExactly(
            "berth: shpo: no such application (expected: one of my shop)",
            "berth: shpo: no such application (expected: one of my shop)",
            "berth: crat: no such deployment (expected: one of cart)");
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
    assertThat(instance.out.toString()).endsWith(": draining\nThe instance has ended.\n");
  }

  @Test
  void aDrainThatTakesTooLongIsSaid() {
    instance.answer("POST /api/v1/drain", 202, "{}");

    assertThat(instance.execute("drain", "--wait", "--timeout-s=1")).isEqualTo(4);
    assertThat(instance.err).hasToString("berth: the instance responds still after 1.0 s\n");
    assertThat(instance.execute("drain", "--json")).isZero();
  }
}
