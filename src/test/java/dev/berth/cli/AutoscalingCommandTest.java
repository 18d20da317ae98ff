package dev.berth.cli;

import static dev.berth.cli.FakeInstance.application;
import static dev.berth.cli.FakeInstance.deployment;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ScalingDetails;
import io.vertx.core.json.JsonObject;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AutoscalingCommandTest {
  private static final String ONE = "GET /api/v1/applications/shop/deployments/cart/autoscaling";

  @AutoClose private final FakeInstance instance = new FakeInstance();

  private static DeploymentDetails cart(int running, int replicas, String reason, String why) {
    ScalingDetails scaling =
        new ScalingDetails(
            2,
            10,
            2,
            7.5,
            running,
            replicas,
            false,
            reason,
            why,
            replicas + " replicas: " + why,
            "2 -> 4",
            10_000,
            14_200L,
            800L,
            0);
    return deployment("cart", DeploymentStatus.HEALTHY, "", replicas, scaling, List.of());
  }

  private static ApplicationDetails shop(DeploymentDetails... deployments) {
    return application("shop", ApplicationStatus.RUNNING, "", 1, null, deployments);
  }

  @Test
  void eachThatAutoscalesIsALine() {
    instance.serves(
        shop(
            cart(3, 4, "DELAY", "another is wanted"),
            deployment("till", DeploymentStatus.HEALTHY, "", 1)));
    assertThat(instance.execute("autoscaling", "shop")).isZero();
    assertThat(instance.lines())
        .containsExactly(
            "deployment | replicas | bounds | load | target | delay left | report age | why",
            "shop/cart | 3/4 | 2..10 | 7.5 | 2 | 4.2 s | 0.8 s | another is wanted");
    assertThat(instance.commands()).isEmpty();
  }

  @Test
  void ofOneTheLastDecisionsAreShownToo() {
    instance
        .serves(shop(cart(3, 4, "DELAY", "another is wanted")))
        .answer(
            ONE,
            200,
            """
            {"decisions": [{"at_ms": 9000, "told": "3 -> 4 replicas: more\\u001b[2J",
              "inputs": {"total": 7.25}}, 7]}
            """);
    assertThat(instance.execute("autoscaling", "shop", "cart")).isZero();
    assertThat(instance.lines())
        .hasSize(3)
        .last()
        .isEqualTo("1970-01-01T00:00:09Z 3 -> 4 replicas: more?[2J");

    assertThat(instance.execute("autoscaling", "shop", "cart", "--json")).isZero();
    assertThat(instance.out.toString()).contains("\"total\" : 7.25");
  }

  @Test
  void whoWatchesSeesEachChangeAndTheEndOfWhatItWatches() {
    instance.serves(shop(cart(2, 2, "STEADY", "the number fits the load")));
    instance.idlePauses = 6;
    instance
        .serves(shop(cart(2, 2, "STEADY", "the number fits the load")))
        .serves(shop(cart(2, 4, "STARTING", "some start")))
        .answer("GET /api/v1/serve", 503, "{\"message\": \"none now\"}")
        .serves(shop(cart(4, 4, "STEADY", "the number fits the load")))
        .serves();
    assertThat(instance.execute("autoscaling", "shop", "--watch")).isZero();
    assertThat(instance.lines())
        .containsExactly(
            "shop/cart 1970-01-01T00:00:10Z 2 replicas: the number fits the load",
            "shop/cart 1970-01-01T00:00:10Z 2 -> 4",
            "shop/cart 1970-01-01T00:00:10Z 4 replicas: the number fits the load",
            "shop/cart: removed");
    assertThat(instance.err)
        .hasToString(
            "berth: no response now: status 503\nberth: the admin server responds again\n");
  }

  @Test
  void withJsonTooAChangeIsALine() {
    instance.serves(shop(cart(2, 4, "DELAY", "w")));
    instance.idlePauses = 3;
    assertThat(instance.execute("autoscaling", "shop", "-w", "--json")).isZero();
    assertThat(instance.out.toString().lines().map(JsonObject::new))
        .singleElement()
        .satisfies(
            line -> {
              assertThat(line.getString("deployment")).isEqualTo("shop/cart");
              assertThat(line.getInteger("replicas")).isEqualTo(4);
            });
  }

  @Test
  void whatIsNotThereOrDoesNotAutoscaleIsSaid() {
    instance.serves(shop(deployment("till", DeploymentStatus.HEALTHY, "", 1)));
    assertThat(instance.execute("autoscaling", "shop")).isEqualTo(1);
    assertThat(instance.execute("autoscaling", "shop", "till", "--watch")).isEqualTo(1);
    assertThat(instance.execute("autoscaling", "shop", "cart")).isEqualTo(1);
    assertThat(instance.execute("autoscaling", "shpo")).isEqualTo(1);
    assertThat(instance.err)
        .hasToString(
            """
            berth: shop: does not autoscale (expected: one with autoscaling_config)
            berth: shop/till: does not autoscale (expected: one with autoscaling_config)
            berth: cart: no such deployment (expected: one of till)
            berth: shpo: no such application (expected: one of shop)
            """);
    assertThat(instance.execute("autoscaling")).isEqualTo(2);
  }

  @Test
  void theStatusSaysItInShort() {
    instance.serves(shop(cart(3, 4, "DELAY", "another is wanted")));
    assertThat(instance.execute("status")).isZero();
    assertThat(instance.lines())
        .last()
        .asString()
        .endsWith("autoscaling 2..10, target 2, load 7.5");
  }

  // --- replay ---

  @Test
  void aReplayShowsBothSidesAndRefusesKeysThatAreNone(@TempDir Path dir) throws Exception {
    Path file = dir.resolve("r.jsonl");
    StringBuilder lines =
        new StringBuilder(
            """
            {"at_ms":0,"deployment":{"application":"a","name":"d"},"replicas":1,"silent_ms":10000,\
            "rules":{"max_replicas":10,"upscale_delay_s":0,"look_back_period_s":2},"berth":{}}
            torn
            """);
    for (int at = 0; at < 120_000; at += 1_000) {
      lines.append(
          """
          {"at_ms":%s,"batch":{"node":"n","handles":[{"deployment":{"application":"a","name":"d"},\
          "average_load":8.0,"average_reserved":0.0,"last":false}]}}
          """
              .formatted(at));
    }
    Files.writeString(file, lines);
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String set = "--set=target_ongoing_requests=4";
    assertThat(FakeInstance.execute(out, err, "autoscaling", "replay", file.toString(), set))
        .as(err.toString())
        .isZero();
    assertThat(out.toString().lines())
        .hasSize(6)
        .anyMatch(line -> line.matches("1970-01-01T00:00:04Z +4/4 +2/2"))
        .anyMatch(line -> line.matches("replica seconds +4[0-9.]+ +2[0-9.]+"));
    assertThat(err.toString()).contains("1 unreadable lines skipped");

    String wrong = "--set=target=4";
    assertThat(FakeInstance.execute(out, err, "autoscaling", "replay", file.toString(), wrong))
        .isEqualTo(2);
    assertThat(FakeInstance.execute(out, err, "autoscaling", "replay", dir + "/none", set))
        .isEqualTo(1);
    assertThat(FakeInstance.execute(out, err, "autoscaling", "replay", file.toString(), "--app=x"))
        .isEqualTo(1);
    assertThat(err.toString()).contains("unknown key", "none: ", "deployment: 0 in the record");
  }
}
