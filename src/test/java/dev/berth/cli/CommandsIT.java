package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cli.log.LogTap;
import dev.berth.code.CompiledJar;
import dev.berth.config.ConfigReader;
import dev.berth.node.BerthNode;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands against a whole instance, as an operator gives them one after the other. */
@Timeout(60)
class CommandsIT {
  private static final String TWO =
      "applications: [{name: b, route_prefix: /b, import_path: 'dev.berth.examples.Quickstart:echo'}]";

  @TempDir Path folder;
  private BerthNode node;
  private String said = ""; // by the last command
  private String complained = "";

  @BeforeEach
  void start() throws Exception {
    node = run();
    Files.createDirectories(folder.resolve("conf"));
    build("one");
  }

  @AfterEach
  void stop() throws Exception {
    await(node.close());
  }

  private BerthNode run() throws Exception {
    String text =
        "http_options: {host: 127.0.0.1, port: 0}\n"
            + "berth: {admin: {port: 0}, event_loops: 1, state_dir: state}\napplications: []\n";
    return await(
        BerthNode.start(
            ConfigReader.read("it", folder, text), LogTap.ofProcess(), new CompletableFuture<>()));
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
  }

  /** Another build of the application; one that says bad does not start. */
  private void build(String says) throws IOException {
    CompiledJar.in(
        folder.resolve("conf"),
        "app.jar",
        """
        package it;
        import dev.berth.api.*;
        import io.vertx.core.Future;
        public final class App {
          public static Application build(java.util.Map<String, Object> args) {
            return Application.of(
                Deployment.of("front", replica -> handler("front")),
                Deployment.of("till", replica -> handler("till")));
          }
          private static AsyncHandler handler(String name) {
            if ("%s".equals("bad " + name)) { throw new IllegalStateException("no model"); }
            return (request, context) -> Future.succeededFuture(Response.text("%s"));
          }
        }
        """
            .formatted(says, says));
  }

  private Path one(String more) throws IOException {
    return Files.writeString(
        folder.resolve("conf/one.yaml"),
        """
        # The first line of a user's file is often a comment.
        applications:
          - name: a
            route_prefix: /a
            import_path: it.App:build
            runtime_env: {jars: [app.jar]}
            args: {price: 1.5, no: "no", text: "~", none: null, tab: "a\\tb", list: [0x10, "0x10"]}
        """
            + more);
  }

  private int berth(String... words) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String address = "--address=127.0.0.1:" + node.adminPort();
    String[] all = Stream.concat(Stream.of(words), Stream.of(address)).toArray(String[]::new);
    int exitCode = FakeInstance.execute(out, err, all);
    said = out.toString();
    complained = err.toString();
    return exitCode;
  }

  private void ok(String... words) {
    assertThat(berth(words)).as(complained + said).isZero();
  }

  @Test
  void whatConfigPrintsIsDeployedAgainAndNothingIsDifferent() throws Exception {
    ok("deploy", one("target_capacity: 50\n").toString(), "--wait");
    ok("deploy", Files.writeString(folder.resolve("two.yaml"), TWO).toString(), "--wait");
    assertThat(said).contains("b: new", "retained, since not only this file", ": a");

    Path elsewhere = Files.createDirectories(folder.resolve("elsewhere"));
    for (String[] config : new String[][] {{"config"}, {"config", "--json"}}) {
      ok(config);
      Path printed = Files.writeString(elsewhere.resolve("all.yaml"), said);
      ok("deploy", printed.toString(), "--dry-run");
      assertThat(said).contains("a: unchanged", "b: unchanged").doesNotContain("kept");
      ok("deploy", printed.toString(), "--wait", "--prune");
      assertThat(said).contains("a: unchanged", "b: unchanged", "All 2 run.");
    }
    ok("config", "a");
    ok("deploy", Files.writeString(elsewhere.resolve("a.yaml"), said).toString());
    assertThat(said).contains("a: unchanged", ": b");
    ok("status", "--json");
    JsonObject serve = new JsonObject(said);
    assertThat(serve.getDouble("target_capacity")).isEqualTo(50);
    assertThat(serve.getJsonArray("applications").stream().map(JsonObject.class::cast))
        .extracting(each -> each.getLong("revision"))
        .containsExactly(1L, 2L);
  }

  @Test
  void aFileThatWasMovedOrIsLinkedToIsAnotherOrTheSame() throws Exception {
    Path file =
        one("  - {name: c, route_prefix: /c, import_path: 'dev.berth.examples.Quickstart:echo'}\n");
    Path link = Files.createSymbolicLink(folder.resolve("conf/link.yaml"), file);
    ok("deploy", file.toString());
    one("");
    Path moved = folder.resolve("conf/moved.yaml");
    Files.copy(file, moved);
    ok("deploy", moved.toString());
    assertThat(said).contains("a: unchanged", ": c").doesNotContain("deleted");
    ok("deploy", "--dry-run", link.toString());
    assertThat(said).as("a is the moved one's by now, c this one's").contains("c: deleted");
    assertThat(berth("deploy", moved.toString(), "--prune")).isEqualTo(2);
    assertThat(complained).contains("--prune would also delete c, and there is no terminal");
    ok("deploy", moved.toString(), "--prune", "-y");
    assertThat(said).contains("c: pruned");
  }

  @Test
  void earlierRevisionsAreGoneBackToWhateverFailsMeanwhile() throws Exception {
    String file = one("").toString();
    for (String build : List.of("one", "two", "three")) {
      build(build);
      ok("deploy", file, "--wait");
    }
    build("bad front");
    assertThat(berth("deploy", file, "--wait")).isEqualTo(1);
    assertThat(complained)
        .contains(
            "berth: a/front: DEPLOY_FAILED, replicas 0/1 (1 of revision 3); runs revision 3",
            "berth: a/till: HEALTHY, replicas 1/1; runs revision 4");
    ok("status");
    assertThat(said.lines().map(line -> line.strip().split(" {2,}")))
        .anySatisfy(line -> assertThat(line).startsWith("a", "DEPLOY_FAILED", "4"))
        .anySatisfy(line -> assertThat(line).startsWith("front", "DEPLOY_FAILED", "3"))
        .anySatisfy(line -> assertThat(line).startsWith("till", "HEALTHY", "4"));

    ok("rollback", "a", "--dry-run", "--to=1");
    assertThat(said).isEqualTo("a: would roll back to revision 1\n");
    ok("rollback", "a", "--to=1", "--wait"); // while the rollout is frozen
    ok("rollback", "a", "--wait");
    await(node.close());
    node = run();
    ok("history", "a");
    assertThat(said.lines().map(line -> line.strip().split(" {2,}")).skip(1))
        .extracting(line -> line[0] + " " + line[2])
        .containsExactly("6 runs", "5 ran", "3 ran", "2 ran", "1 ran");
    assertThat(berth("rollback", "a", "--to=4")).isEqualTo(1);
    assertThat(complained).contains("revision: 4 of application a (expected: an earlier revision");
  }

  @Test
  void whatTheInstanceAloneFindsWrongStandsAtItsPlaceOfTheFile() throws Exception {
    Path file = one("    deployments:\n      - {name: fornt, num_replicas: 2}\n");
    assertThat(berth("deploy", file.toString(), "--wait")).isEqualTo(1);
    assertThat(complained)
        .contains(
            "berth: a: DEPLOY_FAILED: " + file + ":9:16: applications[0].deployments[0].name: ");
    assertThat(berth("deploy", file.toString(), "--app=a", "--wait")).isEqualTo(1);
    assertThat(complained).contains(file + ":9:16: ", "deployments[0].name: \"fornt\"");
    ok("status");
    assertThat(said).contains("deployments[0].name: \"fornt\"").doesNotContain("config:");

    Path two = Files.writeString(folder.resolve("two.yaml"), "\n" + TWO.replace("/b", "/a"));
    assertThat(berth("deploy", two.toString())).isEqualTo(2);
    assertThat(complained)
        .startsWith(
            "berth: " + two + ":2:40: applications[0].route_prefix: \"/a\" (expected: unique");
  }

  @Test
  void namesThatNothingHasAreAnsweredWithThoseThatThereAre() throws Exception {
    ok("deploy", one("").toString(), "--wait");
    for (String command : List.of("logs", "ledger")) {
      assertThat(berth(command, "--app=shpo")).isEqualTo(1);
      assertThat(complained).contains("shpo: no such application (expected: one of a)");
      assertThat(berth(command, "--app=a", "--deployment=frotn")).isEqualTo(1);
      assertThat(complained).contains("frotn: no such deployment (expected: one of front, till)");
      ok(command, "--app=a", "--deployment=till");
    }
    assertThat(berth("scale", "a", "frotn", "2")).isEqualTo(1);
    assertThat(complained).contains("frotn: no such deployment (expected: one of front, till)");
  }
}
