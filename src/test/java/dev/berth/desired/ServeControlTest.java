package dev.berth.desired;

import static dev.berth.fakes.Submits.submit;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.api.DeploymentId;
import dev.berth.code.Jar;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigReader;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Declared;
import dev.berth.controller.ControllerEvent.Scaled;
import dev.berth.controller.ControllerEvent.Withdrawn;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.fakes.LogLines;
import dev.berth.protocol.BuildSource;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import dev.berth.view.JarCatalog;
import io.vertx.core.Future;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ServeControlTest extends ServeControlRig {

  private static final String A = "{name: a, route_prefix: /a, import_path: x.A}";
  private static final String A2 = A.replace("x.A", "x.B");
  private static final String B =
      "{name: b, route_prefix: /b, import_path: x.B, external_scaler_enabled: true}";
  private static final String WITH_JAR =
      "{import_path: x.A, name: a, runtime_env: {jars: [a.jar]}}";

  private ServeConfig file(String... applications) {
    return ConfigReader.read("file", folder, whole(applications));
  }

  private void start(String... applications) {
    start(new JournalLog(kept()), applications);
  }

  private void start(StateLog log, String... applications) {
    start(file(applications), log);
  }

  /** What the next one declares is told alone. */
  private void restart(String... applications) {
    stop();
    controls.told.clear();
    start(applications);
  }

  private static String whole(String... applications) {
    return "{applications: [" + String.join(", ", applications) + "]}";
  }

  private static String told(ControllerEvent event) {
    if (event instanceof Declared declared) {
      return "declared " + declared.application().name() + " " + declared.application().revision();
    }
    return event instanceof Withdrawn gone ? "withdrawn " + gone.application() : event.toString();
  }

  private List<String> toldSince() {
    List<String> told = controls.told.stream().map(ServeControlTest::told).toList();
    controls.told.clear();
    return told;
  }

  // --- what a start declares ---

  @Test
  void theFileIsDeclaredAndAMereStartMakesNoDirectory() {
    start(A, B);

    assertThat(toldSince()).containsExactly("declared a 1", "declared b 2");
    assertThat(control.fromFile()).isTrue();
    assertThat(control.logged().term()).isEqualTo(1);
    ran("a");
    assertThat(folder.resolve("state")).doesNotExist();
    ok(commands().details());
    assertThat(controls.stateDir).isEqualTo(folder.resolve("state").toString());
  }

  @Test
  void whatWasDeployedRunsAgainAfterARestart() {
    start(A);
    deployRan("b", B);
    restart(A); // the file says nothing new

    assertThat(control.fromFile()).isFalse();
    assertThat(toldSince()).containsExactly("declared a 1", "declared b 2");
    assertThat(control.logged().term()).isEqualTo(2);
    assertThat(find("b").config()).contains("\"import_path\":\"x.B\"");
    assertThat(className("b", 2)).isEqualTo("x.B");
  }

  @Test
  void anEphemeralInstanceForgets() {
    Settings ephemeral = kept().with(InstanceOptions.EPHEMERAL, true);
    start(new JournalLog(ephemeral), A);
    ok(submit(commands(), whole(B)));
    ok(commands().details());
    assertThat(controls.stateDir).isNull();
    stop();

    start(new JournalLog(ephemeral), A);
    assertThat(names()).containsExactly("a");
    assertThat(folder.resolve("state")).doesNotExist();
  }

  @Test
  void aSecondInstanceRunsWithoutTheDirectoryAndRefusesChanges() {
    start(A);
    ServeControl first = control;
    deploy("b", B);

    start(A);

    assertThat(names()).containsExactly("a");
    assertThat(refused(CommandRejectionReason.UNAVAILABLE, submit(commands(), "b", B)))
        .hasMessageContaining("is in use by another instance");
    assertThat(names()).containsExactly("a");
    stop(first);
    assertThat(refused(CommandRejectionReason.UNAVAILABLE, submit(commands(), "b", B)))
        .hasMessageContaining("created by another instance meanwhile");
  }

  @Test
  void anEntryThatIsNoLongerAllowedFailsAloneAndSaysWhy() throws IOException {
    Files.writeString(folder.resolve("a.jar"), "one");
    start();
    deploy("a", WITH_JAR);
    deploy("b", B);
    stop();
    try (Stream<Path> jars = Files.list(folder.resolve("state/jars"))) {
      Files.delete(jars.findFirst().orElseThrow());
    }
    toldSince();

    start();
    assertThat(toldSince()).containsExactly("declared a 1", "declared b 2");
    assertThat(control.find("a", 1)).isNull();
    buildFailed("missing or damaged here");
    assertThat(control.find("b", 2)).isNotNull();
  }

  @Test
  void applicationsWhoseLostJarIsBackAreBuiltAgain() throws IOException {
    Path given = Files.writeString(folder.resolve("a.jar"), "one");
    start();
    deploy("a", WITH_JAR);
    deploy("b", B);
    assertThat(control.lostJars()).isEmpty();
    stop();
    Path kept;
    try (Stream<Path> jars = Files.list(folder.resolve("state/jars"))) {
      kept = jars.filter(each -> each.toString().endsWith(".jar")).findFirst().orElseThrow();
    }
    Files.writeString(kept, "two");
    start();
    Jar lost = new Jar("a.jar", DeclaredEntry.digest("one"));
    assertThat(control.lostJars()).containsExactly(lost);
    ok(control.readAgain());
    toldSince();
    ok(control.readAgain());
    assertThat(toldSince()).as("it is missing yet").isEmpty();
    assertThat(control.lostJars()).containsExactly(lost);

    Path written = ok(control.jars().begin(3));
    Files.copy(given, written, StandardCopyOption.REPLACE_EXISTING);
    ok(control.jars().take(written, lost.name(), lost.digest()));
    assertThat(control.lostJars()).isEmpty();
    ok(control.readAgain());

    assertThat(toldSince()).containsExactly("declared a 1");
    assertThat(control.find("a", 1).config().jars()).containsExactly(kept);
    assertThat(kept).hasContent("one");
    assertThat(kept.resolveSibling(kept.getFileName() + ".corrupt-1")).hasContent("two");
  }

  @Test
  void lostJarIsTakenFromACopyOfAnotherName() throws IOException {
    Files.writeString(folder.resolve("a.jar"), "one");
    Files.writeString(folder.resolve("b.jar"), "one");
    start();
    deploy("a", WITH_JAR);
    deploy("b", WITH_JAR.replace("a.jar", "b.jar").replace("name: a", "name: b, route_prefix: /b"));
    stop();
    Path kept;
    try (Stream<Path> jars = Files.list(folder.resolve("state/jars"))) {
      kept =
          jars.filter(each -> each.getFileName().toString().startsWith("a-"))
              .findFirst()
              .orElseThrow();
    }
    Files.writeString(kept, "two");
    start();
    assertThat(control.lostJars()).isEmpty();
    assertThat(control.find("a", 1).config().jars()).containsExactly(kept);
    assertThat(kept).hasContent("one");
  }

  @Test
  void lostJarOfDeletedApplicationIsNotWantedBack() throws IOException {
    Files.writeString(folder.resolve("a.jar"), "one");
    start();
    deploy("a", WITH_JAR);
    stop();
    try (Stream<Path> jars = Files.list(folder.resolve("state/jars"))) {
      Files.delete(jars.filter(each -> each.toString().endsWith(".jar")).findFirst().orElseThrow());
    }
    start();
    assertThat(control.lostJars()).hasSize(1);
    ok(commands().delete("a"));
    assertThat(control.lostJars()).isEmpty();
  }

  // --- what other nodes build it from ---

  @Test
  void anotherNodeIsToldOfAnEntryAndWhichJarsItHas() throws IOException {
    Files.writeString(folder.resolve("a.jar"), "one");
    start();
    deploy("a", WITH_JAR);

    BuildSource source = ok(control.source(Objects.requireNonNull(control.find("a", 1)).config()));

    assertThat(source.entry()).contains("x.A");
    BuildSource.JarFile jar = source.jars().get(0);
    assertThat(jar.name()).isEqualTo("a.jar");
    assertThat(jar.bytes()).isEqualTo(3);
    assertThat(ok(control.jars().find(jar.sha256()))).hasContent("one");
    assertThat(ok(control.jars().find("0".repeat(64)))).isNull();
  }

  @Test
  void jarDamagedSinceTheStartIsLostOnceAnotherNodeNeedsIt() throws IOException {
    Files.writeString(folder.resolve("a.jar"), "one");
    start();
    deploy("a", WITH_JAR);
    ApplicationConfig config = Objects.requireNonNull(control.find("a", 1)).config();
    Files.writeString(config.jars().get(0), "two");

    assertThat(refused(CommandRejectionReason.PRECONDITION, control.source(config)))
        .hasMessageContaining("missing or damaged here");
    Jar lost = new Jar("a.jar", DeclaredEntry.digest("one"));
    assertThat(control.lostJars()).containsExactly(lost);

    Path written = ok(control.jars().begin(3));
    Files.writeString(written, "one");
    ok(control.jars().take(written, lost.name(), lost.digest()));
    assertThat(control.lostJars()).isEmpty();
    assertThat(ok(control.source(config)).jars().get(0).sha256()).isEqualTo(lost.digest());
  }

  @Test
  void aDeployNamesAJarThatWasSentBefore() throws IOException {
    start();
    String sha256 = DeclaredEntry.digest("one");
    String entry = "{import_path: x.A, name: a, runtime_env: {jars: ['sha256:" + sha256 + "']}}";
    assertThat(refused(CommandRejectionReason.INVALID, submit(commands(), "a", entry)))
        .hasMessageContaining("which was not sent (expected: digest of a stored jar)");

    Path written = ok(control.jars().begin(3));
    ok(control.jars().take(Files.writeString(written, "one"), "shop.jar", sha256));
    deploy("a", entry);

    Path jar = Objects.requireNonNull(control.find("a", 1)).config().jars().get(0);
    assertThat(jar).hasContent("one").hasFileName(new Jar("shop.jar", sha256).copyName());
  }

  // --- deploy ---

  @Test
  void aDeployTellsWhatIsDifferentAndNothingElse() {
    start(A, B);
    ran("a");
    ran("b");
    toldSince();

    ok(submit(commands(), whole(A, "{name: c, import_path: x.C}")));
    assertThat(toldSince()).containsExactly("withdrawn b", "declared c 3");
    ran("c");

    ok(submit(commands(), whole(A, "{import_path: x.C, name: c}")));
    assertThat(toldSince()).as("the order of keys says nothing").isEmpty();
  }

  @Test
  void whatHasNotRunYetIsTriedAnew() {
    start();
    ok(submit(commands(), whole(A)));
    toldSince();

    ok(submit(commands(), whole(A)));

    assertThat(toldSince()).containsExactly("declared a 1");
  }

  @Test
  void anotherCapacityIsToldToEveryApplication() {
    start(A, B);
    ran("a");
    toldSince();

    ok(submit(commands(), "{target_capacity: 50, applications: [" + A + ", " + B + "]}"));

    assertThat(toldSince()).containsExactly("declared a 1", "declared b 2");
    assertThat(
            Objects.requireNonNull(control.find("a", 1)).file().find(ServeConfig.TARGET_CAPACITY))
        .isEqualTo(50);
  }

  @Test
  void aBadConfigurationIsRefusedWithEveryProblemAndChangesNothing() {
    start(A);
    toldSince();

    CommandRejectedException refused =
        refused(
            CommandRejectionReason.INVALID,
            submit(commands(), whole("{name: c, colour: red, import_path: x.C}", "{name: d}")));

    assertThat(refused.problems())
        .hasSize(3)
        .anySatisfy(line -> assertThat(line).contains("applications[0].colour: unknown key"))
        .anySatisfy(line -> assertThat(line).contains("applications[1].import_path: missing"));
    assertThat(toldSince()).isEmpty();
    assertThat(names()).containsExactly("a");
    assertThat(folder.resolve("state")).doesNotExist();
    refused(CommandRejectionReason.INVALID, submit(commands(), "{"));
    refused(CommandRejectionReason.INVALID, submit(commands(), "a", "{name: b, import_path: x.B}"));
  }

  @Test
  void aRouteThatIsTakenIsRefused() {
    start(A, B);

    assertThat(
            refused(
                CommandRejectionReason.INVALID,
                submit(commands(), "c", "{import_path: x.C, route_prefix: /a}")))
        .hasMessageContaining("route_prefix: \"/a\" (expected: unique; application a has it");
    deploy("a", "{import_path: x.Other, route_prefix: /a}");
  }

  @Test
  void commandsAreCarriedOutOneAfterTheOtherAndTheLastWins() {
    start();
    Future<Void> first = submit(commands(), whole(A));
    Future<Void> second = submit(commands(), whole(B));
    Future<Void> wrong = submit(commands(), "{applications: {}}");

    runAll();

    assertThat(List.of(first.succeeded(), second.succeeded(), wrong.failed())).containsOnly(true);
    assertThat(toldSince()).containsExactly("declared a 1", "withdrawn a", "declared b 2");
    assertThat(names()).containsExactly("b");
  }

  @Test
  void commandsThatWaitAreBounded() {
    start();
    List<Future<Void>> many = new ArrayList<>();
    for (int i = 0; i < CommandQueue.MAX_COMMANDS + 2; i++) {
      many.add(submit(commands(), whole(A)));
    }

    assertThat(refused(CommandRejectionReason.UNAVAILABLE, many.remove(many.size() - 1)))
        .hasMessageContaining("64 commands wait");
    assertThat(many).allSatisfy(command -> assertThat(command.succeeded()).isTrue());
    ok(submit(commands(), whole(A)));
  }

  @Test
  void whatWaitsWhenTheInstanceStopsIsRefused() {
    start();
    Future<Void> running = submit(commands(), whole(A));
    Future<Void> waiting = submit(commands(), whole(B));

    stop();

    assertThat(running.succeeded()).isTrue();
    refused(CommandRejectionReason.UNAVAILABLE, waiting);
    refused(CommandRejectionReason.UNAVAILABLE, submit(commands(), whole(B)));
    start();
    assertThat(names()).containsExactly("a");
  }

  @Test
  void aDeletedApplicationIsWithdrawnAndStaysSo() {
    start(A, B);
    toldSince();

    ok(commands().delete("a"));
    refused(CommandRejectionReason.NOT_FOUND, commands().delete("a"));
    ok(commands().deleteAll());
    ok(commands().deleteAll());

    assertThat(toldSince()).containsExactly("withdrawn a", "withdrawn b");
    restart();

    assertThat(names()).isEmpty();
  }

  @Test
  void aDeleteThatIsTheFirstCommandIsKeptWithAllThatTheFileSaid() throws IOException {
    jarOf("one");
    start(WITH_JAR, B);

    ok(commands().delete("b"));
    restart(WITH_JAR, B);

    assertThat(names()).containsExactly("a");
    assertThat(jar("a")).startsWith(folder.resolve("state/jars")).exists();
  }

  // --- scale, rollback ---

  @Test
  void aScaleIsDurableAndGoesWithTheEntryItWasSetOn() {
    start();
    ok(submit(commands(), whole(A, B)));
    toldSince();

    ok(commands().scale("b", "d", 0));
    ok(commands().scale("b", "d", 0));
    assertThat(controls.told).containsExactly(new Scaled(new DeploymentId("b", "d"), 0));
    restart();
    assertThat(find("b").scales()).isEqualTo(Map.of("d", 0));
    deploy("b", B.replace("x.B", "x.B2"));
    assertThat(find("b").scales()).isEmpty();
  }

  @Test
  void aScaleIsRefusedForWhatItCannotBe() {
    start(A, B);

    refused(CommandRejectionReason.INVALID, commands().scale("b", "d", -1));
    refused(CommandRejectionReason.NOT_FOUND, commands().scale("b", "other", 1));
    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().scale("a", "d", 1)))
        .hasMessageContaining("external_scaler_enabled=false");
    ok(commands().delete("b"));
    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().scale("b", "d", 1)))
        .hasMessage("Deployment is deleted");
    controls.deployments = null;
    refused(CommandRejectionReason.NOT_FOUND, commands().scale("b", "d", 1));
  }

  @Test
  void aRollbackBringsBackWhatLastRanAfterARestartToo() {
    start();
    deploy("b", B);
    refused(CommandRejectionReason.PRECONDITION, commands().rollback("b", null, false));
    refused(CommandRejectionReason.NOT_FOUND, commands().rollback("c", null, false));
    ran("b");
    deploy("b", B.replace("x.B", "x.Bad"));
    restart();
    assertThat(find("b").rollbackRevision()).isEqualTo(1);
    toldSince();
    assertThat(ok(commands().rollback("b", null, false))).isEqualTo(3);

    assertThat(toldSince()).containsExactly("declared b 3");
    assertThat(className("b", 3)).isEqualTo("x.B");
    assertThat(control.find("b", 2)).as("not wanted any more").isNull();
  }

  // --- commands with an id ---

  private static final String OTHER = B.replace("x.B", "x.Other");

  private Future<Long> rollback(@Nullable String id) {
    return commands().once(id).rollback("b", null, false);
  }

  /** Two versions have run, so that each rollback goes back to the other one. */
  private void withTwoVersions() {
    start();
    deployRan("b", B);
    deployRan("b", OTHER);
    toldSince();
  }

  @Test
  void aRollbackSentTwiceGoesBackOnceWhateverCameInBetween() {
    withTwoVersions();
    assertThat(ok(rollback("one"))).isEqualTo(3);
    ran("b");
    toldSince();

    assertThat(ok(rollback("one"))).isEqualTo(3);
    assertThat(toldSince()).isEmpty();
    restart();
    toldSince();
    assertThat(ok(rollback("one"))).as("after a restart").isEqualTo(3);
    assertThat(toldSince()).isEmpty();
    ok(commands().delete("b"));
    assertThat(ok(rollback("one"))).as("after a delete").isEqualTo(3);
    assertThat(names()).isEmpty();
  }

  @Test
  void twoRollbacksWithTheirOwnIdsGoBackAndForthAndSoDoTwoWithout() {
    withTwoVersions();
    long revision = 3;
    for (String id : new String[] {"one", "two", null, null}) {
      assertThat(ok(rollback(id))).isEqualTo(revision++);
      ran("b");
    }
  }

  @Test
  void twoOfTheSameIdAtTheSameTimeAreOne() {
    withTwoVersions();
    Future<Long> one = rollback("one");
    Future<Long> same = rollback("one");
    assertThat(ok(one)).isEqualTo(3);
    assertThat(ok(same)).isEqualTo(3);
    assertThat(toldSince()).containsExactly("declared b 3");
  }

  @Test
  void whatChangedNothingWhenItWasFirstSentUndoesNothingWhenItIsSentAgain() {
    start();
    deploy("b", B);
    ok(submit(commands().once("one"), "b", B));
    deploy("b", OTHER);

    ok(submit(commands().once("one"), "b", B));

    assertThat(find("b").config()).contains("x.Other");
  }

  @Test
  void deletesAndScalesAreCarriedOutOnceToo() {
    withTwoVersions();
    ok(commands().once("scale").scale("b", "d", 3));
    ok(commands().scale("b", "d", 4));
    ok(commands().once("scale").scale("b", "d", 3));
    assertThat(find("b").scales()).containsEntry("d", 4);

    ok(commands().once("delete").delete("b"));
    deploy("b", B);
    ok(commands().once("delete").delete("b"));
    ok(commands().once("all").deleteAll());
    deploy("b", B);
    ok(commands().once("all").deleteAll());
    assertThat(names()).containsExactly("b");
  }

  @Test
  void anIdIsOfOneCommandAndNeitherEmptyNorLong() {
    withTwoVersions();
    ok(commands().once("one").scale("b", "d", 3));
    assertThat(refused(CommandRejectionReason.INVALID, commands().once("one").scale("b", "d", 4)))
        .hasMessage("Idempotency-Key: one, of another command (expected: a unique id)");
    refused(CommandRejectionReason.INVALID, rollback("one"));
    refused(CommandRejectionReason.INVALID, rollback(" "));
    String longest = "x".repeat(OperatorCommands.MAX_ID_CHARS);
    assertThat(refused(CommandRejectionReason.INVALID, rollback(longest + "x")))
        .hasMessage("Idempotency-Key: 129 characters (expected: 1 to 128)");
    assertThat(revision("b")).isEqualTo(2);
    ok(rollback(longest));
  }

  /** Of megabytes a digest takes a while, and the control loop has other things to do. */
  @Test
  void aLargeConfigurationIsNotWorkedOnByTheControlLoop() {
    start();
    String large = "{import_path: x.A, args: {text: " + "x".repeat(2 << 20) + "}}";
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    for (String id : new String[] {null, "one"}) {
      long before = threads.getCurrentThreadAllocatedBytes();
      Future<Void> deployed = submit(commands().once(id), "a", large, null);
      assertThat(threads.getCurrentThreadAllocatedBytes() - before)
          .as("bytes allocated before the command leaves the control loop, id %s", id)
          .isLessThan(large.length() / 2);
      ok(deployed);
    }
    assertThat(
            refused(
                CommandRejectionReason.INVALID, submit(commands().once("one"), "a", "{}", null)))
        .as("with its id, and another body")
        .hasMessage("Idempotency-Key: one, of another command (expected: a unique id)");
    assertThat(control.logged().keptAnswers()).isEqualTo(1);
  }

  @Test
  void anAnswerIsGivenAgainForTenMinutes() {
    withTwoVersions();
    ok(rollback("one"));
    ran("b");
    steadyMs += DesiredState.RESULT_RETENTION_MS - 1;
    assertThat(ok(rollback("one"))).isEqualTo(3);
    steadyMs++;
    assertThat(ok(rollback("one"))).as("a new one").isEqualTo(4);
  }

  @Test
  void whatWasRefusedIsTriedAgainWithItsId() {
    start(new JournalLog(kept(), directory -> disk), A);
    deploy("b", B);
    disk.full(true);
    refused(CommandRejectionReason.UNAVAILABLE, commands().once("one").delete("b"));
    disk.full(false);

    ok(commands().once("one").delete("b"));

    assertThat(names()).containsExactly("a");
  }

  // --- the log ---

  /** A log to which another changes something before each of the next proposals. */
  private static StateLog shared(JournalLog log, AtomicInteger others) {
    return new InterceptedLog(
        log,
        () -> false,
        change -> {
          if (others.getAndDecrement() > 0) {
            ApplicationSpec wanted =
                new ApplicationSpec(null, "{}", List.of(), false, "o" + log.state().index());
            log.propose(Objects.requireNonNull(log.state().deploy("other", wanted, null, 1)));
          }
        });
  }

  @Test
  void whatWasComputedOnAnotherStateIsComputedAnew() {
    AtomicInteger others = new AtomicInteger();
    start(shared(new JournalLog(kept()), others));
    others.set(CommandCommitter.MAX_TRIES - 1);

    deploy("b", B);

    assertThat(names()).containsExactly("other", "b");
    assertThat(revision("b")).as("after those of the other").isEqualTo(CommandCommitter.MAX_TRIES);
    restart();

    assertThat(names()).as("what was committed").containsExactly("other", "b");
  }

  @Test
  void whatIsOvertakenAllTheWhileIsRefused() {
    JournalLog log = new JournalLog(kept());
    AtomicInteger others = new AtomicInteger();
    start(shared(log, others));
    others.set(CommandCommitter.MAX_TRIES);

    refused(CommandRejectionReason.UNAVAILABLE, submit(commands(), "b", B));
    assertThat(log.state().find("b")).isNull();
    deploy("b", B);
  }

  /** What a start finds. */
  private DesiredState found(StateStoreTestFiles disk) throws IOException {
    try (StateStore store = new StateStore(disk, StateStore.MIN_GROWTH_BYTES)) {
      return store.recovered;
    }
  }

  @Test
  void whatIsNotedAndCannotBeWrittenIsWrittenWithTheNextChange() throws IOException {
    start(new JournalLog(kept(), directory -> disk));
    deploy("b", B);
    disk.failAfter(0, false);
    ran("b");
    assertThat(Objects.requireNonNull(found(disk.killed()).find("b")).healthy()).isFalse();

    deploy("a", A);

    assertThat(Objects.requireNonNull(found(disk.killed()).find("b")).healthy()).isTrue();
    assertThat(found(disk.cut()).whole()).isEqualTo(control.state.whole());
  }

  @Test
  void aControllerThatStartsAnewHasAHigherTerm() {
    start(A);
    deploy("b", B);

    ok(commands().restartController());

    assertThat(controls.restarts).containsExactly(2L);
    stop();
    start(A);
    assertThat(control.logged().term()).isEqualTo(3);
  }

  // --- jars ---

  @Test
  void aJarThatIsOverwrittenChangesNothingUntilItIsDeployedAgain() throws IOException {
    Path jar = Files.writeString(folder.resolve("a.jar"), "one");
    start();
    deploy("a", WITH_JAR);
    Path copy = jar("a");
    assertThat(copy).startsWith(folder.resolve("state/jars")).hasContent("one");
    ran("a");
    deploy("a", WITH_JAR);
    assertThat(revision("a")).isEqualTo(1);

    Files.writeString(jar, "two");
    assertThat(copy).hasContent("one");
    deploy("a", WITH_JAR);

    assertThat(revision("a")).isEqualTo(2);
    assertThat(jar("a")).hasContent("two").isNotEqualTo(copy);
    ok(commands().rollback("a", null, false));
    assertThat(jar("a")).isEqualTo(copy);
    Files.delete(jar);
    restart();
    assertThat(jar("a")).hasContent("one");
  }

  @Test
  void aFilesJarsAreCopiedAndANewOneOfTheSameNameIsSomethingNew() throws IOException {
    Path jar = jarOf("one");
    byte[] one = Files.readAllBytes(jar);
    start(WITH_JAR);
    Path temporary = jar("a");
    assertThat(temporary).hasBinaryContent(one).isNotEqualTo(jar);
    deploy("b", B);
    assertThat(jar("a")).as("it runs from there").isEqualTo(temporary);
    stop();
    assertThat(temporary).doesNotExist();

    start(WITH_JAR);
    assertThat(control.fromFile()).isFalse();
    assertThat(jar("a"))
        .startsWith(folder.resolve("state/jars"))
        .hasFileName(temporary.getFileName().toString())
        .hasBinaryContent(one);
    stop();
    jarOf("two");
    start(WITH_JAR);
    assertThat(names()).containsExactly("a", "b");
    assertThat(jar("a")).hasSameBinaryContentAs(jar);
  }

  private List<Path> copies() throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve("state/jars"))) {
      return files.filter(each -> each.toString().endsWith(".jar")).toList();
    }
  }

  @Test
  void redeploysKeepTheCopiesOfWhatIsWantedGoneBackToAndInUseAndNoOther() throws IOException {
    start();
    List<Path> paths = new ArrayList<>();
    for (int i = 1; i <= 20; i++) {
      Files.writeString(folder.resolve("a.jar"), "build " + i);
      deploy("a", WITH_JAR);
      ran("a");
      paths.add(jar("a"));
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
    ok(commands().deleteAll());
    assertThat(copies()).as("it is not known what is in use").hasSize(12);
    controls.inUse = Set.of(paths.get(19));
    control.removeUnusedJars();
    control.removeUnusedJars();
    runAll();
    assertThat(copies()).containsExactly(paths.get(19));
    restart();

    assertThat(copies()).as("nothing is in use at a start").isEmpty();
  }

  @Test
  void anInstanceThatForgetsKeepsNoCopiesForEverEither() throws IOException {
    start(new JournalLog(kept().with(InstanceOptions.EPHEMERAL, true)));
    Path first = null;
    for (int i = 1; i <= 4; i++) {
      Files.writeString(folder.resolve("a.jar"), "build " + i);
      deploy("a", WITH_JAR);
      first = first == null ? jar("a") : first;
    }
    assertThat(first).doesNotExist();
    assertThat(jar("a")).exists();
  }

  // --- what ran ---

  /** Over another that ran. */
  private void triesA2() {
    start();
    deployRan("a", A);
    deploy("a", A2);
  }

  @Test
  void aRevisionThatWaitsAtZeroIsNotGoneBackToButTheLastThatRan() {
    triesA2();
    running("a", 2, false);
    deploy("a", "{import_path: x.C, route_prefix: /a}");
    failed("a");

    ok(commands().rollback("a", null, false));

    assertThat(className("a", 4)).isEqualTo("x.A");
  }

  @Test
  void whatFailedIsAsOneNotTriedYetOnceNoneOfItIsWanted() throws IOException {
    triesA2();
    failed("a");
    running("a", 2, false);
    assertThat(className("a", 2)).isEqualTo("x.B");
    restart();
    assertThat(className("a", 2)).isEqualTo("x.B");
    failed("a");
    assertThat(className("a", 2)).isEqualTo("x.A");
  }

  @Test
  void whichDeploymentsHaveRunIsKeptWhateverIsDeployedSince() throws IOException {
    start();
    deploy("a", A);
    running("a", 1, true, "front");
    running("a", 1, true, "front", "model"); // since
    deploy("a", A2);
    failed("a");
    ok(commands().rollback("a", null, false));
    restart();
    assertThat(control.applications())
        .singleElement()
        .extracting("ran")
        .isEqualTo(Set.of("front", "model"));
    running("a", 3, false, "front", "model");
    deploy("a", "{import_path: x.C, route_prefix: /a}");
    assertThat(control.applications()).singleElement().extracting("rollbackRevision").isEqualTo(1L);
  }

  // --- what failed ---

  @Test
  void whatRanBeforeAFailedRevisionIsBuiltInItsPlaceAfterARestartFromTheJarItHad()
      throws IOException {
    Path jar = Files.writeString(folder.resolve("a.jar"), "one");
    start();
    deployRan("a", WITH_JAR);
    Files.writeString(jar, "two");
    deploy("a", "{import_path: x.B, route_prefix: /b, runtime_env: {jars: [a.jar]}}");
    failed("a");
    assertThat(className("a", 2)).as("a controller that starts anew").isEqualTo("x.A");
    restart();

    assertThat(toldSince()).containsExactly("declared a 2");
    assertThat(find("a").config()).contains("x.B");
    assertThat(find("a").failed())
        .isEqualTo(new DeclaredApplication.FailedRevision("no model; revision 1 serves", "/", 1));
    assertThat(className("a", 2)).isEqualTo("x.A");
    assertThat(jar("a")).hasContent("one");
    assertThat(ok(commands().rollback("a", null, false))).isEqualTo(3);
    assertThat(className("a", 3)).isEqualTo("x.A");
    assertThat(find("a").failed()).isNull();
  }

  @Test
  void aFailedRevisionIsBuiltAgainWhenItIsDeployedAgain() {
    triesA2();
    failed("a");
    restart();
    toldSince();

    deploy("a", A2);

    assertThat(toldSince()).containsExactly("declared a 2");
    assertThat(className("a", 2)).isEqualTo("x.B");
    restart();
    assertThat(find("a").failed()).isNull();
  }

  @Test
  void whatIsGivenUpWithNothingBeforeItIsTriedAgainWhenItIsDeployedAgain() { // 77001471
    start();
    deployRan("a", A);
    toldSince();
    failed("a"); // on its trial: crashes from outside count

    deploy("a", A);
    assertThat(toldSince()).containsExactly("declared a 1");
    ok(submit(commands(), whole(A)));
    assertThat(toldSince()).as("nothing is known of that try yet").containsExactly("declared a 1");
    ran("a");
    deploy("a", A);
    assertThat(toldSince()).as("it runs").isEmpty();
  }

  @Test
  void whatRanInAnEarlierProcessIsNotGivenUpForABadStartAndIsTriedAgainWhenItIsDeployedAgain() {
    triesA2();
    ran("a");
    restart();
    toldSince();
    failed("a");
    assertThat(find("a").failed()).isNull();

    deploy("a", A2);

    assertThat(toldSince()).containsExactly("declared a 2");
    assertThat(find("a").rollbackRevision()).as("it stays good").isEqualTo(1);
  }

  @Test
  void whatFailsSoonAfterItRanIsGivenUp() {
    triesA2();
    ran("a");

    failed("a");

    assertThat(className("a", 2)).isEqualTo("x.A");
  }

  @Test
  void aStartFromWhatNeverRanFallsBackToWhatRanBeforeIt() {
    triesA2();
    stop(); // before anything was known of it
    start();
    assertThat(className("a", 2)).isEqualTo("x.B");
    toldSince();

    failed("a");

    assertThat(toldSince()).containsExactly("declared a 2");
    assertThat(className("a", 2)).isEqualTo("x.A");
  }

  // --- a disk that fails ---

  @Test
  void whatCannotBeKeptIsRefusedAndChangesNothingAndTheNextOneMayBe() {
    start(new JournalLog(kept(), directory -> disk), A);
    deploy("b", B);
    toldSince();

    disk.full(true);
    try (LogLines lines = new LogLines(CommandCommitter.class, Level.ERROR)) {
      for (int time = 0; time < 2; time++) {
        assertThat(refused(CommandRejectionReason.UNAVAILABLE, commands().delete("b")))
            .hasMessageContaining("cannot be stored: ")
            .hasMessageContaining("No space left");
      }
      assertThat(lines.all()).as("one for each command").hasSize(2);
      assertThat(control.notStored()).isEqualTo(2);
    }
    assertThat(toldSince()).isEmpty();
    assertThat(names()).containsExactly("a", "b");
    disk.full(false);
    ok(commands().delete("b"));

    assertThat(names()).containsExactly("a");
  }

  @Test
  void historyShowsAtOnceWhatGaveWayToAJar() throws Exception {
    JournalLog log = new JournalLog(kept());
    start(log, B);
    ran("b");
    deployRan("b", OTHER);
    deployRan("b", B);
    JarCatalog shelf = control.jars();
    Path written = ok(shelf.begin(1));
    Files.writeString(written, "x");
    assertThat(log.note("as a jar does", log.state().forget(1))).isNotNull();
    assertThat(control.state.history.oldest()).isEqualTo(1);

    ok(shelf.take(written, "x.jar", "0".repeat(64)));

    assertThat(control.state.history.oldest()).isNull();
  }

  @Test
  void clockThatIsSetEndsNoIdempotencyKey() {
    withTwoVersions();
    assertThat(ok(rollback("one"))).isEqualTo(3);
    ran("b");
    nowMs += 2 * DesiredState.RESULT_RETENTION_MS; // by an operator, or by NTP

    assertThat(ok(rollback("one"))).isEqualTo(3);

    nowMs = 0;
    steadyMs += DesiredState.RESULT_RETENTION_MS;
    assertThat(ok(rollback("one"))).isEqualTo(4);
  }

  @Test
  void numberOfAnyDeploymentMayBeSetByBerthAndNotByRaysCall() {
    start(A);
    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().scale("a", "d", 3)))
        .hasMessageContaining("external_scaler_enabled=false");
    toldSince();

    assertThat(ok(commands().pause("a", "d", 3))).as("it does not autoscale").isFalse();

    assertThat(toldSince()).isNotEmpty();
    assertThat(find("a").scales()).containsEntry("d", 3);
    refused(CommandRejectionReason.PRECONDITION, commands().pause("a", "d", null));
  }
}
