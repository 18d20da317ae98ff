package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.code.CompiledJar;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.BuildFailed;
import dev.berth.controller.DeclaredApplication;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.port.CommandRefused;
import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What starts make of a file and of what is kept, with their jars and their disk. */
class ServeControlStartTest {
  private static final String A = "{name: a, route_prefix: /a, import_path: 'x.A:build'";
  private static final String WITH_JAR = ", runtime_env: {jars: [a.jar]}}";
  private static final String B = "{name: b, route_prefix: /b, import_path: 'x.B:build'}";

  @TempDir Path folder;

  private final StateStoreTestFiles disk = new StateStoreTestFiles();
  private @Nullable ServeControl running;

  private final FakeControls controls = new FakeControls();

  // --- steps ---

  private Path file(String text) throws IOException {
    return Files.writeString(folder.resolve("shop.yaml"), text);
  }

  /** Starts with what the file says by now. */
  private ServeControl start(String... settings) throws IOException {
    stop();
    Files.createDirectories(folder.resolve("state"));
    List<Setting> all = new ArrayList<>();
    all.add(Setting.text("test", "berth.state_dir", folder.resolve("state").toString()));
    Arrays.stream(settings).forEach(each -> all.add(Setting.parse("--set", each)));
    ServeConfig config = ConfigReader.readToStart(folder.resolve("shop.yaml"), all);
    ServeControl control =
        new ServeControl(
            config,
            folder,
            new JournalLog(config.settings(), directory -> disk),
            Runnable::run,
            Runnable::run,
            () -> 1_000,
            controls);
    running = control;
    control.open();
    return control;
  }

  @AfterEach
  void stop() {
    ServeControl last = running;
    running = null;
    if (last != null) {
      assertThat(last.close().succeeded()).isTrue();
    }
  }

  private static void ok(Future<Void> command) {
    assertThat(command.succeeded()).as(String.valueOf(command.cause())).isTrue();
  }

  private static @Nullable DeclaredApplication find(ServeControl control, String name) {
    return control.applications().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElse(null);
  }

  private static long revision(ServeControl control, String name) {
    return Objects.requireNonNull(find(control, name)).revision();
  }

  private static Path jar(ServeControl control, String name) {
    return Objects.requireNonNull(control.find(name, revision(control, name)))
        .config()
        .jars()
        .get(0);
  }

  private static String className(ServeControl control, String name) {
    return Objects.requireNonNull(control.find(name, revision(control, name)))
        .config()
        .get(ApplicationConfig.IMPORT_PATH)
        .className();
  }

  private String uri() throws IOException {
    return Objects.requireNonNull(ConfigReader.read(folder.resolve("shop.yaml")).origin().uri());
  }

  // --- an unchanged file ---

  @Test
  void aJarThatWasRebuiltAndDeployedIsNotDeclaredAgainByTheFileThatNamesItsPath()
      throws IOException {
    CompiledJar.holding(folder.resolve("a.jar"), "one");
    file("applications: [" + A + WITH_JAR + "]");
    ServeControl first = start();
    CompiledJar.holding(folder.resolve("a.jar"), "two");
    ok(first.commands().deploy(null, Files.readString(folder.resolve("shop.yaml")), uri()));
    assertThat(revision(first, "a")).isEqualTo(2);
    ok(first.commands().deploy("b", B));

    ServeControl second = start();

    assertThat(revision(second, "a")).isEqualTo(2);
    assertThat(find(second, "b")).isNotNull();
    assertThat(second.fromFile()).isFalse();
  }

  @Test
  void aBadBuildThatWasRolledBackStaysRolledBack() throws IOException {
    Path jar = CompiledJar.holding(folder.resolve("a.jar"), "good");
    byte[] good = Files.readAllBytes(jar);
    file("applications: [" + A + WITH_JAR + "]");
    ServeControl first = start();
    first.announced(new Announce("a", 1, ApplicationStatus.RUNNING, "", true, Set.of()));
    CompiledJar.holding(jar, "bad");
    ok(first.commands().deploy("a", A + WITH_JAR));
    assertThat(first.commands().rollback("a").result()).isEqualTo(3);

    ServeControl second = start();

    assertThat(revision(second, "a")).isEqualTo(3);
    assertThat(jar(second, "a")).hasBinaryContent(good);
  }

  @Test
  void aJarThatWasRebuiltInPlaceIsDeclared() throws IOException {
    Path jar = CompiledJar.holding(folder.resolve("a.jar"), "one");
    file("applications: [" + A + WITH_JAR + ", " + B + "]");
    ok(start().commands().deploy("c", "{import_path: 'x.C:build', route_prefix: /c}"));
    CompiledJar.holding(jar, "two");

    ServeControl second = start();

    assertThat(revision(second, "a")).isEqualTo(4);
    assertThat(jar(second, "a")).hasSameBinaryContentAs(jar);
    assertThat(revision(second, "b")).isEqualTo(2);
    assertThat(find(second, "c")).isNotNull();
  }

  /** The same words through YAML, JSON and the journal, with another path of the same jar. */
  @Test
  void whatWasDeployedAsJsonIsWhatTheFileSays() throws IOException {
    CompiledJar.holding(folder.resolve("a.jar"), "one");
    String entry =
        "{import_path: 'x.A:build', args: {a: 1.0, b: 1e3, c: 0x10, d: \"ä\\u2028\", e: [null, ~],"
            + " g: yes, h: 'x\\y'}"
            + WITH_JAR;
    file("applications: [" + entry + "]");
    start();
    var submission = ConfigReader.submission(folder.resolve("shop.yaml"), List.of());
    String json = io.vertx.core.json.Json.encode(submission.applications().get("default"));
    assertThat(json).contains(folder.resolve("a.jar").toString());

    ok(start().commands().deploy("default", json, null));

    assertThat(revision(start(), "default")).isEqualTo(1);
  }

  @Test
  void aFileThatSettingsChangeIsNotDeclaredAgainAfterItWasDeployedWithoutThem() throws IOException {
    file("applications: [" + A + "}]");
    String set = "applications.a.import_path=x.Set:build";
    ServeControl first = start(set);
    ok(first.commands().deploy(null, Files.readString(folder.resolve("shop.yaml")), uri()));
    assertThat(className(first, "a")).isEqualTo("x.A");

    assertThat(className(start(set), "a")).isEqualTo("x.A");
  }

  @Test
  void aFileOfAnEarlierDeployIsTheStartsOwnFromThenOn() throws IOException {
    Files.writeString(folder.resolve("shop.yaml"), "{}");
    ServeControl first = start();
    Files.writeString(folder.resolve("shop.yaml"), "applications: [" + A + "}, " + B + "]");
    ok(first.commands().deploy(null, Files.readString(folder.resolve("shop.yaml")), uri()));
    file("applications: [" + A + ", args: {x: 1}}]");

    ServeControl second = start();

    assertThat(revision(second, "a")).isEqualTo(3);
    assertThat(find(second, "b")).as("named no longer").isNull();
  }

  @Test
  void whoSaysNoFileIsToldWhatOneIs() throws IOException {
    file("applications: []");
    Future<Void> refused = start().commands().deploy(null, "applications: []", "C:\\shop.yaml");

    assertThat(refused.cause())
        .isInstanceOf(CommandRefused.class)
        .hasMessageContaining("Berth-File: C:\\shop.yaml (expected: file://HOST/PATH");
  }

  // --- what cannot be declared ---

  @Test
  void aJarThatIsMissingOrHalfWrittenLeavesTheKeptOne() throws IOException {
    Path jar = CompiledJar.holding(folder.resolve("a.jar"), "one");
    byte[] one = Files.readAllBytes(jar);
    file("applications: [" + A + WITH_JAR + "]");
    ok(start().commands().deploy("b", B));

    Files.delete(jar);
    assertThat(jar(start(), "a")).hasBinaryContent(one);
    CompiledJar.holding(jar, "two");
    byte[] two = Files.readAllBytes(jar);
    Files.write(jar, Arrays.copyOf(two, two.length - 30));
    assertThat(jar(start(), "a")).as("its end is missing").hasBinaryContent(one);
    byte[] damaged = two.clone();
    damaged[44] ^= 0x55; // what is in it
    Files.write(jar, damaged);
    assertThat(jar(start(), "a")).as("not all was written").hasBinaryContent(one);
    Files.write(jar, two);

    ServeControl last = start();

    assertThat(jar(last, "a")).hasBinaryContent(two);
    assertThat(revision(last, "a")).isEqualTo(3);
  }

  @Test
  void anEntryThatIsRefusedLeavesTheKeptOneAndFailsAloneWhereNoneIsKept() throws IOException {
    file("applications: [" + A + "}]");
    ok(start().commands().deploy("b", B));
    file(
        "applications: ["
            + A
            + ", colour: red}, {name: c, route_prefix: /c}, {name: d, route_prefix: /d,"
            + " import_path: 'x.D:build'}]");

    ServeControl second = start();
    second.begin();

    assertThat(className(second, "a")).isEqualTo("x.A");
    assertThat(className(second, "d")).isEqualTo("x.D");
    assertThat(find(second, "b")).isNotNull();
    assertThat(revision(second, "c")).as("never accepted").isZero();
    controls.told.clear();
    assertThat(second.find("c", 0)).isNull();
    assertThat(controls.told).singleElement().isInstanceOf(BuildFailed.class);
    assertThat(((BuildFailed) controls.told.get(0)).reason()).contains("import_path: missing");

    ok(second.commands().deploy("c", "{import_path: 'x.C:build', route_prefix: /c}"));
    assertThat(className(second, "c")).isEqualTo("x.C");
    assertThat(revision(second, "c")).isPositive();
  }

  @Test
  void whatFailedAloneGoesWhenItIsDeletedOrReplaced() throws IOException {
    file("applications: [" + A + "}]");
    ok(start().commands().deploy("b", B));
    file("applications: [" + A + "}, {name: c}]");

    ServeControl second = start();
    ok(second.commands().delete("c"));
    assertThat(find(second, "c")).isNull();
    assertThat(controls.told).last().isEqualTo(new ControllerEvent.Withdrawn("c"));
    assertThat(second.commands().delete("c").failed()).isTrue();
    ServeControl third = start();
    assertThat(find(third, "c")).as("it is not durable").isNotNull();
    ok(third.commands().deploy("{applications: [" + B + "]}"));
    assertThat(find(third, "c")).isNull();
    ServeControl fourth = start();
    ok(fourth.commands().deleteAll());
    assertThat(fourth.applications()).isEmpty();
  }

  @Test
  void anEntryWithoutANameThatCanBeReadDeletesNothing() throws IOException {
    file("applications: [" + A + "}, " + B + "]");
    ok(start().commands().deploy("c", "{import_path: 'x.C:build', route_prefix: /c}"));
    file("applications: [" + A + "}, {name: [b], import_path: 'x.B:build'}]");

    assertThat(start().applications())
        .extracting(DeclaredApplication::name)
        .containsExactly("a", "b", "c");
  }

  @Test
  void whereNoApplicationIsKeptAStartFailsAsItDoesWithoutAState() throws IOException {
    file("applications: [" + A + "}]");
    ServeControl first = start();
    ok(first.commands().deploy("b", B));
    ok(first.commands().deleteAll());
    file("applications: [" + A + ", colour: red}]");

    assertThatThrownBy(this::start)
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("colour: unknown key");
  }

  @Test
  void whereItCannotBeKeptWhatIsKeptServes() throws IOException {
    file("applications: [" + A + "}]");
    ok(start().commands().deploy("b", B));
    file("applications: [" + A + ", args: {x: 1}}]");
    stop();
    disk.failAfter(1, true); // once the file that grows is open

    ServeControl second = start();
    assertThat(revision(second, "a")).isEqualTo(1);
    disk.heal();

    assertThat(revision(start(), "a")).isEqualTo(3);
  }

  @Test
  void aStateOfAnEarlierVersionRunsOnWhereNothingCanBeWritten() throws IOException {
    file("applications: [" + A + "}, " + B + "]"); // b was deleted since
    JsonObject entry =
        new JsonObject(
            ConfigReader.read(folder.resolve("shop.yaml")).applications().get(0).entry());
    String sorted = "{\"import_path\":\"x.A:build\",\"name\":\"a\",\"route_prefix\":\"/a\"}";
    String digest = DeclaredEntry.digest("[\"a\"," + sorted + "]");
    String ofB =
        DeclaredEntry.digest("[\"b\"," + sorted.replace("A", "B").replace("a\"", "b\"") + "]");
    JsonObject kept =
        new JsonObject()
            .put("name", "a")
            .put("revision", 7)
            .put("deployed_ms", 1)
            .put("healthy", true)
            .put("config", entry.encode())
            .put("digest", digest)
            .put("external_scaler", false)
            .put("jars", new JsonArray());
    JsonObject before =
        new JsonObject()
            .put("revision", 7)
            .put("term", 1)
            .put("file", DeclaredEntry.digest("null " + digest + " " + ofB))
            .put("removed", new JsonArray())
            .put("applications", new JsonArray().add(kept));
    ByteBuffer record = StateStoreRecords.record(DesiredChange.of(1, before));
    byte[] head = StateStoreRecords.fileHead();
    ByteBuffer whole = ByteBuffer.allocate(head.length + record.remaining()).put(head).put(record);
    disk.put("state-00000001", whole.array());
    disk.failAfter(1, true);

    assertThat(revision(start(), "a")).isEqualTo(7);
    stop();
    disk.heal();
    ServeControl second = start();
    assertThat(revision(second, "a")).isEqualTo(7);
    assertThat(find(second, "b")).isNull();
    file("applications: [" + A + ", args: {x: 1}}, " + B + "]");

    ServeControl third = start();
    assertThat(revision(third, "a")).isEqualTo(8);
    assertThat(find(third, "b")).isNull();
  }

  // --- berth.declare ---

  @Test
  void neverLeavesWhatIsKeptAndTheFileToALaterStart() throws IOException {
    file("applications: [" + A + "}, " + B + "]");
    ok(start().commands().deploy("c", "{import_path: 'x.C:build', route_prefix: /c}"));
    file("applications: [" + A + ", args: {x: 1}}, {name: d}]");

    ServeControl never = start("berth.declare=never");
    assertThat(revision(never, "a")).isEqualTo(1);
    assertThat(never.applications()).hasSize(3);
    file("applications: [" + A + ", args: {x: 1}}]");

    ServeControl changed = start();
    assertThat(revision(changed, "a")).isEqualTo(4);
    assertThat(find(changed, "b")).isNull();
  }

  @Test
  void neverDeclaresNothingWhereNothingIsKept() throws IOException {
    file("applications: [" + A + "}, {name: d}]");

    assertThat(start("berth.declare=never").applications()).isEmpty();
  }

  @Test
  void allDeclaresWhatWasDisplacedAndWhatWasDeleted() throws IOException {
    file("applications: [" + A + "}, " + B + "]");
    ServeControl first = start();
    ok(first.commands().deploy("a", A + ", args: {x: 1}}"));
    ok(first.commands().delete("b"));
    assertThat(start().applications()).hasSize(1);

    ServeControl all = start("berth.declare=all");

    assertThat(Objects.requireNonNull(find(all, "a")).config()).doesNotContain("args");
    assertThat(find(all, "b")).isNotNull();
  }
}
