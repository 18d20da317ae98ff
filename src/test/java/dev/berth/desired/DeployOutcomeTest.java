package dev.berth.desired;

import static dev.berth.fakes.Submits.submit;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.config.ConfigReader;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import dev.berth.view.ControllerCommands.DeployRequest;
import dev.berth.view.DeployOutcome;
import dev.berth.view.RevisionDetails;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What goes and what stays, what would, and what can be gone back to. */
class DeployOutcomeTest extends ServeControlRig {
  private static final String ONE = "file://h/one.yaml";
  private static final String TWO = "file://h/two.yaml";

  /** An instance, in place of the one before. */
  private void start() {
    start(log -> log);
  }

  private void start(UnaryOperator<StateLog> around) {
    stopAll();
    start(
        ConfigReader.read("file", folder, "applications: []"),
        around.apply(new JournalLog(kept())));
  }

  private static String entry(String name) {
    return "{name: %s, route_prefix: /%s, import_path: x.A}".formatted(name, name);
  }

  private static DeployRequest file(@Nullable String uri, String... names) {
    String all = String.join(", ", Stream.of(names).map(DeployOutcomeTest::entry).toList());
    return says("{applications: [" + all + "]}", uri);
  }

  private static DeployRequest says(String text, @Nullable String uri) {
    return new DeployRequest(null, text, uri, false, null, false);
  }

  private static DeployRequest with(
      DeployRequest what, boolean prunes, @Nullable Long at, boolean dry) {
    return new DeployRequest(null, what.config(), what.file(), prunes, at, dry);
  }

  private String deploy(DeployRequest what) {
    return text(ok(commands().deploy(what)));
  }

  private static String text(DeployOutcome outcome) {
    return String.join(
        ", ",
        outcome.applications().stream()
            .map(each -> each.change() + " " + each.name() + " " + each.revision())
            .toList());
  }

  // --- what stays ---

  @Test
  void aFileThatLeavesOutWhatItAloneNamedDeletesIt() {
    start();
    assertThat(deploy(file(ONE, "a", "b"))).isEqualTo("NEW a 1, NEW b 2");
    start(); // it is known after a restart
    assertThat(deploy(file(ONE, "a"))).isEqualTo("UNCHANGED a 1, DELETED b 2");
  }

  @Test
  void whatAnotherFileOrNobodysDeclaredStaysUnlessAllIsPruned() {
    start();
    deploy(file(ONE, "a"));
    deploy(file(TWO, "b"));
    deploy(file(null, "c"));

    assertThat(deploy(file(ONE, "a"))).isEqualTo("UNCHANGED a 1, KEPT b 2, KEPT c 3");
    assertThat(deploy(file("file://h/moved.yaml", "a")))
        .as("the same elsewhere")
        .isEqualTo("UNCHANGED a 1, KEPT b 2, KEPT c 3");
    assertThat(deploy(file(ONE))).as("the moved one named it since").startsWith("KEPT a");
    assertThat(deploy(with(file(TWO), true, null, false)))
        .isEqualTo("PRUNED a 1, DELETED b 2, PRUNED c 3");
  }

  @Test
  void whatSomebodyElseSubmittedSinceStays() {
    start();
    deploy(file(ONE, "a", "b", "c", "d"));
    deploy("b", "{import_path: x.Other, route_prefix: /b}");
    deploy(file(TWO, "c")); // the same, by another
    ok(commands().delete("d"));

    assertThat(deploy(file(ONE, "a")))
        .as("b says something else, c is the other file's too, d is gone")
        .isEqualTo("UNCHANGED a 1, KEPT b 5, KEPT c 3");
    assertThat(deploy(file(ONE, "a"))).as("it speaks of them no more").contains("KEPT b 5");
    assertThat(deploy(file(TWO))).as("it is the last that named c").contains("DELETED c 3");
  }

  @Test
  void aCapacityThatAnotherFileSaysStays() {
    start();
    DeployRequest half = says("{target_capacity: 50, applications: []}", ONE);
    deploy(half);
    deploy(file(TWO, "b"));
    assertThat(control.state.head.targetCapacity()).isEqualTo(50);
    deploy(file(ONE));
    assertThat(control.state.head.targetCapacity()).as("the one that said it").isNull();
    deploy(half);
    ok(submit(commands(), "{applications: []}"));
    assertThat(control.state.head.targetCapacity()).as("Ray's declares all").isNull();
  }

  @Test
  void aRouteOfWhatStaysIsTakenAndOfWhatGoesIsFree() {
    start();
    deploy(file(ONE, "a"));
    deploy(file(TWO, "b"));
    DeployRequest takes =
        says("applications: [{name: n, route_prefix: /a, import_path: x.A}]", TWO);

    assertThat(refused(CommandRejectionReason.INVALID, commands().deploy(takes)))
        .hasMessage(
            "config:1:40: applications[0].route_prefix: \"/a\" (expected: unique; application a"
                + " has it already)");
    assertThat(deploy(with(takes, true, null, false)))
        .isEqualTo("NEW n 3, PRUNED a 1, DELETED b 2");
  }

  // --- what would be ---

  @Test
  void aDryRunSaysWhatWouldBeAndDoesNothing() throws IOException {
    start();
    deploy(file(ONE, "a", "b"));
    controls.told.clear();
    DeployRequest next = file(ONE, "a", "c");

    assertThat(deploy(with(next, false, null, true)))
        .isEqualTo("UNCHANGED a 1, NEW c 3, DELETED b 2");
    assertThat(controls.told).isEmpty();
    assertThat(deploy(with(file(TWO, "c"), true, null, true)))
        .isEqualTo("NEW c 3, PRUNED a 1, PRUNED b 2");
    assertThat(deploy(next)).isEqualTo("UNCHANGED a 1, NEW c 3, DELETED b 2");
  }

  @Test
  void aDryRunKeepsNeitherAJarNorADirectory() throws IOException {
    Files.writeString(folder.resolve("a.jar"), "one");
    start();
    String jar = "{applications: [{name: a, import_path: x.A, runtime_env: {jars: [a.jar]}}]}";
    assertThat(deploy(new DeployRequest(null, jar, ONE, false, null, true))).isEqualTo("NEW a 1");
    assertThat(folder.resolve("state")).doesNotExist();
  }

  @Test
  void theSameCodeAndSettingsElsewhereAreUnchanged() throws IOException {
    Files.writeString(folder.resolve("a.jar"), "one");
    Path copy = Files.copy(folder.resolve("a.jar"), folder.resolve("b.jar"));
    start();
    String text = "{applications: [{import_path: x.A, name: a, runtime_env: {jars: [%s]}}]}";
    deploy(says(text.formatted("a.jar"), ONE));

    DeployRequest same = new DeployRequest(null, text.formatted(copy), TWO, false, null, true);
    assertThat(deploy(same)).isEqualTo("UNCHANGED a 1");
    Files.writeString(copy, "two");
    assertThat(deploy(same)).isEqualTo("CHANGED a 2");
  }

  @Test
  void whatWasDecidedOnWhatIsNotSoAnyMoreIsRefused() {
    start();
    deploy(file(ONE, "a"));
    long looked = ok(commands().deploy(with(file(TWO, "b"), false, null, true))).revision();
    deploy(file(null, "c")); // meanwhile

    assertThat(
            refused(
                CommandRejectionReason.PRECONDITION,
                commands().deploy(with(file(TWO, "b"), true, looked, false))))
        .hasMessage("revision: 1 (expected: 2, since another command declared a change meanwhile)");
    assertThat(deploy(with(file(TWO, "b"), true, 2L, false)))
        .isEqualTo("NEW b 3, PRUNED a 1, PRUNED c 2");
  }

  @Test
  void pathsOfJarsAreKeptSoThatTheyHoldElsewhere() throws IOException {
    Files.writeString(folder.resolve("a.jar"), "one");
    start();
    deploy("a", "{import_path: x.A, runtime_env: {jars: [a.jar]}}");
    RevisionDetails now = ok(commands().history("a")).get(0);
    assertThat(new JsonObject(now.config()).getJsonObject("runtime_env").getJsonArray("jars"))
        .containsExactly(folder.resolve("a.jar").toString());
  }

  // --- what can be gone back to ---

  private void deployA(String jar) throws IOException {
    Files.writeString(folder.resolve("a.jar"), jar);
    deploy("a", "{import_path: x.A, runtime_env: {jars: [a.jar]}}");
  }

  private void builds(int last) throws IOException {
    for (int i = 1; i <= last; i++) {
      deployA("build " + i);
      ran("a");
    }
  }

  private List<String> history() {
    return ok(commands().history("a")).stream()
        .map(each -> each.revision() + " " + each.state())
        .toList();
  }

  @Test
  void theHistorySaysWhatRanAndOutlastsARestart() throws IOException {
    start();
    builds(3);
    deployA("bad");
    assertThat(history()).containsExactly("4 WANTED", "3 RAN", "2 RAN", "1 RAN");
    failed("a");
    start();

    assertThat(history()).containsExactly("4 FAILED", "3 SERVES", "2 RAN", "1 RAN");
    RevisionDetails failed = ok(commands().history("a")).get(0);
    assertThat(failed.message()).isEqualTo("no model");
    assertThat(failed.jars()).singleElement().asString().matches("a\\.jar [0-9a-f]{64}");
    assertThatThrownBy(() -> commands().history("b"))
        .isInstanceOf(CommandRejectedException.class)
        .hasMessageStartingWith("application: b");

    assertThat(ok(commands().rollback("a", 1L, true))).isEqualTo(1);
    assertThat(ok(commands().rollback("a", null, true))).isEqualTo(3);
    assertThat(history()).as("said, not done").startsWith("4 FAILED");
    assertThat(ok(commands().rollback("a", 1L, false))).isEqualTo(5);
    assertThat(history()).containsExactly("5 WANTED", "3 RAN", "2 RAN", "1 RAN");
  }

  @Test
  void whatCannotBeGoneBackToIsSaid() throws IOException {
    start();
    builds(3);
    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().rollback("a", 9L, false)))
        .hasMessage("revision: 9 of application a (expected: an earlier revision, one of [2, 1])");
    assertThat(ok(commands().rollback("a", 1L, false))).isEqualTo(4);
    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().rollback("a", 1L, true)))
        .hasMessage(
            "revision: 1 of application a (expected: a revision that differs from the current"
                + " 4)");
    Path copy =
        Stream.of(folder.resolve("state/jars").toFile().listFiles())
            .map(File::toPath)
            .filter(each -> contains(each, "build 2"))
            .findFirst()
            .orElseThrow();
    Files.delete(copy);
    for (Future<Long> each :
        List.of(commands().rollback("a", 2L, false), commands().rollback("a", 2L, true))) {
      assertThat(refused(CommandRejectionReason.PRECONDITION, each))
          .hasMessage(
              "revision: 2 of application a: its a.jar is missing in %s (expected: stored)"
                  .formatted(folder.resolve("state")));
    }
    assertThat(history()).as("nothing came of it").startsWith("4 WANTED");
  }

  @Test
  void whereTheDiskIsFullTheHistoryGivesWayBeforeADeployIsRefused() throws IOException {
    start();
    builds(4);
    boolean[] full = {true};
    start(log -> fullUnlessForgotten(log, full));

    deployA("build 5");
    assertThat(history()).containsExactly("5 WANTED", "4 RAN", "3 RAN");
    full[0] = false;
    start();
    assertThat(history()).as("that is kept").containsExactly("5 WANTED", "4 RAN", "3 RAN");
    assertThat(folder.resolve("state/jars").toFile().list((in, name) -> name.endsWith(".jar")))
        .hasSize(3);
  }

  @Test
  void whatCannotBeKeptForAnotherReasonTakesNoHistory() throws IOException {
    start();
    builds(4);
    boolean[] full = {false};
    start(log -> fullUnlessForgotten(log, full));

    assertThat(refused(CommandRejectionReason.UNAVAILABLE, submit(commands(), "b", entry("b"))))
        .hasMessageStartingWith("cannot be stored");
    assertThat(history()).hasSize(4);
  }

  /** A log that refuses changes for as long as something is in the history. */
  private static StateLog fullUnlessForgotten(StateLog log, boolean[] full) {
    return new InterceptedLog(
        log,
        () -> full[0],
        change -> {
          if (log.state().history.oldest() != null) {
            throw new IOException("No space left on device");
          }
        });
  }

  private static boolean contains(Path file, String text) {
    try {
      return Files.readString(file).equals(text);
    } catch (IOException failed) {
      throw new AssertionError(failed);
    }
  }
}
