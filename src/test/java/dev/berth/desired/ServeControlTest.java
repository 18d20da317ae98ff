package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.code.CompiledJar;
import dev.berth.code.Jar;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigReader;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent.BuildFailed;
import dev.berth.controller.ControllerEvent.Declared;
import dev.berth.controller.ControllerEvent.Scaled;
import dev.berth.controller.ControllerEvent.Withdrawn;
import dev.berth.controller.DeclaredApplication;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServeControlTest {

  private static final String A = "{name: a, route_prefix: /a, import_path: x.A}";
  private static final String B =
      "{name: b, route_prefix: /b, import_path: x.B, external_scaler_enabled: true}";

  @TempDir Path folder;

  private final Deque<Runnable> offLoop = new ArrayDeque<>();
  private final List<ServeControl> opened = new ArrayList<>();
  private long nowMs = 1_000;

  private final FakeControls controls = new FakeControls();

  @AfterEach
  void giveBack() {
    opened.forEach(this::stop);
  }

  private ServeControl stopped(ServeControl control) {
    stop(control);
    opened.remove(control);
    return control;
  }

  private void stop(ServeControl control) {
    Future<Void> closed = control.close();
    runAll();
    assertThat(closed.succeeded()).isTrue();
  }

  private void runAll() {
    while (!offLoop.isEmpty()) {
      offLoop.poll().run();
    }
  }

  private ServeConfig file(String... applications) {
    return ConfigReader.read(
        "file", folder, "applications: [" + String.join(", ", applications) + "]");
  }

  private Settings kept() {
    return ServeConfig.DEFAULTS.with(InstanceOptions.STATE_DIR, folder.resolve("state"));
  }

  private ServeControl start(String... applications) {
    return start(kept(), applications);
  }

  private ServeControl start(Settings options, String... applications) {
    return start(new JournalLog(options), applications);
  }

  private ServeControl start(StateLog log, String... applications) {
    ServeControl control =
        new ServeControl(
            file(applications), folder, log, offLoop::add, Runnable::run, () -> nowMs, controls);
    control.open();
    opened.add(control);
    control.begin();
    return control;
  }

  private <T> T ok(Future<T> command) {
    runAll();
    assertThat(command.failed()).as(String.valueOf(command.cause())).isFalse();
    assertThat(command.succeeded()).isTrue();
    return command.result();
  }

  private CommandRefused refused(Kind kind, Future<?> command) {
    runAll();
    assertThat(command.cause()).isInstanceOf(CommandRefused.class);
    CommandRefused refused = (CommandRefused) command.cause();
    assertThat(refused.kind()).as(refused.getMessage()).isEqualTo(kind);
    return refused;
  }

  private static String whole(String... applications) {
    return "{applications: [" + String.join(", ", applications) + "]}";
  }

  private static List<String> names(ServeControl control) {
    return control.applications().stream().map(DeclaredApplication::name).toList();
  }

  private static DeclaredApplication find(ServeControl control, String name) {
    return control.applications().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private List<String> toldSince() {
    List<String> short1 =
        controls.told.stream()
            .map(
                event ->
                    event instanceof Declared declared
                        ? "declared "
                            + declared.application().name()
                            + " "
                            + declared.application().revision()
                        : event instanceof Withdrawn gone
                            ? "withdrawn " + gone.application()
                            : event.toString())
            .toList();
    controls.told.clear();
    return short1;
  }

  private void ran(ServeControl control, String name) {
    control.announced(
        new Announce(
            name, find(control, name).revision(), ApplicationStatus.RUNNING, "", true, Set.of()));
    runAll();
  }

  // --- what a start declares ---

  @Test
  void theFileIsDeclaredAndAMereStartMakesNoDirectory() {
    ServeControl control = start(A, B);

    assertThat(toldSince()).containsExactly("declared a 1", "declared b 2");
    assertThat(control.fromFile()).isTrue();
    assertThat(control.term()).isEqualTo(1);
    ran(control, "a");
    assertThat(folder.resolve("state")).doesNotExist();
    ok(control.commands().details());
    assertThat(controls.stateDir).isEqualTo(folder.resolve("state").toString());
  }

  @Test
  void whatWasDeployedRunsAgainAfterARestart() {
    ServeControl first = start(A);
    ok(first.commands().deploy("b", B));
    ran(first, "b");
    stopped(first);
    toldSince();

    ServeControl second = start(A); // the file says nothing new

    assertThat(second.fromFile()).isFalse();
    assertThat(toldSince()).containsExactly("declared a 1", "declared b 2");
    assertThat(second.term()).isEqualTo(2);
    assertThat(find(second, "b").config()).contains("\"import_path\":\"x.B\"");
    assertThat(
            Objects.requireNonNull(second.find("b", 2))
                .config()
                .get(ApplicationConfig.IMPORT_PATH)
                .className())
        .isEqualTo("x.B");
  }

  @Test
  void aFileThatSaysSomethingNewIsDeclaredBesideWhatWasDeployed() {
    ServeControl first = start(A);
    ok(first.commands().deploy("b", B));
    stopped(first);
    toldSince();

    ServeControl second = start(A, "{name: c, route_prefix: /c, import_path: x.C}");
    assertThat(second.fromFile()).as("something was kept").isFalse();
    assertThat(toldSince()).containsExactly("declared a 1", "declared b 2", "declared c 3");
    stopped(second);

    assertThat(names(start())).as("the file names none any more").containsExactly("b");
  }

  @Test
  void anEmptyInstanceWaitsForDeploysAndKeepsThem() {
    ServeControl first = start();
    assertThat(names(first)).isEmpty();
    ok(first.commands().deploy(whole(A)));
    stopped(first);

    assertThat(names(start())).containsExactly("a");
  }

  @Test
  void anEphemeralInstanceForgets() {
    Settings ephemeral =
        ServeConfig.DEFAULTS
            .with(InstanceOptions.STATE_DIR, folder.resolve("state"))
            .with(InstanceOptions.EPHEMERAL, true);
    ServeControl first = start(ephemeral, A);
    ok(first.commands().deploy(whole(B)));
    ok(first.commands().details());
    assertThat(controls.stateDir).isNull();
    stopped(first);

    assertThat(names(start(ephemeral, A))).containsExactly("a");
    assertThat(folder.resolve("state")).doesNotExist();
  }

  @Test
  void aSecondInstanceRunsWithoutTheDirectoryAndRefusesChanges() {
    ServeControl first = start(A);
    ok(first.commands().deploy("b", B));

    ServeControl second = start(A);

    assertThat(names(second)).containsExactly("a");
    assertThat(refused(Kind.UNAVAILABLE, second.commands().deploy("b", B)))
        .hasMessageContaining("is held by another instance");
    assertThat(names(second)).containsExactly("a");
    stopped(first);
    assertThat(refused(Kind.UNAVAILABLE, second.commands().deploy("b", B)))
        .hasMessageContaining("made by another instance meanwhile");
  }

  @Test
  void anEntryThatIsNoLongerAllowedFailsAloneAndSaysWhy() throws IOException {
    Files.writeString(folder.resolve("a.jar"), "one");
    ServeControl first = start();
    ok(
        first
            .commands()
            .deploy("a", "{import_path: x.A, runtime_env: {jars: [a.jar]}, route_prefix: /a}"));
    ok(first.commands().deploy("b", B));
    stopped(first);
    try (Stream<Path> jars = Files.list(folder.resolve("state/jars"))) {
      Files.delete(jars.findFirst().orElseThrow());
    }
    toldSince();

    ServeControl second = start();
    assertThat(toldSince()).containsExactly("declared a 1", "declared b 2");
    assertThat(second.find("a", 1)).isNull();
    assertThat(controls.told).singleElement().isInstanceOf(BuildFailed.class);
    assertThat(((BuildFailed) controls.told.get(0)).reason()).contains("which does not exist");
    assertThat(second.find("b", 2)).isNotNull();
  }

  // --- deploy ---

  @Test
  void aDeployTellsWhatIsDifferentAndNothingElse() {
    ServeControl control = start(A, B);
    ran(control, "a");
    ran(control, "b");
    toldSince();

    ok(control.commands().deploy(whole(A, "{name: c, import_path: x.C}")));
    assertThat(toldSince()).containsExactly("withdrawn b", "declared c 3");
    ran(control, "c");

    ok(control.commands().deploy(whole(A, "{import_path: x.C, name: c}")));
    assertThat(toldSince()).as("the order of keys says nothing").isEmpty();
  }

  @Test
  void whatHasNotRunYetIsTriedAnew() {
    ServeControl control = start();
    ok(control.commands().deploy(whole(A)));
    toldSince();

    ok(control.commands().deploy(whole(A)));

    assertThat(toldSince()).containsExactly("declared a 1");
  }

  @Test
  void anotherCapacityIsToldToEveryApplication() {
    ServeControl control = start(A, B);
    ran(control, "a");
    toldSince();

    ok(control.commands().deploy("{target_capacity: 50, applications: [" + A + ", " + B + "]}"));

    assertThat(toldSince()).containsExactly("declared a 1", "declared b 2");
    assertThat(
            Objects.requireNonNull(control.find("a", 1)).file().find(ServeConfig.TARGET_CAPACITY))
        .isEqualTo(50);
  }

  @Test
  void aBadConfigurationIsRefusedWithEveryProblemAndChangesNothing() {
    ServeControl control = start(A);
    toldSince();

    CommandRefused refused =
        refused(
            Kind.INVALID,
            control
                .commands()
                .deploy(whole("{name: c, colour: red, import_path: x.C}", "{name: d}")));

    assertThat(refused.problems())
        .hasSize(3)
        .anySatisfy(line -> assertThat(line).contains("applications[0].colour: unknown key"))
        .anySatisfy(line -> assertThat(line).contains("applications[1].import_path: missing"));
    assertThat(toldSince()).isEmpty();
    assertThat(names(control)).containsExactly("a");
    assertThat(folder.resolve("state")).doesNotExist();
    refused(Kind.INVALID, control.commands().deploy("{"));
    refused(Kind.INVALID, control.commands().deploy("a", "{name: b, import_path: x.B}"));
  }

  @Test
  void aRouteThatIsTakenIsRefused() {
    ServeControl control = start(A, B);

    assertThat(
            refused(
                Kind.INVALID,
                control.commands().deploy("c", "{import_path: x.C, route_prefix: /a}")))
        .hasMessageContaining("route_prefix: \"/a\" (expected: unique; application a has it");
    ok(control.commands().deploy("a", "{import_path: x.Other, route_prefix: /a}"));
  }

  @Test
  void commandsAreCarriedOutOneAfterTheOtherAndTheLastWins() {
    ServeControl control = start();
    Future<Void> first = control.commands().deploy(whole(A));
    Future<Void> second = control.commands().deploy(whole(B));
    Future<Void> wrong = control.commands().deploy("{applications: {}}");

    runAll();

    assertThat(List.of(first.succeeded(), second.succeeded(), wrong.failed())).containsOnly(true);
    assertThat(toldSince()).containsExactly("declared a 1", "withdrawn a", "declared b 2");
    assertThat(names(control)).containsExactly("b");
  }

  @Test
  void commandsThatWaitAreBounded() {
    ServeControl control = start();
    List<Future<Void>> many = new ArrayList<>();
    for (int i = 0; i < CommandQueue.MOST_COMMANDS + 2; i++) {
      many.add(control.commands().deploy(whole(A)));
    }

    assertThat(refused(Kind.UNAVAILABLE, many.remove(many.size() - 1)))
        .hasMessageContaining("64 commands wait");
    assertThat(many).allSatisfy(command -> assertThat(command.succeeded()).isTrue());
    ok(control.commands().deploy(whole(A)));
  }

  @Test
  void whatWaitsWhenTheInstanceStopsIsRefused() {
    ServeControl control = start();
    Future<Void> running = control.commands().deploy(whole(A));
    Future<Void> waiting = control.commands().deploy(whole(B));

    stopped(control);

    assertThat(running.succeeded()).isTrue();
    refused(Kind.UNAVAILABLE, waiting);
    refused(Kind.UNAVAILABLE, control.commands().deploy(whole(B)));
    assertThat(names(start())).containsExactly("a");
  }

  @Test
  void aDeletedApplicationIsWithdrawnAndStaysSo() {
    ServeControl control = start(A, B);
    toldSince();

    ok(control.commands().delete("a"));
    refused(Kind.NOT_FOUND, control.commands().delete("a"));
    ok(control.commands().deleteAll());
    ok(control.commands().deleteAll());

    assertThat(toldSince()).containsExactly("withdrawn a", "withdrawn b");
    stopped(control);
    assertThat(names(start())).isEmpty();
  }

  // --- scale, rollback ---

  @Test
  void aScaleIsDurableAndGoesWithTheEntryItWasSetOn() {
    ServeControl control = start();
    ok(control.commands().deploy(whole(A, B)));
    toldSince();

    ok(control.commands().scale("b", "d", 0));
    ok(control.commands().scale("b", "d", 0));
    assertThat(controls.told).containsExactly(new Scaled(new DeploymentId("b", "d"), 0));
    stopped(control);

    ServeControl again = start();
    assertThat(find(again, "b").scales()).isEqualTo(Map.of("d", 0));
    ok(again.commands().deploy("b", B.replace("x.B", "x.B2")));
    assertThat(find(again, "b").scales()).isEmpty();
  }

  @Test
  void aScaleIsRefusedForWhatItCannotBe() {
    ServeControl control = start(A, B);

    refused(Kind.INVALID, control.commands().scale("b", "d", -1));
    refused(Kind.NOT_FOUND, control.commands().scale("b", "other", 1));
    assertThat(refused(Kind.PRECONDITION, control.commands().scale("a", "d", 1)))
        .hasMessageContaining("external_scaler_enabled: false");
    ok(control.commands().delete("b"));
    assertThat(refused(Kind.PRECONDITION, control.commands().scale("b", "d", 1)))
        .hasMessage("Deployment is deleted");
    controls.deployments = null;
    refused(Kind.NOT_FOUND, control.commands().scale("b", "d", 1));
  }

  @Test
  void aRollbackBringsBackWhatLastRanAfterARestartToo() {
    ServeControl first = start();
    ok(first.commands().deploy("b", B));
    refused(Kind.PRECONDITION, first.commands().rollback("b"));
    refused(Kind.NOT_FOUND, first.commands().rollback("c"));
    ran(first, "b");
    ok(first.commands().deploy("b", B.replace("x.B", "x.Bad")));
    stopped(first);
    toldSince();

    ServeControl second = start();
    assertThat(find(second, "b").rollbackRevision()).isEqualTo(1);
    toldSince();
    assertThat(ok(second.commands().rollback("b"))).isEqualTo(3);

    assertThat(toldSince()).containsExactly("declared b 3");
    assertThat(
            Objects.requireNonNull(second.find("b", 3))
                .config()
                .get(ApplicationConfig.IMPORT_PATH)
                .className())
        .isEqualTo("x.B");
    assertThat(second.find("b", 2)).as("not wanted any more").isNull();
  }

  // --- commands with an id ---

  private static final String OTHER = B.replace("x.B", "x.Other");

  /** Two versions have run, so that each rollback goes back to the other one. */
  private ServeControl withTwoVersions() {
    ServeControl control = start();
    ok(control.commands().deploy("b", B));
    ran(control, "b");
    ok(control.commands().deploy("b", OTHER));
    ran(control, "b");
    toldSince();
    return control;
  }

  @Test
  void aRollbackSentTwiceGoesBackOnceWhateverCameInBetween() {
    ServeControl first = withTwoVersions();
    assertThat(ok(first.commands().once("one").rollback("b"))).isEqualTo(3);
    ran(first, "b");
    toldSince();

    assertThat(ok(first.commands().once("one").rollback("b"))).isEqualTo(3);
    assertThat(toldSince()).isEmpty();
    stopped(first);
    ServeControl second = start();
    toldSince();
    assertThat(ok(second.commands().once("one").rollback("b"))).as("after a restart").isEqualTo(3);
    assertThat(toldSince()).isEmpty();
    ok(second.commands().delete("b"));
    assertThat(ok(second.commands().once("one").rollback("b"))).as("after a delete").isEqualTo(3);
    assertThat(names(second)).isEmpty();
  }

  @Test
  void twoRollbacksWithTheirOwnIdsGoBackAndForthAndSoDoTwoWithout() {
    ServeControl control = withTwoVersions();
    assertThat(ok(control.commands().once("one").rollback("b"))).isEqualTo(3);
    ran(control, "b");
    assertThat(ok(control.commands().once("two").rollback("b"))).isEqualTo(4);
    ran(control, "b");
    assertThat(ok(control.commands().rollback("b"))).isEqualTo(5);
    ran(control, "b");
    assertThat(ok(control.commands().rollback("b"))).isEqualTo(6);
  }

  @Test
  void twoOfTheSameIdAtTheSameTimeAreOne() {
    ServeControl control = withTwoVersions();
    Future<Long> one = control.commands().once("one").rollback("b");
    Future<Long> same = control.commands().once("one").rollback("b");
    assertThat(ok(one)).isEqualTo(3);
    assertThat(ok(same)).isEqualTo(3);
    assertThat(toldSince()).containsExactly("declared b 3");
  }

  @Test
  void whatChangedNothingWhenItWasFirstSentUndoesNothingWhenItIsSentAgain() {
    ServeControl control = start();
    ok(control.commands().deploy("b", B));
    ok(control.commands().once("one").deploy("b", B));
    ok(control.commands().deploy("b", OTHER));

    ok(control.commands().once("one").deploy("b", B));

    assertThat(find(control, "b").config()).contains("x.Other");
  }

  @Test
  void deletesAndScalesAreCarriedOutOnceToo() {
    ServeControl control = withTwoVersions();
    ok(control.commands().once("scale").scale("b", "d", 3));
    ok(control.commands().scale("b", "d", 4));
    ok(control.commands().once("scale").scale("b", "d", 3));
    assertThat(find(control, "b").scales()).containsEntry("d", 4);

    ok(control.commands().once("delete").delete("b"));
    ok(control.commands().deploy("b", B));
    ok(control.commands().once("delete").delete("b"));
    ok(control.commands().once("all").deleteAll());
    ok(control.commands().deploy("b", B));
    ok(control.commands().once("all").deleteAll());
    assertThat(names(control)).containsExactly("b");
  }

  @Test
  void anIdIsOfOneCommandAndNeitherEmptyNorLong() {
    ServeControl control = withTwoVersions();
    ok(control.commands().once("one").scale("b", "d", 3));
    assertThat(refused(Kind.INVALID, control.commands().once("one").scale("b", "d", 4)))
        .hasMessage("Idempotency-Key: one, of another command (expected: one of its own)");
    refused(Kind.INVALID, control.commands().once("one").rollback("b"));
    refused(Kind.INVALID, control.commands().once(" ").rollback("b"));
    String longest = "x".repeat(OperatorCommands.MOST_ID_CHARS);
    assertThat(refused(Kind.INVALID, control.commands().once(longest + "x").rollback("b")))
        .hasMessage("Idempotency-Key: 129 characters (expected: 1 to 128)");
    assertThat(find(control, "b").revision()).isEqualTo(2);
    ok(control.commands().once(longest).rollback("b"));
  }

  /** Of megabytes a digest takes a while, and the control loop has other things to do. */
  @Test
  void aLargeConfigurationIsNotWorkedOnByTheControlLoop() {
    ServeControl control = start();
    String large = "{import_path: x.A, args: {text: " + "x".repeat(2 << 20) + "}}";
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    for (String id : new String[] {null, "one"}) {
      long before = threads.getCurrentThreadAllocatedBytes();
      Future<Void> deployed = control.commands().once(id).deploy("a", large, null);
      assertThat(threads.getCurrentThreadAllocatedBytes() - before)
          .as("bytes allocated before the command leaves the control loop, id %s", id)
          .isLessThan(large.length() / 2);
      ok(deployed);
    }
    assertThat(refused(Kind.INVALID, control.commands().once("one").deploy("a", "{}", null)))
        .as("with its id, and another body")
        .hasMessage("Idempotency-Key: one, of another command (expected: one of its own)");
    assertThat(control.keptAnswers()).isEqualTo(1);
  }

  @Test
  void anAnswerIsGivenAgainForTenMinutes() {
    ServeControl control = withTwoVersions();
    ok(control.commands().once("one").rollback("b"));
    ran(control, "b");
    nowMs += DesiredState.ANSWERS_KEPT_MS - 1;
    assertThat(ok(control.commands().once("one").rollback("b"))).isEqualTo(3);
    nowMs++;
    assertThat(ok(control.commands().once("one").rollback("b"))).as("a new one").isEqualTo(4);
  }

  @Test
  void whatWasRefusedIsTriedAgainWithItsId() {
    StateStoreTestFiles disk = new StateStoreTestFiles();
    ServeControl control = start(new JournalLog(kept(), directory -> disk), A);
    ok(control.commands().deploy("b", B));
    disk.full(true);
    refused(Kind.UNAVAILABLE, control.commands().once("one").delete("b"));
    disk.full(false);

    ok(control.commands().once("one").delete("b"));

    assertThat(names(control)).containsExactly("a");
  }

  // --- the log ---

  /** A log to which another changes something before each of the next proposals. */
  private static final class SharedLog implements StateLog {
    private final JournalLog log;
    private int others;

    SharedLog(JournalLog log) {
      this.log = log;
    }

    @Override
    public void open() {
      log.open();
    }

    @Override
    public DesiredState state() {
      return log.state();
    }

    @Override
    public boolean isKept() {
      return log.isKept();
    }

    @Override
    public @Nullable Path directory() {
      return log.directory();
    }

    @Override
    public void prepare() throws IOException {
      log.prepare();
    }

    @Override
    public @Nullable DesiredState propose(DesiredChange change) throws IOException {
      if (others > 0) {
        others--;
        DesiredState on = state();
        DesiredApplication.Wanted wanted =
            new DesiredApplication.Wanted(null, "{}", List.of(), false, "o" + on.index());
        log.propose(Objects.requireNonNull(on.deploy("other", wanted, null, 1)));
      }
      return log.propose(change);
    }

    @Override
    public DesiredState note(String what, DesiredChange change) {
      return log.note(what, change);
    }

    @Override
    public void close() {
      log.close();
    }
  }

  @Test
  void whatWasComputedOnAnotherStateIsComputedAnew() {
    SharedLog log = new SharedLog(new JournalLog(kept()));
    ServeControl control = start(log);
    log.others = ServeControl.MOST_TRIES - 1;

    ok(control.commands().deploy("b", B));

    assertThat(names(control)).containsExactly("other", "b");
    assertThat(find(control, "b").revision())
        .as("after those of the other")
        .isEqualTo(ServeControl.MOST_TRIES);
    stopped(control);
    assertThat(names(start())).as("what was committed").containsExactly("other", "b");
  }

  @Test
  void whatIsOvertakenAllTheWhileIsRefused() {
    SharedLog log = new SharedLog(new JournalLog(kept()));
    ServeControl control = start(log);
    log.others = ServeControl.MOST_TRIES;

    refused(Kind.UNAVAILABLE, control.commands().deploy("b", B));
    assertThat(log.state().find("b")).isNull();
    ok(control.commands().deploy("b", B));
  }

  /** What a start finds. */
  private DesiredState found(StateStoreTestFiles disk) throws IOException {
    try (StateStore store = StateStore.open(disk)) {
      return store.recovered();
    }
  }

  @Test
  void whatIsNotedAndCannotBeWrittenIsWrittenWithTheNextChange() throws IOException {
    StateStoreTestFiles disk = new StateStoreTestFiles();
    ServeControl first = start(new JournalLog(kept(), directory -> disk));
    ok(first.commands().deploy("b", B));
    disk.failAfter(0, false);
    ran(first, "b");
    assertThat(Objects.requireNonNull(found(disk.killed()).find("b")).healthy()).isFalse();

    ok(first.commands().deploy("a", A));

    assertThat(Objects.requireNonNull(found(disk.killed()).find("b")).healthy()).isTrue();
    assertThat(found(disk.cut()).whole()).isEqualTo(first.state().whole());
  }

  @Test
  void aControllerThatStartsAnewHasAHigherTerm() {
    ServeControl control = start(A);
    ok(control.commands().deploy("b", B));

    ok(control.commands().restartController());

    assertThat(controls.restarts).containsExactly(2L);
    stopped(control);
    assertThat(start(A).term()).isEqualTo(3);
  }

  // --- jars ---

  @Test
  void aJarThatIsOverwrittenChangesNothingUntilItIsDeployedAgain() throws IOException {
    Path jar = Files.writeString(folder.resolve("a.jar"), "one");
    String entry = "{import_path: x.A, route_prefix: /a, runtime_env: {jars: [a.jar]}}";
    ServeControl control = start();
    ok(control.commands().deploy("a", entry));
    Path copy = jar(control, "a", 1);
    assertThat(copy).startsWith(folder.resolve("state/jars")).hasContent("one");
    ran(control, "a");
    ok(control.commands().deploy("a", entry));
    assertThat(find(control, "a").revision()).isEqualTo(1);

    Files.writeString(jar, "two");
    assertThat(copy).hasContent("one");
    ok(control.commands().deploy("a", entry));

    assertThat(find(control, "a").revision()).isEqualTo(2);
    assertThat(jar(control, "a", 2)).hasContent("two").isNotEqualTo(copy);
    ok(control.commands().rollback("a"));
    assertThat(jar(control, "a", 3)).isEqualTo(copy);
    Files.delete(jar);
    stopped(control);
    ServeControl again = start();
    assertThat(jar(again, "a", 3)).hasContent("one");
  }

  @Test
  void aFilesJarsAreCopiedAndANewOneOfTheSameNameIsSomethingNew() throws IOException {
    Path jar = CompiledJar.holding(folder.resolve("a.jar"), "one");
    byte[] one = Files.readAllBytes(jar);
    String entry = "{import_path: x.A, name: a, runtime_env: {jars: [a.jar]}}";
    ServeControl first = start(entry);
    Path temporary = jar(first, "a", 1);
    assertThat(temporary).hasBinaryContent(one).isNotEqualTo(jar);
    ok(first.commands().deploy("b", B));
    assertThat(jar(first, "a", 1)).as("it runs from there").isEqualTo(temporary);
    stopped(first);
    assertThat(temporary).doesNotExist();

    ServeControl same = start(entry);
    assertThat(same.fromFile()).isFalse();
    assertThat(jar(same, "a", 1))
        .startsWith(folder.resolve("state/jars"))
        .hasFileName(temporary.getFileName().toString())
        .hasBinaryContent(one);
    stopped(same);
    CompiledJar.holding(jar, "two");
    ServeControl second = start(entry);
    assertThat(names(second)).containsExactly("a", "b");
    assertThat(jar(second, "a", find(second, "a").revision())).hasSameBinaryContentAs(jar);
  }

  /** Its jars are named by the checksums of their entries, as is what it knows of the file. */
  @Test
  void aStateOfAnEarlierVersionRunsOnWithItsJarsAndKnowsItsFile() throws IOException {
    Path jar = CompiledJar.holding(folder.resolve("a.jar"), "one");
    String entry = "{import_path: x.A, name: a, runtime_env: {jars: [a.jar]}}";
    Path copy = keptBefore(entry, jar);

    ServeControl today = start(entry);

    assertThat(today.fromFile()).as("the file says nothing new").isFalse();
    assertThat(find(today, "a").revision()).isEqualTo(1);
    assertThat(jar(today, "a", 1)).isEqualTo(copy).hasSameBinaryContentAs(jar);
    ran(today, "a");
    ok(today.commands().deploy("a", entry));
    assertThat(find(today, "a").revision()).as("the same by its bytes").isEqualTo(1);
    CompiledJar.holding(jar, "two");
    ok(today.commands().deploy("a", entry));
    assertThat(jar(today, "a", 2)).isNotEqualTo(copy);
    ok(today.commands().rollback("a"));
    assertThat(jar(today, "a", 3)).isEqualTo(copy).exists();
  }

  @Test
  void aStateOfAnEarlierVersionGivesWayToAnotherFile() throws IOException {
    Path jar = CompiledJar.holding(folder.resolve("a.jar"), "one");
    String entry = "{import_path: x.A, name: a, runtime_env: {jars: [a.jar]}}";
    keptBefore(entry, jar);
    CompiledJar.holding(jar, "two");

    assertThat(find(start(entry), "a").revision()).isEqualTo(2);
  }

  /** What an earlier version kept of a file with one application; gives its jar's copy. */
  private Path keptBefore(String entry, Path jar) throws IOException {
    Jar asBefore = JarStore.identifyAsBefore(List.of(jar)).get(0);
    JsonObject config = new JsonObject(file(entry).applications().get(0).entry());
    String digest =
        DeclaredEntry.digest(new JsonArray().add("a").add(config).add(asBefore.digest()).encode());
    DesiredChange change =
        DesiredChange.of(
            1,
            new JsonObject()
                .put("revision", 1)
                .put("term", 1)
                .put("file", DeclaredEntry.digest("null " + digest))
                .put("removed", new JsonArray())
                .put(
                    "applications",
                    new JsonArray()
                        .add(
                            new JsonObject()
                                .put("name", "a")
                                .put("revision", 1)
                                .put("deployed_ms", nowMs)
                                .put("healthy", false)
                                .put("config", config.encode())
                                .put("digest", digest)
                                .put("external_scaler", false)
                                .put("route_prefix", "/")
                                .put(
                                    "jars",
                                    new JsonArray()
                                        .add(
                                            new JsonArray()
                                                .add("a.jar")
                                                .add(asBefore.digest()))))));
    try (StateStore store =
        StateStore.open(Objects.requireNonNull(StateStoreDisk.hold(folder.resolve("state"))))) {
      store.append(change, DesiredState.EMPTY);
    }
    JarStore jars = JarStore.in(folder.resolve("state"), new JarDigests(() -> nowMs));
    Path copy = jars.path(asBefore);
    Files.createDirectories(copy.getParent());
    return Files.copy(jar, copy);
  }

  private List<Path> copies() throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve("state/jars"))) {
      return files.filter(each -> each.toString().endsWith(".jar")).toList();
    }
  }

  @Test
  void redeploysKeepTheCopiesOfWhatIsWantedGoneBackToAndInUseAndNoOther() throws IOException {
    ServeControl control = start();
    List<Path> paths = new ArrayList<>();
    for (int i = 1; i <= 20; i++) {
      Files.writeString(folder.resolve("a.jar"), "build " + i);
      ok(control.commands().deploy("a", "{import_path: x.A, runtime_env: {jars: [a.jar]}}"));
      ran(control, "a");
      paths.add(jar(control, "a", i));
      controls.inUse = Set.of(paths.get(0));
      if (i > 2) {
        Set<Path> needed = new HashSet<>(paths.subList(Math.max(0, i - 11), i));
        needed.add(paths.get(0));
        assertThat(copies())
            .as("in use, gone back to, wanted")
            .containsExactlyInAnyOrderElementsOf(needed);
      }
    }
    controls.inUse = null;
    ok(control.commands().deleteAll());
    assertThat(copies()).as("it is not known what is in use").hasSize(12);
    controls.inUse = Set.of(paths.get(19));
    control.removeUnusedJars();
    control.removeUnusedJars();
    runAll();
    assertThat(copies()).containsExactly(paths.get(19));
    stopped(control);

    start();

    assertThat(copies()).as("nothing is in use at a start").isEmpty();
  }

  @Test
  void anInstanceThatForgetsKeepsNoCopiesForEverEither() throws IOException {
    Settings ephemeral =
        ServeConfig.DEFAULTS
            .with(InstanceOptions.STATE_DIR, folder.resolve("state"))
            .with(InstanceOptions.EPHEMERAL, true);
    ServeControl control = start(ephemeral);
    Path first = null;
    for (int i = 1; i <= 4; i++) {
      Files.writeString(folder.resolve("a.jar"), "build " + i);
      ok(control.commands().deploy("a", "{import_path: x.A, runtime_env: {jars: [a.jar]}}"));
      first = first == null ? jar(control, "a", 1) : first;
    }
    assertThat(first).doesNotExist();
    assertThat(jar(control, "a", 4)).exists();
  }

  private static Path jar(ServeControl control, String application, long revision) {
    return Objects.requireNonNull(control.find(application, revision)).config().jars().get(0);
  }

  // --- what ran ---

  @Test
  void aRevisionThatWaitsAtZeroIsNotGoneBackToButTheLastThatRan() {
    ServeControl control = start();
    ok(control.commands().deploy("a", "{import_path: x.A, route_prefix: /a}"));
    ran(control, "a");
    ok(control.commands().deploy("a", "{import_path: x.B, route_prefix: /a}"));
    control.announced(new Announce("a", 2, ApplicationStatus.RUNNING, "", false, Set.of()));
    runAll();
    ok(control.commands().deploy("a", "{import_path: x.C, route_prefix: /a}"));
    failed(control, "a");

    ok(control.commands().rollback("a"));

    assertThat(className(control, "a", 4)).isEqualTo("x.A");
  }

  @Test
  void whatFailedIsAsOneNotTriedYetOnceNoneOfItIsWanted() throws IOException {
    ServeControl first = start();
    ok(first.commands().deploy("a", "{import_path: x.A, route_prefix: /a}"));
    ran(first, "a");
    ok(first.commands().deploy("a", "{import_path: x.B, route_prefix: /a}"));
    failed(first, "a");
    first.announced(new Announce("a", 2, ApplicationStatus.RUNNING, "", false, Set.of()));
    runAll();
    assertThat(className(first, "a", 2)).isEqualTo("x.B");
    stopped(first);
    ServeControl second = start();
    assertThat(className(second, "a", 2)).isEqualTo("x.B");
    failed(second, "a");
    assertThat(className(second, "a", 2)).isEqualTo("x.A");
  }

  @Test
  void whichDeploymentsHaveRunIsKeptWhateverIsDeployedSince() throws IOException {
    ServeControl first = start();
    ok(first.commands().deploy("a", "{import_path: x.A, route_prefix: /a}"));
    Set<String> ran = Set.of("front", "model");
    first.announced(new Announce("a", 1, ApplicationStatus.RUNNING, "", true, Set.of("front")));
    runAll();
    first.announced(new Announce("a", 1, ApplicationStatus.RUNNING, "", true, ran)); // since
    runAll();
    ok(first.commands().deploy("a", "{import_path: x.B, route_prefix: /a}"));
    failed(first, "a");
    ok(first.commands().rollback("a"));
    stopped(first);

    ServeControl second = start();
    assertThat(second.applications()).singleElement().extracting("ran").isEqualTo(ran);
    second.announced(new Announce("a", 3, ApplicationStatus.RUNNING, "", false, ran));
    runAll();
    ok(second.commands().deploy("a", "{import_path: x.C, route_prefix: /a}"));
    assertThat(second.applications()).singleElement().extracting("rollbackRevision").isEqualTo(1L);
  }

  // --- what failed ---

  private void failed(ServeControl control, String name) {
    control.announced(
        new Announce(
            name,
            find(control, name).revision(),
            ApplicationStatus.DEPLOY_FAILED,
            "no model",
            false,
            Set.of()));
    runAll();
  }

  private static String className(ServeControl control, String application, long revision) {
    return Objects.requireNonNull(control.find(application, revision))
        .config()
        .get(ApplicationConfig.IMPORT_PATH)
        .className();
  }

  @Test
  void whatRanBeforeAFailedRevisionIsBuiltInItsPlaceAfterARestartFromTheJarItHad()
      throws IOException {
    Path jar = Files.writeString(folder.resolve("a.jar"), "one");
    ServeControl first = start();
    ok(
        first
            .commands()
            .deploy("a", "{import_path: x.A, route_prefix: /a, runtime_env: {jars: [a.jar]}}"));
    ran(first, "a");
    Files.writeString(jar, "two");
    ok(
        first
            .commands()
            .deploy("a", "{import_path: x.B, route_prefix: /b, runtime_env: {jars: [a.jar]}}"));
    failed(first, "a");
    assertThat(className(first, "a", 2)).as("a controller that starts anew").isEqualTo("x.A");
    stopped(first);
    toldSince();

    ServeControl second = start();

    assertThat(toldSince()).containsExactly("declared a 2");
    assertThat(find(second, "a").config()).contains("x.B");
    assertThat(find(second, "a").failed())
        .isEqualTo(new DeclaredApplication.Failed("no model; revision 1 serves", "/a", 1));
    assertThat(className(second, "a", 2)).isEqualTo("x.A");
    assertThat(jar(second, "a", 2)).hasContent("one");
    assertThat(ok(second.commands().rollback("a"))).isEqualTo(3);
    assertThat(className(second, "a", 3)).isEqualTo("x.A");
    assertThat(find(second, "a").failed()).isNull();
  }

  @Test
  void aFailedRevisionIsBuiltAgainWhenItIsDeployedAgain() {
    ServeControl first = start();
    ok(first.commands().deploy("a", A));
    ran(first, "a");
    ok(first.commands().deploy("a", "{route_prefix: /a, import_path: x.B}"));
    failed(first, "a");
    stopped(first);
    ServeControl second = start();
    toldSince();

    ok(second.commands().deploy("a", "{route_prefix: /a, import_path: x.B}"));

    assertThat(toldSince()).containsExactly("declared a 2");
    assertThat(className(second, "a", 2)).isEqualTo("x.B");
    stopped(second);
    assertThat(find(start(), "a").failed()).isNull();
  }

  @Test
  void whatRanInAnEarlierProcessIsNotGivenUpForABadStart() {
    ServeControl first = start();
    ok(first.commands().deploy("a", A));
    ran(first, "a");
    ok(first.commands().deploy("a", "{route_prefix: /a, import_path: x.B}"));
    ran(first, "a");
    stopped(first);

    ServeControl second = start();
    failed(second, "a");

    assertThat(find(second, "a").failed()).isNull();
  }

  @Test
  void whatFailsSoonAfterItRanIsGivenUp() {
    ServeControl control = start();
    ok(control.commands().deploy("a", A));
    ran(control, "a");
    ok(control.commands().deploy("a", "{route_prefix: /a, import_path: x.B}"));
    ran(control, "a");

    failed(control, "a");

    assertThat(className(control, "a", 2)).isEqualTo("x.A");
  }

  @Test
  void aStartFromWhatNeverRanFallsBackToWhatRanBeforeIt() {
    ServeControl first = start();
    ok(first.commands().deploy("a", A));
    ran(first, "a");
    ok(first.commands().deploy("a", "{route_prefix: /a, import_path: x.B}"));
    stopped(first); // before anything was known of it
    ServeControl second = start();
    assertThat(className(second, "a", 2)).isEqualTo("x.B");
    toldSince();

    failed(second, "a");

    assertThat(toldSince()).containsExactly("declared a 2");
    assertThat(className(second, "a", 2)).isEqualTo("x.A");
  }

  @Test
  void aFirstRevisionThatFailedIsTriedAgainAtTheNextStart() {
    ServeControl first = start();
    ok(first.commands().deploy("a", A));
    failed(first, "a");
    stopped(first);

    ServeControl second = start();

    assertThat(find(second, "a").failed()).isNull();
    assertThat(className(second, "a", 1)).isEqualTo("x.A");
  }

  // --- a disk that fails ---

  @Test
  void whatCannotBeKeptIsRefusedAndChangesNothingAndTheNextOneMayBe() {
    StateStoreTestFiles disk = new StateStoreTestFiles();
    ServeControl control = start(new JournalLog(kept(), directory -> disk), A);
    ok(control.commands().deploy("b", B));
    toldSince();

    disk.full(true);
    assertThat(refused(Kind.UNAVAILABLE, control.commands().delete("b")))
        .hasMessageContaining("cannot be kept: ")
        .hasMessageContaining("No space left");
    assertThat(toldSince()).isEmpty();
    assertThat(names(control)).containsExactly("a", "b");
    disk.full(false);
    ok(control.commands().delete("b"));

    assertThat(names(control)).containsExactly("a");
  }
}
