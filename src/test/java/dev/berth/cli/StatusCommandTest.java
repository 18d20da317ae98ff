package dev.berth.cli;

import static dev.berth.cli.FakeInstance.application;
import static dev.berth.cli.FakeInstance.deployment;
import static dev.berth.cli.FakeInstance.replica;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.StatusTrigger;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class StatusCommandTest {
  @AutoClose private final FakeInstance instance = new FakeInstance();

  private static ApplicationDetails updating() {
    ReplicaDetails[] replicas = {
      replica("shop#cart#1", ReplicaPhase.RUNNING, "v1"),
      replica("shop#cart#2", ReplicaPhase.RUNNING, "v1"),
      replica("shop#cart#3", ReplicaPhase.RUNNING, "v2"),
      replica("shop#cart#4", ReplicaPhase.STARTING, "v2")
    };
    DeploymentDetails cart =
        deployment("cart", DeploymentStatus.UPDATING, "1 of 3\nreplaced", 3, replicas);
    return application("shop", ApplicationStatus.DEPLOYING, "", 2, null, cart);
  }

  private static ApplicationDetails running() {
    ReplicaDetails one = replica("shop#cart#3", ReplicaPhase.RUNNING, "v2");
    DeploymentDetails cart = deployment("cart", DeploymentStatus.HEALTHY, "", 1, one);
    return application("shop", ApplicationStatus.RUNNING, "", 2, null, cart);
  }

  @Test
  void eachApplicationAndDeploymentIsAnAlignedLine() {
    instance.serves(
        updating(), application("idle", ApplicationStatus.NOT_STARTED, "its code", 1, null));

    assertThat(instance.execute("status")).isZero();
    assertThat(instance.err).hasToString("");
    assertThat(instance.lines())
        .containsExactly(
            "node-1, controller term 3, kept in /var/berth",
            "application | deployment | status | revision | replicas | version | message",
            "shop | DEPLOYING | 2",
            " | cart | UPDATING | 1/3 (2 old, 1 starting) | v2 | 1 of 3; replaced",
            "idle | NOT_STARTED | 1 | its code");
    assertThat(instance.out.toString().lines().skip(1).map(line -> line.indexOf("status")))
        .startsWith(instance.out.toString().lines().toList().get(2).indexOf("DEPLOYING"));
  }

  @Test
  void howLongAReplicaHasBeenStartingIsSaidAndIsNoChange() {
    instance.atMs = 43_900;
    instance.serves(updating());
    instance.atMs = 843_900;
    instance.serves(updating());
    instance.idlePauses = 1;

    assertThat(instance.execute("status", "--watch")).isZero();
    assertThat(instance.out.toString().lines()).as("of both looks").hasSize(2);
    assertThat(instance.execute("status")).isZero();
    assertThat(instance.out.toString()).contains("1/3 (2 old, 1 starting for 14 min)");

    try (FakeInstance soon = new FakeInstance()) {
      soon.atMs = 43_900;
      assertThat(soon.serves(updating()).execute("status")).isZero();
      assertThat(soon.out.toString()).contains("1/3 (2 old, 1 starting for 42 s)");
    }
  }

  @Test
  void batchesOfAllReplicasAreShownByTheirMeanFill() {
    DeploymentDetails digits =
        new DeploymentDetails(
            "digits",
            DeploymentStatus.HEALTHY,
            StatusTrigger.CONFIG_UPDATE_COMPLETED,
            "",
            "v2",
            Map.of("batching", Map.of("max_batch_size", 16)),
            2,
            null,
            List.of(replica("shop#digits#1", ReplicaPhase.RUNNING, "v2")),
            List.of());
    instance
        .serves(application("shop", ApplicationStatus.RUNNING, "", 2, null, digits))
        .answer("GET /api/v1/ledger", 200, ledgers(ledger("n1", 1, 40), ledger("n2", 3, 80)))
        .answer("GET /api/v1/ledger", 200, ledgers())
        .answer("GET /api/v1/ledger", 503, "{}");

    assertThat(instance.execute("status")).isZero();
    assertThat(instance.lines())
        .last()
        .isEqualTo(" | digits | HEALTHY | 1/2 | v2 | batches 70 % full");
    for (String without : List.of("before the first batch", "no ledger")) {
      assertThat(instance.execute("status")).as(without).isZero();
      assertThat(instance.lines()).last().isEqualTo(" | digits | HEALTHY | 1/2 | v2");
    }
    instance.only("GET /api/v1/ledger", 200, ledgers(ledger("n2", 3, 80)));
    assertThat(instance.execute("status", "--json")).isZero();
    assertThat(instance.out.toString()).contains("\"mean_batch_fill_percent\" : 80.0");
  }

  private static String ledger(String node, int batches, int percent) {
    return new JsonObject()
        .put("application", "shop")
        .put("deployment", "digits")
        .put("node", node)
        .put("batches", batches)
        .put("mean_batch_fill_percent", percent)
        .encode();
  }

  private static String ledgers(String... replicas) {
    return "{\"replicas\": [%s], \"total\": {}}".formatted(String.join(",", replicas));
  }

  @Test
  void oneApplicationIsShownWhenItIsNamed() {
    instance.serves(updating(), application("idle", ApplicationStatus.NOT_STARTED, "", 1, null));

    assertThat(instance.execute("status", "idle", "--json")).isZero();
    JsonArray shown = new JsonObject(instance.out.toString()).getJsonArray("applications");
    assertThat(shown).hasSize(1);
    assertThat(shown.getJsonObject(0).getString("name")).isEqualTo("idle");

    assertThat(instance.execute("status", "other")).isEqualTo(1);
    assertThat(instance.err)
        .hasToString("berth: other: no such application (expected: one of shop, idle)\n");
  }

  @Test
  void withNothingDeployedItSaysSo() {
    instance.serves();
    assertThat(instance.execute("status")).isZero();
    assertThat(instance.lines().get(1)).isEqualTo("No application is deployed.");
  }

  @Test
  void aWatchOnAPipeIsALineForEachChangeUntilTheSignal() {
    instance.serves(updating()).serves(updating()).serves(running()).serves();
    instance.idlePauses = 3;

    assertThat(instance.execute("status", "--watch")).isZero();
    assertThat(instance.out.toString().lines())
        .containsExactly(
            "shop/cart: UPDATING, replicas 1/3 (2 old, 1 starting), version v2: 1 of 3; replaced",
            "shop: DEPLOYING",
            "shop/cart: HEALTHY, replicas 1/1, version v2",
            "shop: RUNNING",
            "shop/cart: removed",
            "shop: removed");
  }

  @Test
  void aWatchOnATerminalDrawsItsTableInPlace() {
    instance.terminal = true;
    instance.variables.put("NO_COLOR", "1");
    instance.serves(updating()).serves(running());
    instance.idlePauses = 1;

    assertThat(instance.execute("status", "-w")).isZero();
    String[] draws = instance.out.toString().split("\u001b\\[4A\r\u001b\\[J", -1);
    assertThat(draws).hasSize(2);
    assertThat(draws[0]).contains("UPDATING").doesNotContain("\u001b[3");
    assertThat(draws[1]).contains("HEALTHY").doesNotContain("UPDATING");
  }

  @Test
  void aTerminalGetsColoursUnlessNoColorIsSet() {
    instance.terminal = true;
    instance.serves(running());
    assertThat(instance.execute("status")).isZero();
    assertThat(instance.out.toString()).contains("\u001b[32mHEALTHY\u001b[0m");
  }

  @Test
  void aWatchNeedsNoMoreLinesThanTheTerminalHas() {
    instance.terminal = true;
    instance.variables.put("LINES", "4");
    ApplicationDetails[] many = new ApplicationDetails[9];
    for (int i = 0; i < many.length; i++) {
      many[i] = application("app" + i, ApplicationStatus.RUNNING, "", 1, null);
    }
    instance.serves(many);
    instance.idlePauses = 1;

    assertThat(instance.execute("status", "-w")).isZero();
    assertThat(instance.out.toString())
        .contains("and 9 more lines\n")
        .contains("\u001b[3A\r\u001b[J");
  }

  @Test
  void aWatchInJsonIsALineForEachChange() {
    instance.serves(updating()).serves(updating()).serves(running());
    instance.idlePauses = 2;

    assertThat(instance.execute("status", "--watch", "--json")).isZero();
    assertThat(instance.out.toString().lines().map(JsonObject::new)).hasSize(2);
  }

  @Test
  void whatTheServerSaysNeverReachesTheTerminalAsACommand() {
    instance.terminal = true;
    instance.variables.put("NO_COLOR", "1");
    instance.serves(
        application("a\u001b[2J", ApplicationStatus.DEPLOY_FAILED, "x\u009b1m\u0007", 1, null));

    assertThat(instance.execute("status")).isZero();
    assertThat(instance.execute("status", "--json")).isZero();
    assertThat(instance.execute("config")).isZero();
    assertThat(instance.out.toString())
        .contains("a?[2J")
        .doesNotContain("\u001b", "\u009b", "\u0007");
  }

  @Test
  void theTokenComesFromTheEnvironmentAndItsLackIsSaid() {
    instance.answer("GET /api/v1/serve", 401, "{\"code\":\"unauthorized\",\"message\":\"no\"}");

    assertThat(instance.execute("status")).isEqualTo(2);
    assertThat(instance.err)
        .hasToString(
            "berth: the admin server requires a token (expected: --token-file, or BERTH_TOKEN)\n");
    instance.variables.put("BERTH_TOKEN", "0123456789abcdef");
    instance.execute("status");
    assertThat(instance.authorizations).containsExactly("null", "Bearer 0123456789abcdef");

    instance.variables.put("BERTH_TOKEN", "two words");
    instance.err.getBuffer().setLength(0);
    assertThat(instance.execute("status")).isEqualTo(2);
    assertThat(instance.err.toString())
        .startsWith("BERTH_TOKEN: invalid, not shown")
        .doesNotContain("words");
  }

  @Test
  void whatIsNoAdminServerIsNoAnswer() {
    instance.answer("GET /api/v1/serve", 200, "<html>");
    assertThat(instance.execute("status")).isEqualTo(3);
    assertThat(instance.err.toString())
        .endsWith(": status 200 (expected: an admin server of Berth)\n");
    instance.close();
    assertThat(instance.execute("status")).isEqualTo(3);
  }

  @Test
  void refusalOfAnInstanceWithoutControllerIsAFailure() {
    instance.answer("GET /api/v1/serve", 503, "{\"code\":\"unavailable\",\"message\":\"why\"}");

    assertThat(instance.execute("status")).isEqualTo(1);
    assertThat(instance.err).hasToString("berth: why\n");
  }

  @Test
  void answerWithoutAReasonIsAnotherServers() {
    instance.answer("GET /api/v1/serve", 404, "{\"code\":404,\"message\":\"\"}");

    assertThat(instance.execute("status")).isEqualTo(3);
    assertThat(instance.err.toString())
        .contains("status 404", "(expected: an admin server of Berth)");
  }
}
