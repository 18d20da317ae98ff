package dev.berth.cli;

import static dev.berth.cli.FakeInstance.application;
import static dev.berth.cli.FakeInstance.deployment;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.AdminClient;
import dev.berth.admin.LedgerRoutes;
import dev.berth.admin.LedgerRoutes.ReplicaLedger;
import dev.berth.api.DeploymentId;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.BatchFill;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.LedgerView;
import dev.berth.view.LedgerView.Audit;
import dev.berth.view.LedgerView.LastAudit;
import io.vertx.core.json.JsonObject;
import java.io.StringWriter;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LedgerCommandTest {
  @AutoClose
  private static final AdminClient ADMIN =
      new AdminClient(
          new LedgerRoutes(
              () ->
                  List.of(
                      replica("clean", new LastAudit(Audit.CLEAN, 0, 0, 0, 0, -1)),
                      replica("busy", new LastAudit(Audit.BUSY, 0, 12_300_000_000L, 0, 0, -1)),
                      replica("wrong", new LastAudit(Audit.MISMATCH, 0, -1, 1, -2, 0))),
              () -> Instant.EPOCH));

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private static ReplicaLedger replica(String deployment, LastAudit audit) {
    return new ReplicaLedger(
        new DeploymentId("app", deployment),
        new LedgerView("app#" + deployment + "#1", 7, 8, 3, 2, false, 30, 19, 1, 5, 1, audit),
        BatchFill.NONE);
  }

  private int execute(String command, String... options) {
    Stream<String> words = Stream.of(command, "--address", "127.0.0.1:" + ADMIN.port);
    String[] all = Stream.concat(words, Stream.of(options)).toArray(String[]::new);
    return FakeInstance.execute(out, err, all);
  }

  @Test
  void eachReplicaIsALineAndAMismatchIsExitCodeOne() {
    assertThat(execute("ledger")).isEqualTo(1);
    assertThat(err).hasToString("");
    assertThat(out.toString().lines().map(line -> line.replaceAll(" +", " ")))
        .containsExactly(
            "replica max running reserved granted ended zombies audit",
            "app#clean#1 8 3 2 30 25 1 clean",
            "app#busy#1 8 3 2 30 25 1 busy, clean 12.3 s ago",
            "app#wrong#1 8 3 2 30 25 1 mismatch of -2",
            "total of 3 24 9 6 90 75 3");
    assertThat(out.toString().lines())
        .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(100));
  }

  @Test
  void whatIsNamedIsShownAndWithoutAMismatchTheExitCodeIsZero() {
    String[] named = {"--app=app", "--replica=app#clean#1", "--replica=app#busy#1"};
    assertThat(execute("ledger", named)).isZero();
    assertThat(out.toString().lines()).hasSize(4);
  }

  @Test
  void aLongNameMovesNoColumnAndAWrongOneIsAnsweredWithThoseThatThereAre() {
    try (FakeInstance instance = new FakeInstance()) {
      DeploymentDetails cart = deployment("cart", DeploymentStatus.HEALTHY, "", 0);
      String longest = "shop#a-deployment-with-a-long-name#naqspzbo";
      String zeros = "\"max_ongoing_requests\":8,\"running\":0,\"reserved\":0,\"granted\":1234567";
      instance
          .answer(
              "GET /api/v1/ledger",
              200,
              "{\"replicas\":[{\"replica\":\"%s\",%s},{\"replica\":\"b\",%s}],\"total\":{%s}}"
                  .formatted(longest, zeros, zeros, zeros + ",\"audit_mismatches\":0"))
          .answer("GET /api/v1/ledger", 200, "{\"replicas\":[],\"total\":{\"audit_mismatches\":0}}")
          .serves(application("shop", ApplicationStatus.RUNNING, "", 1, null, cart));

      assertThat(instance.execute("ledger")).isZero();
      List<String> lines = instance.out.toString().lines().toList();
      assertThat(lines.get(1)).startsWith(longest + "    8 ");
      int granted = lines.get(0).indexOf("granted") + "granted".length();
      assertThat(lines.subList(0, 3))
          .allSatisfy(
              line -> assertThat(line.substring(0, granted)).matches(".*(granted|1234567)"));
      assertThat(instance.execute("ledger", "--app=shop")).as("it has no replicas").isZero();
      assertThat(instance.execute("ledger", "--app=shpo")).isEqualTo(1);
      assertThat(instance.execute("ledger", "--deployment=crat")).isEqualTo(1);
      assertThat(instance.execute("ledger", "--replica=x")).isEqualTo(1);
      assertThat(instance.err.toString().lines())
          .containsExactly(
              "berth: shpo: no such application (expected: one of shop)",
              "berth: crat: no such deployment (expected: one of cart)",
              "berth: x: no such replica (expected: none exists)");
    }
  }

  @Test
  void asJsonItIsWhatTheServerSays() {
    assertThat(execute("ledger", "--json")).isEqualTo(1);
    assertThat(new JsonObject(out.toString()).getJsonArray("replicas")).hasSize(3);
  }
}
