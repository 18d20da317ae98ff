package dev.berth.cli;

import static dev.berth.cli.FakeInstance.application;
import static dev.berth.cli.FakeInstance.bodyOf;
import static dev.berth.cli.FakeInstance.deployment;
import static dev.berth.cli.FakeInstance.replica;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.ApplicationDetails;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.DeploymentStatus;
import dev.berth.protocol.ReplicaPhase;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DeployCommandTest {
  private static final String PUT = "PUT /api/serve/applications/";
  private static final String SHOP = "{\"name\":\"shop\",\"import_path\":\"a.B:c\"}";

  @AutoClose private final FakeInstance instance = new FakeInstance();

  @TempDir Path folder;
  private String file;

  @BeforeEach
  void writeFile() throws IOException {
    file = file("serve.yaml", "applications: [{name: shop, import_path: 'a.B:c'}]\n");
    instance.answer(PUT, 200, "");
  }

  private String file(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }

  private static ApplicationDetails shop(ApplicationStatus status, String message, long revision) {
    DeploymentStatus of =
        status == ApplicationStatus.RUNNING ? DeploymentStatus.HEALTHY : DeploymentStatus.UPDATING;
    return application(
        "shop",
        status,
        "",
        revision,
        SHOP,
        deployment("cart", of, message, 1, replica("shop#cart#1", ReplicaPhase.STARTING, "v2")));
  }

  private static final ApplicationDetails DEPLOYING = shop(ApplicationStatus.DEPLOYING, "", 2);
  private static final ApplicationDetails RUNNING = shop(ApplicationStatus.RUNNING, "", 2);

  /** Nothing is there; after the command each look finds the next of these. */
  private static FakeInstance then(FakeInstance instance, ApplicationDetails... shops) {
    instance.serves();
    Stream.of(shops).forEach(instance::serves);
    return instance;
  }

  private FakeInstance then(ApplicationDetails... shops) {
    return then(instance, shops);
  }

  private static ApplicationDetails failed(String message) {
    return application(
        "shop",
        ApplicationStatus.DEPLOY_FAILED,
        "cart failed",
        2,
        SHOP,
        deployment("cart", DeploymentStatus.DEPLOY_FAILED, message, 2),
        deployment("till", DeploymentStatus.HEALTHY, "", 0));
  }

  @Test
  void theFileIsPutWithItsSettingsAndWhatBecomesOfEachApplicationIsSaid() throws IOException {
    String two =
        file(
            "two.yaml",
            """
            applications:
              - {name: shop, import_path: 'a.B:c'}
              - {name: more, import_path: 'a.B:c', route_prefix: /more}
            """);
    instance.serves(
        shop(ApplicationStatus.RUNNING, "", 1),
        application("old", ApplicationStatus.RUNNING, "", 1, "{}"),
        application("going", ApplicationStatus.DELETING, "", 1, "{}"));

    assertThat(instance.execute("deploy", two, "--set=applications.more.args.n=1")).isZero();
    assertThat(instance.commands()).hasSize(1);
    assertThat(instance.commands().get(0)).startsWith(PUT + " {");
    assertThat(bodyOf(instance.commands().get(0)))
        .isEqualTo(
            new JsonObject(
                "{\"applications\":["
                    + SHOP
                    + ",{\"name\":\"more\",\"import_path\":\"a.B:c\",\"route_prefix\":\"/more\","
                    + "\"args\":{\"n\":1}}]}"));
    assertThat(instance.out.toString().lines())
        .containsExactly(
            two + ": accepted",
            "  shop: unchanged",
            "  more: new",
            "  old: deleted",
            "The instance makes it true now; see: berth status --watch");
    assertThat(instance.err).hasToString("");
  }

  @Test
  void whichFileItIsIsSentUnlessSettingsChangeIt() throws IOException {
    instance
        .answer("PUT /api/v1/applications/shop", 200, "")
        .serves(shop(ApplicationStatus.RUNNING, "", 1));
    String real = Path.of(file).toRealPath().toString();

    assertThat(instance.execute("deploy", file)).isZero();
    assertThat(instance.execute("deploy", file, "--app=shop")).isZero();
    assertThat(instance.files)
        .hasSize(2)
        .allSatisfy(uri -> assertThat(uri).startsWith("file://").endsWith(real));
    assertThat(instance.execute("deploy", file, "--set=applications.shop.args.n=1")).isZero();

    assertThat(instance.commands()).hasSize(3);
    assertThat(instance.files).as("nobody's file").hasSize(2);
  }

  @Test
  void oneApplicationIsPutAloneWhenItIsNamed() {
    instance
        .answer("PUT /api/v1/applications/shop", 200, "")
        .serves(application("old", ApplicationStatus.RUNNING, "", 1, "{}"));

    assertThat(instance.execute("deploy", file, "--app", "shop")).isZero();
    assertThat(instance.commands()).containsExactly("PUT /api/v1/applications/shop " + SHOP);
    assertThat(instance.out.toString()).contains("shop: new").doesNotContain("old");

    assertThat(instance.execute("deploy", file, "--app=other")).isEqualTo(2);
    assertThat(instance.err.toString()).startsWith("--app: other (expected: one of shop)");
  }

  @Test
  void aDryRunChangesNothing() {
    instance.serves(application("shop", ApplicationStatus.RUNNING, "", 1, "{}"));

    assertThat(instance.execute("deploy", file, "--dry-run", "--wait")).isZero();
    assertThat(instance.commands()).isEmpty();
    assertThat(instance.out.toString().lines())
        .containsExactly(file + ": valid, and would be:", "  shop: changed");
  }

  @Test
  void aDryRunTellsOfTheConfigurationOnlyAndADeployOfTheCodeToo() {
    ApplicationDetails first = shop(ApplicationStatus.RUNNING, "", 1);
    instance.serves(first).serves(first).serves(DEPLOYING);

    assertThat(instance.execute("deploy", file, "--dry-run")).isZero();
    assertThat(instance.out.toString()).endsWith("  shop: same configuration\n");
    assertThat(instance.execute("deploy", file)).isZero();
    assertThat(instance.out.toString()).contains("  shop: changed\n"); // its jar was
  }

  @Test
  void everyProblemIsSaidBeforeAnythingIsAsked() throws IOException {
    String wrong = file("wrong.yaml", "foo: 1\napplications: [{name: a}]\n");

    assertThat(instance.execute("deploy", wrong)).isEqualTo(2);
    assertThat(instance.err.toString()).contains("foo: unknown key", "import_path", "2 problems");
    assertThat(instance.asked).isEmpty();
  }

  @Test
  void whatHoldsFromTheStartIsNotSentAndSaidSo() throws IOException {
    String whole =
        file("whole.yaml", "http_options: {port: 1}\nberth: {event_loops: 1}\napplications: []\n");
    instance.serves();

    assertThat(instance.execute("deploy", whole)).isZero();
    assertThat(bodyOf(instance.commands().get(0)))
        .isEqualTo(new JsonObject("{\"applications\":[]}"));
    assertThat(instance.err)
        .hasToString(
            "berth: http_options, berth of the file: not sent, they hold for an instance from"
                + " its start\n");
  }

  @Test
  void aRefusalIsToldLineByLineAsTheServerPutIt() {
    try (FakeInstance strict = new FakeInstance()) {
      strict.serves().answer(PUT, 400, "applications[0].name: x\napplications[1].name: y");
      assertThat(strict.execute("deploy", file)).isEqualTo(2);
      assertThat(strict.err)
          .hasToString("berth: applications[0].name: x\nberth: applications[1].name: y\n");
    }
    try (FakeInstance readOnly = new FakeInstance()) {
      readOnly.serves().answer(PUT, 503, "{\"message\":\"no\",\"problems\":[\"held elsewhere\"]}");
      assertThat(readOnly.execute("deploy", file)).isEqualTo(1);
      assertThat(readOnly.err).hasToString("berth: held elsewhere\n");
    }
  }

  @Test
  void aWaitShowsEachTransitionAndEndsWhenEveryApplicationRuns() {
    then(DEPLOYING, DEPLOYING, DEPLOYING, RUNNING);
    instance.idlePauses = 9;

    assertThat(instance.execute("deploy", file, "--wait")).isZero();
    assertThat(instance.out.toString().lines())
        .containsExactly(
            file + ": accepted",
            "  shop: new",
            "shop/cart: UPDATING, replicas 0/1 (1 starting), version v2",
            "shop: DEPLOYING",
            "shop/cart: HEALTHY, replicas 0/1 (1 starting), version v2",
            "shop: RUNNING",
            "It runs.");
    assertThat(instance.err).hasToString("");
  }

  @Test
  void aWaitOnATerminalIsATableInPlace() {
    instance.terminal = true;
    then(DEPLOYING, DEPLOYING, RUNNING);

    assertThat(instance.execute("deploy", file, "--wait")).isZero();
    assertThat(instance.out.toString())
        .contains("\u001b[3A\r\u001b[J", "RUNNING")
        .endsWith("It runs.\n");
  }

  @Test
  void aFailedDeployEndsTheWaitWithItsCause() {
    then(failed("shop#cart#1 could not start: no model"));

    assertThat(instance.execute("deploy", file, "--wait")).isEqualTo(1);
    assertThat(instance.err)
        .hasToString(
            "berth: shop: DEPLOY_FAILED: cart failed\n"
                + "berth: shop/cart: DEPLOY_FAILED, replicas 0/2: shop#cart#1 could not start: no"
                + " model\n");
  }

  @Test
  void aCauseThatTheApplicationNamesIsSaidOnce() {
    then(
        application(
            "shop",
            ApplicationStatus.DEPLOY_FAILED,
            "deployment cart: no model",
            2,
            SHOP,
            deployment("cart", DeploymentStatus.DEPLOY_FAILED, "no model", 2)));

    assertThat(instance.execute("deploy", file, "--wait")).isEqualTo(1);
    assertThat(instance.err).hasToString("berth: shop: DEPLOY_FAILED: deployment cart: no model\n");
  }

  @Test
  void whatIsUnhealthyMayRecoverButNotForLong() {
    ApplicationDetails unhealthy = shop(ApplicationStatus.UNHEALTHY, "three checks failed", 2);
    then(unhealthy, unhealthy, unhealthy, RUNNING);
    assertThat(instance.execute("deploy", file, "--wait")).isZero();

    try (FakeInstance ill = new FakeInstance()) {
      then(ill.answer(PUT, 200, ""), unhealthy);
      assertThat(ill.execute("deploy", file, "--wait")).isEqualTo(1);
      assertThat(ill.err.toString()).contains("shop: UNHEALTHY", "three checks failed");
      assertThat(ill.nowNanos).isBetween(5_000_000_000L, 7_000_000_000L);
    }
  }

  @Test
  void aWaitEndsWhenItsTimeIsOverAndSaysWhatIsMissing() {
    then(shop(ApplicationStatus.DEPLOYING, "waits for a GPU", 2));

    assertThat(instance.execute("deploy", file, "--wait", "--timeout-s=2.5")).isEqualTo(4);
    assertThat(instance.err.toString().lines())
        .containsExactly(
            "berth: shop: DEPLOYING",
            "berth: shop/cart: UPDATING, replicas 0/1 (1 starting): waits for a GPU",
            "berth: not reached within 2.5 s; it goes on");
    assertThat(instance.nowNanos).isBetween(2_500_000_000L, 3_600_000_000L);
  }

  @Test
  void anotherDeployInBetweenEndsTheWait() {
    then(DEPLOYING, DEPLOYING, shop(ApplicationStatus.RUNNING, "", 3));
    assertThat(instance.execute("deploy", file, "--wait")).isEqualTo(1);
    assertThat(instance.err).hasToString("berth: shop: another command declared revision 3\n");

    try (FakeInstance deleted = new FakeInstance()) {
      then(deleted.answer(PUT, 200, ""), DEPLOYING, DEPLOYING).serves();
      assertThat(deleted.execute("deploy", file, "--wait")).isEqualTo(1);
      assertThat(deleted.err).hasToString("berth: shop: deleted by another command\n");
    }
  }

  @Test
  void aControllerThatIsStartedAnewDoesNotEndTheWait() {
    instance
        .serves()
        .serves(DEPLOYING)
        .answer("GET /api/v1/serve", 503, "{\"code\":\"unavailable\",\"message\":\"no\"}")
        .serves(RUNNING);

    assertThat(instance.execute("deploy", file, "--wait")).isZero();
    assertThat(instance.err).hasToString("");
  }

  @Test
  void anInstanceThatEndsEndsTheWait() {
    then(DEPLOYING);
    instance.pauses.add(instance::close);

    assertThat(instance.execute("deploy", file, "--wait")).isEqualTo(3);
  }

  @Test
  void asJsonOneObjectSaysHowItEnded() {
    then(failed("why"));

    assertThat(instance.execute("deploy", file, "--wait", "--json")).isEqualTo(1);
    assertThat(new JsonObject(instance.out.toString()))
        .isEqualTo(
            new JsonObject(
                """
                {"outcome": "failed",
                 "causes": ["shop: DEPLOY_FAILED: cart failed",
                            "shop/cart: DEPLOY_FAILED, replicas 0/2: why"],
                 "applications": [{"name": "shop", "change": "new", "status": "DEPLOY_FAILED",
                                   "message": "cart failed"}]}
                """));
  }

  @Test
  void aTimeThatIsNoneIsWrongUsage() {
    assertThat(instance.execute("deploy", file, "--timeout-s=0")).isEqualTo(2);
    assertThat(instance.execute("deploy", file, "--timeout-s=NaN")).isEqualTo(2);
    assertThat(instance.err.toString()).contains("--timeout-s: 0.0 (expected: a number of seconds");
    assertThat(instance.asked).isEmpty();
  }
}
