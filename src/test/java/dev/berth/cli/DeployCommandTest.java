package dev.berth.cli;

import static dev.berth.cli.FakeInstance.application;
import static dev.berth.cli.FakeInstance.bodyOf;
import static dev.berth.cli.FakeInstance.deployment;
import static dev.berth.cli.FakeInstance.outcome;
import static dev.berth.cli.FakeInstance.replica;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DeployCommandTest {
  private static final String PUT = "PUT /api/v1/applications";
  private static final String SHOP = "{\"name\":\"shop\",\"import_path\":\"a.B:c\"}";

  private static final String PRUNING =
      outcome("NEW", "shop", 1, "DELETED", "mine", 1, "PRUNED", "o", 2, "PRUNED", "p", 2);

  @AutoClose private final FakeInstance instance = new FakeInstance();

  @TempDir Path folder;
  private String file;

  @BeforeEach
  void writeFile() throws IOException {
    file = file("serve.yaml", "applications: [{name: shop, import_path: 'a.B:c'}]\n");
    instance.answer(PUT, 200, outcome("NEW", "shop", 2));
  }

  private String file(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }

  private static ApplicationDetails shop(ApplicationStatus status, String message, long revision) {
    DeploymentStatus of =
        status == ApplicationStatus.RUNNING ? DeploymentStatus.HEALTHY : DeploymentStatus.UPDATING;
    ReplicaDetails starting = replica("shop#cart#1", ReplicaPhase.STARTING, "v2");
    DeploymentDetails cart = deployment("cart", of, message, 1, starting);
    return application("shop", status, "", revision, SHOP, cart);
  }

  private static final ApplicationDetails DEPLOYING = shop(ApplicationStatus.DEPLOYING, "", 2);
  private static final ApplicationDetails RUNNING = shop(ApplicationStatus.RUNNING, "", 2);

  private static ApplicationDetails failed(String ofShop, String message) {
    return failed(
        ofShop,
        deployment("cart", DeploymentStatus.DEPLOY_FAILED, message, 2),
        deployment("till", DeploymentStatus.HEALTHY, "", 0));
  }

  private static ApplicationDetails failed(String why, DeploymentDetails... deployments) {
    return application("shop", ApplicationStatus.DEPLOY_FAILED, why, 2, SHOP, deployments);
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
    String outcome =
        outcome("UNCHANGED", "shop", 1, "NEW", "more", 4, "DELETED", "old", 2, "KEPT", "o", 3);
    instance.only(PUT, 200, outcome);

    assertThat(instance.execute("deploy", two, "--set=applications.more.args.n=1")).isZero();
    assertThat(instance.commands()).singleElement().asString().startsWith(PUT + " {");
    assertThat(bodyOf(instance.commands().get(0)))
        .isEqualTo(
            new JsonObject(
                """
                {"applications": [%s, {"name": "more", "import_path": "a.B:c",
                                       "route_prefix": "/more", "args": {"n": 1}}]}
                """
                    .formatted(SHOP)));
    assertThat(instance.out.toString().lines())
        .containsExactly(
            two + ": accepted",
            "  shop: unchanged",
            "  more: new",
            "  old: deleted",
            "  retained, since not only this file declared them (--prune deletes them): o",
            "The instance applies it now; see: berth status --watch");
    assertThat(instance.err).hasToString("");
  }

  @Test
  void whichFileItIsIsSentUnlessSettingsChangeIt() throws IOException {
    instance.answer(PUT + "/shop", 200, outcome("UNCHANGED", "shop", 1));
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
    instance.answer(PUT + "/shop", 200, outcome("NEW", "shop", 1));

    assertThat(instance.execute("deploy", file, "--app", "shop")).isZero();
    assertThat(instance.commands()).containsExactly("PUT /api/v1/applications/shop " + SHOP);
    assertThat(instance.out.toString()).contains("shop: new").doesNotContain("old");

    assertThat(instance.execute("deploy", file, "--app=other")).isEqualTo(2);
    assertThat(instance.err.toString()).startsWith("--app: other (expected: one of shop)");
  }

  @Test
  void aDryRunAsksWhatWouldBeAndChangesNothing() {
    instance.only(PUT, 200, outcome("UNCHANGED", "shop", 1, "KEPT", "o", 2));

    assertThat(instance.execute("deploy", file, "--dry-run", "--wait")).isZero();
    assertThat(instance.execute("deploy", file, "--dry-run", "--prune", "--json")).isZero();
    assertThat(instance.asked).hasSize(2);
    assertThat(instance.asked.get(0)).startsWith(PUT + "?dry_run=true {");
    assertThat(instance.asked.get(1)).startsWith(PUT + "?prune=all&dry_run=true {");
    assertThat(instance.out.toString())
        .startsWith(file + ": valid, and would be:\n  shop: unchanged\n  retained, since not")
        .contains("\"outcome\" : \"dry_run\"", "\"change\" : \"kept\"");
  }

  @Test
  void whatIsNotTheFilesAloneIsDeletedOnATerminalThatAgrees() {
    instance.only(PUT, 200, PRUNING);
    instance.terminal = true;
    instance.typed.add("no");

    assertThat(instance.execute("deploy", file, "--prune")).isEqualTo(1);
    assertThat(instance.asked)
        .singleElement()
        .asString()
        .startsWith(PUT + "?prune=all&dry_run=true {");
    assertThat(instance.out).hasToString("Also delete o, p of " + instance.address() + "? [y/N] ");
    assertThat(instance.err).hasToString("berth: nothing was deployed\n");

    instance.typed.add("y");
    assertThat(instance.execute("deploy", file, "--prune")).isZero();
    assertThat(instance.asked)
        .last()
        .asString()
        .as("only if nothing was declared since the question")
        .startsWith(PUT + "?prune=all&revision=9 {");
  }

  @Test
  void withoutATerminalAPruneMustBeConfirmedOnTheCommandLine() {
    instance.only(PUT, 200, PRUNING);

    assertThat(instance.execute("deploy", file, "--prune")).isEqualTo(2);
    assertThat(instance.err)
        .hasToString(
            "berth: --prune would also delete o, p, and there is no terminal to ask on"
                + " (expected: -y, which deletes without a question)\n");
    assertThat(instance.execute("deploy", file, "--prune", "-y")).isZero();
    assertThat(instance.asked).hasSize(2).last().asString().startsWith(PUT + "?prune=all {");
    assertThat(instance.execute("deploy", file, "--prune", "--app=shop")).isEqualTo(2);
  }

  @Test
  void aPruneThatWouldDeleteNothingMoreAsksNobody() {
    assertThat(instance.execute("deploy", file, "--prune")).isZero();
    assertThat(instance.commands()).hasSize(2);
  }

  @Test
  void whatTheInstanceFindsWrongStandsWhereTheFileHasIt() throws IOException {
    String long1 =
        file(
            "long.yaml",
            """
            http_options: {port: 1}

            applications:
              - name: shop
                import_path: 'a.B:c'
                runtime_env: {jars: []}
                args:
                  pages: 3
            """);
    instance
        .only(
            PUT,
            400,
            "{\"code\":\"invalid\",\"problems\":[\"config:1:77: applications[0].args.pages: 3"
                + " (expected: 2)\", \"config:1:80: applications[0].args.none: null\"]}")
        .answer(PUT + "/shop", 400, "{\"message\":\"config:1:9: import_path: a.B:c: no\"}");
    assertThat(instance.execute("deploy", long1)).isEqualTo(2);
    assertThat(instance.execute("deploy", long1, "--app=shop")).isEqualTo(2);
    assertThat(instance.err.toString().lines().filter(line -> !line.contains("not sent")))
        .containsExactly(
            "berth: " + long1 + ":8:14: applications[0].args.pages: 3 (expected: 2)",
            "berth: " + long1 + ":8:7: applications[0].args.none: null",
            "berth: " + long1 + ":5:18: import_path: a.B:c: no");
    instance.only(PUT, 200, outcome("NEW", "shop", 2));
    instance.serves(failed("applications[0].import_path: a.B:c: no such class; status: kept"));
    assertThat(instance.execute("deploy", long1, "--wait")).isEqualTo(1);
    assertThat(instance.err.toString())
        .endsWith(
            "berth: shop: DEPLOY_FAILED: "
                + long1
                + ":5:18: applications[0].import_path: a.B:c: no such class; status: kept\n");
  }

  @Test
  void aFrozenRolloutSaysWhichRevisionEachDeploymentRuns() {
    ReplicaDetails old = replica("shop#cart#1", ReplicaPhase.RUNNING, "v1", 1);
    ReplicaDetails wanted = replica("shop#till#1", ReplicaPhase.RUNNING, "v2", 2);
    instance.serves(
        failed(
            "deployment cart: frozen",
            deployment("cart", DeploymentStatus.DEPLOY_FAILED, "frozen", 1, old),
            deployment("till", DeploymentStatus.HEALTHY, "", 1, wanted)));

    assertThat(instance.execute("deploy", file, "--wait")).isEqualTo(1);
    assertThat(instance.err.toString().lines())
        .containsExactly(
            "berth: shop: DEPLOY_FAILED: deployment cart: frozen",
            "berth: shop/cart: DEPLOY_FAILED, replicas 0/1 (1 of revision 1); runs revision 1",
            "berth: shop/till: HEALTHY, replicas 1/1; runs revision 2");
    assertThat(instance.execute("status")).isZero();
    assertThat(instance.lines())
        .contains(
            "shop | DEPLOY_FAILED | 2 | deployment cart: frozen",
            " | cart | DEPLOY_FAILED | 1 | 0/1 (1 of revision 1) | v2 | frozen",
            " | till | HEALTHY | 2 | 1/1 | v2");
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
            "berth: http_options, berth of the file: not sent, applied at the start of an instance\n");
  }

  @Test
  void aRefusalIsToldLineByLineAsTheServerPutIt() {
    instance
        .only(PUT, 400, "applications[0].name: x\napplications[1].name: y")
        .answer(PUT, 503, "{\"message\":\"no\",\"problems\":[\"held elsewhere\"]}");

    assertThat(instance.execute("deploy", file)).isEqualTo(2);
    assertThat(instance.execute("deploy", file)).isEqualTo(1);
    assertThat(instance.err.toString().lines())
        .containsExactly(
            "berth: " + file + ":1:23: applications[0].name: x",
            "berth: applications[1].name: y",
            "berth: held elsewhere");
  }

  @Test
  void aWaitShowsEachTransitionAndEndsWhenEveryApplicationRuns() {
    instance.serves(DEPLOYING).serves(DEPLOYING).serves(RUNNING);
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
    instance.serves(DEPLOYING).serves(RUNNING);

    assertThat(instance.execute("deploy", file, "--wait")).isZero();
    assertThat(instance.out.toString())
        .contains("\u001b[3A\r\u001b[J", "RUNNING")
        .endsWith("It runs.\n");
  }

  @Test
  void aFailedDeployEndsTheWaitWithItsCause() {
    instance.serves(failed("cart failed", "shop#cart#1 could not start: no model"));

    assertThat(instance.execute("deploy", file, "--wait")).isEqualTo(1);
    assertThat(instance.err)
        .hasToString(
            "berth: shop: DEPLOY_FAILED: cart failed\n"
                + "berth: shop/cart: DEPLOY_FAILED, replicas 0/2: shop#cart#1 could not start: no"
                + " model\n");
  }

  @Test
  void aCauseThatTheApplicationNamesIsSaidOnce() {
    instance.serves(failed("deployment cart: no model", "no model"));

    assertThat(instance.execute("deploy", file, "--wait")).isEqualTo(1);
    assertThat(instance.err).hasToString("berth: shop: DEPLOY_FAILED: deployment cart: no model\n");
  }

  @Test
  void whatIsUnhealthyMayRecoverButNotForLong() {
    ApplicationDetails unhealthy = shop(ApplicationStatus.UNHEALTHY, "three checks failed", 2);
    instance.serves(unhealthy).serves(unhealthy).serves(RUNNING);
    assertThat(instance.execute("deploy", file, "--wait")).isZero();

    try (FakeInstance ill = new FakeInstance()) {
      ill.answer(PUT, 200, outcome("NEW", "shop", 2)).serves(unhealthy);
      assertThat(ill.execute("deploy", file, "--wait")).isEqualTo(1);
      assertThat(ill.err.toString()).contains("shop: UNHEALTHY", "three checks failed");
      assertThat(ill.nowNanos).isBetween(5_000_000_000L, 7_000_000_000L);
    }
  }

  @Test
  void aWaitEndsWhenItsTimeIsOverAndSaysWhatIsMissing() {
    instance.serves(shop(ApplicationStatus.DEPLOYING, "waits for a GPU", 2));

    assertThat(instance.execute("deploy", file, "--wait", "--timeout-s=2.5")).isEqualTo(4);
    assertThat(instance.err.toString().lines())
        .containsExactly(
            "berth: shop: DEPLOYING",
            "berth: shop/cart: UPDATING, replicas 0/1 (1 starting): waits for a GPU",
            "berth: not reached within 2.5 s; the instance continues");
    assertThat(instance.nowNanos).isBetween(2_500_000_000L, 3_600_000_000L);
  }

  @Test
  void anotherDeployInBetweenEndsTheWait() {
    instance.serves(DEPLOYING).serves(shop(ApplicationStatus.RUNNING, "", 3));
    assertThat(instance.execute("deploy", file, "--wait")).isEqualTo(1);
    assertThat(instance.err).hasToString("berth: shop: another command declared revision 3\n");

    try (FakeInstance deleted = new FakeInstance()) {
      deleted.answer(PUT, 200, outcome("NEW", "shop", 2)).serves(DEPLOYING).serves();
      assertThat(deleted.execute("deploy", file, "--wait")).isEqualTo(1);
      assertThat(deleted.err).hasToString("berth: shop: deleted by another command\n");
    }
  }

  @Test
  void aControllerThatIsStartedAnewDoesNotEndTheWait() {
    instance
        .serves(DEPLOYING)
        .answer("GET /api/v1/serve", 503, "{\"code\":\"unavailable\",\"message\":\"no\"}")
        .serves(RUNNING);

    assertThat(instance.execute("deploy", file, "--wait")).isZero();
    assertThat(instance.err).hasToString("berth: waiting: no\n");
  }

  @Test
  void waitThatEndsWithoutAControllerTimesOut() {
    instance
        .serves(DEPLOYING)
        .answer("GET /api/v1/serve", 503, "{\"code\":\"unavailable\",\"message\":\"no\"}");

    assertThat(instance.execute("deploy", file, "--wait", "--timeout-s", "3")).isEqualTo(4);
    assertThat(instance.err)
        .hasToString(
            "berth: waiting: no\nberth: no\nberth: not reached within 3.0 s; the instance continues\n");
  }

  @Test
  void whatIsNotAnsweredSoonIsNotWaitedForWithoutAWord() {
    instance.answersAfter = new CompletableFuture<>().completeOnTimeout(null, 3, TimeUnit.SECONDS);
    assertThat(instance.execute("deploy", file)).isZero();
    assertThat(instance.err).hasToString("berth: no response yet; waiting up to 60 s\n");
  }

  @Test
  void anInstanceThatEndsEndsTheWait() {
    instance.serves(DEPLOYING);
    instance.pauses.add(instance::close);

    assertThat(instance.execute("deploy", file, "--wait")).isEqualTo(3);
  }

  @Test
  void asJsonOneObjectSaysHowItEnded() {
    instance.serves(failed("cart failed", "why"));

    assertThat(instance.execute("deploy", file, "--wait", "--json")).isEqualTo(1);
    assertThat(new JsonObject(instance.out.toString()))
        .isEqualTo(
            new JsonObject(
                """
                {"outcome": "failed",
                 "causes": ["shop: DEPLOY_FAILED: cart failed",
                            "shop/cart: DEPLOY_FAILED, replicas 0/2: why"],
                 "applications": [{"name": "shop", "change": "new", "revision": 2,
                                   "status": "DEPLOY_FAILED", "message": "cart failed"}]}
                """));
  }

  @Test
  void aTimeThatIsNoneIsWrongUsage() {
    assertThat(instance.execute("deploy", file, "--timeout-s=0")).isEqualTo(2);
    assertThat(instance.execute("deploy", file, "--timeout-s=NaN")).isEqualTo(2);
    assertThat(instance.err.toString()).contains("--timeout-s: 0.0 (expected: a number of seconds");
    assertThat(instance.asked).isEmpty();
  }

  // --- jars ---

  private static final String SHA_256 =
      "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"; // of "hello"

  private String withJar() throws IOException {
    Files.writeString(folder.resolve("a b.jar"), "hello");
    return file(
        "jar.yaml",
        "applications: [{name: shop, import_path: 'a.B:c', runtime_env: {jars: ['a b.jar']}}]");
  }

  private String jarsSent() {
    String put = instance.asked.stream().filter(each -> each.startsWith(PUT)).findAny().get();
    return bodyOf(put)
        .getJsonArray("applications")
        .getJsonObject(0)
        .getJsonObject("runtime_env")
        .getJsonArray("jars")
        .getString(0);
  }

  @Test
  void toAnInstanceOfNoClusterAJarGoesByItsPath() throws IOException {
    assertThat(instance.execute("deploy", withJar())).isZero();
    assertThat(jarsSent()).isEqualTo(folder.resolve("a b.jar").toString());
    assertThat(instance.asked).noneMatch(each -> each.contains("/api/v1/jars/"));
  }

  @Test
  void aNodeOfAClusterIsSentTheJarsThatItLacks() throws IOException {
    instance.answer("GET /api/v1/cluster", 200, "{}");
    instance.answer("PUT /api/v1/jars/" + SHA_256, 201, "");
    assertThat(instance.execute("deploy", withJar())).isZero();
    assertThat(instance.asked)
        .contains("PUT /api/v1/jars/" + SHA_256 + "?name=a%20b.jar hello")
        .contains("HEAD /api/v1/jars/" + SHA_256);
    assertThat(jarsSent()).isEqualTo("sha256:" + SHA_256);
  }

  @Test
  void aJarThatIsThereIsNotSent() throws IOException {
    instance.answer("HEAD /api/v1/jars/" + SHA_256, 200, "");
    assertThat(instance.execute("deploy", withJar(), "--upload")).isZero();
    assertThat(instance.asked).noneMatch(each -> each.startsWith("PUT /api/v1/jars/"));
    assertThat(jarsSent()).isEqualTo("sha256:" + SHA_256);
  }

  @Test
  void aJarThatIsNotKeptEndsTheDeploy() throws IOException {
    String why = "The jar cannot be stored: No space left on device";
    instance.answer(
        "PUT /api/v1/jars/" + SHA_256, 507, new JsonObject().put("message", why).encode());
    assertThat(instance.execute("deploy", withJar(), "--upload")).isEqualTo(1);
    assertThat(instance.err.toString()).contains(why);
    assertThat(instance.asked).noneMatch(each -> each.startsWith(PUT + " "));
  }
}
