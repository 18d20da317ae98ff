package dev.berth.desired;

import static dev.berth.fakes.Submits.submit;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import dev.berth.controller.ControllerEvent;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What starts make of a file and of what is kept, with their jars and their disk. */
class ServeControlStartTest extends ServeControlRig {
  private static final String A = "{name: a, route_prefix: /a, import_path: 'x.A:build'}";
  private static final String A_CHANGED = A.replace("}", ", args: {x: 1}}");
  private static final String A_REFUSED = A.replace("}", ", colour: red}");
  private static final String WITH_JAR = ", runtime_env: {jars: [a.jar]}}";
  private static final String A_WITH_JAR = A.replace("}", WITH_JAR);
  private static final String C = "{import_path: 'x.C:build', route_prefix: /c}";
  private static final String B = "{name: b, route_prefix: /b, import_path: 'x.B:build'}";

  private void says(String... entries) throws IOException {
    Files.writeString(
        folder.resolve("shop.yaml"), "applications: [" + String.join(", ", entries) + "]");
  }

  /** Starts with what the file says by now, in place of the one that runs. */
  private void start(String... settings) throws IOException {
    stopAll();
    Files.createDirectories(folder.resolve("state"));
    List<Setting> all = new ArrayList<>();
    all.add(Setting.text("test", "berth.state_dir", folder.resolve("state").toString()));
    Arrays.stream(settings).forEach(each -> all.add(Setting.parse("--set", each)));
    ServeConfig config = ConfigReader.readToStart(folder.resolve("shop.yaml"), all);
    start(config, new JournalLog(config.settings(), directory -> disk));
  }

  private void startWith(String... entries) throws IOException {
    says(entries);
    start();
  }

  private void deployTheFile() throws IOException {
    Path file = folder.resolve("shop.yaml");
    String uri = ConfigReader.read(file, List.of()).origin().uri();
    ok(submit(commands(), null, Files.readString(file), uri));
  }

  // --- an unchanged file ---

  @Test
  void aJarThatWasRebuiltAndDeployedIsNotDeclaredAgainByTheFileThatNamesItsPath()
      throws IOException {
    jarOf("one");
    startWith(A_WITH_JAR);
    jarOf("two");
    deployTheFile();
    assertThat(revision("a")).isEqualTo(2);
    deploy("b", B);

    start();

    assertThat(revision("a")).isEqualTo(2);
    assertThat(names()).contains("b");
    assertThat(control.fromFile()).isFalse();
  }

  @Test
  void aBadBuildThatWasRolledBackStaysRolledBack() throws IOException {
    Path jar = jarOf("good");
    byte[] good = Files.readAllBytes(jar);
    startWith(A_WITH_JAR);
    ran("a");
    jarOf("bad");
    deploy("a", A_WITH_JAR);
    assertThat(ok(commands().rollback("a", null, false))).isEqualTo(3);

    start();

    assertThat(revision("a")).isEqualTo(3);
    assertThat(jar("a")).hasBinaryContent(good);
  }

  @Test
  void aJarThatWasRebuiltInPlaceIsDeclared() throws IOException {
    Path jar = jarOf("one");
    startWith(A_WITH_JAR, B);
    deploy("c", C);
    jarOf("two");

    start();

    assertThat(revision("a")).isEqualTo(4);
    assertThat(jar("a")).hasSameBinaryContentAs(jar);
    assertThat(revision("b")).isEqualTo(2);
    assertThat(names()).contains("c");
  }

  /** The same words through YAML, JSON and the journal, with another path of the same jar. */
  @Test
  void whatWasDeployedAsJsonIsWhatTheFileSays() throws IOException {
    jarOf("one");
    String entry =
        "{import_path: 'x.A:build', args: {a: 1.0, b: 1e3, c: 0x10, d: \"ä\\u2028\", e: [null, ~],"
            + " g: yes, h: 'x\\y'}"
            + WITH_JAR;
    startWith(entry);
    var submission = ConfigReader.submission(folder.resolve("shop.yaml"), List.of());
    String json = io.vertx.core.json.Json.encode(submission.applications().get("default"));
    assertThat(json).contains(folder.resolve("a.jar").toString());

    start();
    deploy("default", json);

    start();
    assertThat(revision("default")).isEqualTo(1);
  }

  @Test
  void aFileThatSettingsChangeIsNotDeclaredAgainAfterItWasDeployedWithoutThem() throws IOException {
    says(A);
    String set = "applications.a.import_path=x.Set:build";
    start(set);
    deployTheFile();
    assertThat(className("a")).isEqualTo("x.A");

    start(set);
    assertThat(className("a")).isEqualTo("x.A");
  }

  @Test
  void aFileOfAnEarlierDeployIsTheStartsOwnFromThenOn() throws IOException {
    Files.writeString(folder.resolve("shop.yaml"), "{}");
    start();
    says(A, B);
    deployTheFile();
    startWith(A_CHANGED);

    assertThat(revision("a")).isEqualTo(3);
    assertThat(names()).as("named no longer").doesNotContain("b");
  }

  @Test
  void whoSaysNoFileIsToldWhatOneIs() throws IOException {
    startWith();

    assertThat(
            refused(
                CommandRejectionReason.INVALID,
                submit(commands(), null, "applications: []", "C:\\shop.yaml")))
        .hasMessageContaining("Berth-File: C:\\shop.yaml (expected: file://HOST/PATH");
  }

  // --- what cannot be declared ---

  @Test
  void aJarThatIsMissingOrHalfWrittenLeavesTheKeptOne() throws IOException {
    Path jar = jarOf("one");
    byte[] one = Files.readAllBytes(jar);
    startWith(A_WITH_JAR);
    deploy("b", B);

    Files.delete(jar);
    start();
    assertThat(jar("a")).hasBinaryContent(one);
    jarOf("two");
    byte[] two = Files.readAllBytes(jar);
    Files.write(jar, Arrays.copyOf(two, two.length - 30));
    start();
    assertThat(jar("a")).as("its end is missing").hasBinaryContent(one);
    byte[] damaged = two.clone();
    damaged[44] ^= 0x55; // what is in it
    Files.write(jar, damaged);
    start();
    assertThat(jar("a")).as("not all was written").hasBinaryContent(one);
    Files.write(jar, two);

    start();

    assertThat(jar("a")).hasBinaryContent(two);
    assertThat(revision("a")).isEqualTo(3);
  }

  @Test
  void anEntryThatIsRefusedLeavesTheKeptOneAndFailsAloneWhereNoneIsKept() throws IOException {
    startWith(A);
    deploy("b", B);
    startWith(
        A_REFUSED,
        "{name: c, route_prefix: /c}",
        "{name: d, route_prefix: /d, import_path: 'x.D:build'}");

    assertThat(className("a")).isEqualTo("x.A");
    assertThat(className("d")).isEqualTo("x.D");
    assertThat(names()).contains("b");
    assertThat(revision("c")).as("never accepted").isZero();
    controls.told.clear();
    assertThat(control.find("c", 0)).isNull();
    buildFailed("import_path: missing");

    deploy("c", C);
    assertThat(className("c")).isEqualTo("x.C");
    assertThat(revision("c")).isPositive();
  }

  @Test
  void whatFailedAloneGoesWhenItIsDeletedOrReplaced() throws IOException {
    startWith(A);
    deploy("b", B);
    startWith(A, "{name: c}");
    ok(commands().delete("c"));
    assertThat(names()).doesNotContain("c");
    assertThat(controls.told).last().isEqualTo(new ControllerEvent.Withdrawn("c"));
    refused(CommandRejectionReason.NOT_FOUND, commands().delete("c"));
    start();
    assertThat(names()).as("it is not durable").contains("c");
    ok(submit(commands(), "{applications: [" + B + "]}"));
    assertThat(names()).doesNotContain("c");
    start();
    ok(commands().deleteAll());
    assertThat(control.applications()).isEmpty();
  }

  @Test
  void whereNoApplicationIsKeptAStartFailsAsItDoesWithoutAState() throws IOException {
    startWith(A);
    deploy("b", B);
    ok(commands().deleteAll());
    says(A_REFUSED);

    assertThatThrownBy(this::start)
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("colour: unknown key");
  }

  @Test
  void whereItCannotBeKeptWhatIsKeptServes() throws IOException {
    startWith(A);
    deploy("b", B);
    says(A_CHANGED);
    stop();
    disk.failAfter(1, true); // once the file that grows is open

    start();
    assertThat(revision("a")).isEqualTo(1);
    disk.heal();

    start();
    assertThat(revision("a")).isEqualTo(3);
  }

  // --- berth.declare ---

  @Test
  void neverLeavesWhatIsKeptAndTheFileToALaterStart() throws IOException {
    startWith(A, B);
    deploy("c", C);
    says(A_CHANGED, "{name: d}");

    start("berth.declare=never");
    assertThat(revision("a")).isEqualTo(1);
    assertThat(control.applications()).hasSize(3);
    startWith(A_CHANGED);
    assertThat(revision("a")).isEqualTo(4);
    assertThat(names()).doesNotContain("b");
  }

  @Test
  void neverDeclaresNothingWhereNothingIsKept() throws IOException {
    says(A, "{name: d}");

    start("berth.declare=never");
    assertThat(control.applications()).isEmpty();
  }
}
