package dev.berth.desired;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigOrigin;
import dev.berth.config.DeclareMode;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.desired.StartupMerge.MergeLogLine;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.event.Level;

/** The table of the guide, row by row. */
class StartRulesTest extends DesiredRig {
  private static final String FILE = "file://host/srv/shop.yaml";
  private static final ConfigOrigin ORIGIN = new ConfigOrigin(FILE, true, List.of());
  private static final String ANOTHER = "file://host/srv/other.yaml";

  private StartupMerge last;
  private List<String> deleted; // by it

  // --- steps ---

  @Override
  ApplicationSpec wanted(String says) {
    String[] route = says.split("@");
    return new ApplicationSpec(route.length > 1 ? route[1] : null, "{}", List.of(), false, says);
  }

  private StartupMerge rules(@Nullable Double capacity, String... namesAndWords) {
    StartupMerge rules = new StartupMerge(state, DeclareMode.CHANGED, ORIGIN, capacity);
    all(namesAndWords).forEach(rules::says);
    return rules;
  }

  /** A start whose file says that. */
  private void start(String... namesAndWords) {
    carryOut(rules(null, namesAndWords));
  }

  private void carryOut(StartupMerge rules) {
    DesiredChange change = rules.change(state, 1);
    doneIfAny(change);
    last = rules;
    deleted = change == null ? List.of() : change.removed();
  }

  private void deploy(String application, String says, @Nullable String file) {
    doneIfAny(state.deploy(application, wanted(says), file, 1));
  }

  private void rest(String application, String says) {
    deploy(application, says, null);
  }

  private void runs(String application, String says) {
    assertThat(application(application).wanted().digest()).isEqualTo(says);
  }

  private void nothingIsDone() {
    assertThat(last.declared).isEmpty();
    assertThat(deleted).isEmpty();
    assertThat(last.lines).isEmpty();
  }

  /** The one line of the last start. */
  private void said(Level level, String... parts) {
    assertThat(last.lines).hasSize(1);
    MergeLogLine line = last.lines.get(0);
    assertThat(line.level()).as(line.text()).isEqualTo(level);
    assertThat(line.text()).contains(parts);
  }

  // --- what came before, what the file says now, what is told of it, what is wanted then ---

  /**
   * Steps: {@code start} with a file that says these, a deploy through {@code rest}, with the
   * {@code file} of the start or an{@code other} one, {@code ran}, {@code failed}, {@code back} to
   * what ran before, {@code delete}. Where nothing is told nothing is done.
   */
  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          # an unchanged file
          it leaves a deploy alone        | start a 1; rest a 2; rest b 1 | a 1 | | a 2, b 1
          and one of another file         | start a 1; other a 2 | a 1 | | a 2
          what was deleted stays deleted  | start a 1; delete a | a 1 | WARN application a: stays deleted ... berth deploy /srv/shop.yaml --app a |
          until the file says it anew     | start a 1; delete a; start a 1 | a 2 | INFO application a: declared | a 2
          it does not try a failure again | start a 1; ran a; start a bad; failed a | a bad | | a bad (1 serves)
          until it says something else    | start a 1; ran a; start a bad; failed a; start a bad | a 3 | INFO application a: declared | a 3
          # what is known already
          deployed since, and rolled back | start a 1; ran a; rest a 2; ran a; back a | a 2 | | a 1
          deployed since, and failed      | start a 1; ran a; rest a bad; failed a | a bad | | a bad (1 serves)
          wanted by now, by a rollback    | start a 1; rest a 2; ran a; rest a 3; back a | a 2 | | a 2
          wanted by now, by a deploy      | start a 1; ran a; rest a 2; rest a 3; back a; start a 1; rest a 2 | a 2 | | a 2
          and then the file alone moves   | start a 1; rest a 2; start a 2 | a 4 | INFO application a: declared | a 4
          # the file moved, or both did
          what the file alone says anew   | start a 1 | a 2 | INFO application a: declared | a 2
          an older content is new too     | start a 1; start a 2 | a 1 | INFO application a: declared | a 1
          it was deployed itself          | start a 1; file a 2 | a 3 | INFO application a: declared | a 3
          a deploy is displaced           | start a 1; rest a 2; ran a | a 3 | WARN application a: declared ... revision 2 ... berth rollback a restores it | a 3
          and brought back                | start a 1; rest a 2; ran a; start a 3; back a | a 3 | | a 2
          no promise of what never ran    | start a 1; ran a; rest a 2 | a 3 | WARN revision 2 ... has not run: berth rollback a restores revision 1 | a 3
          nor where nothing ran before it | start a 1; rest b 1 | a 1 b 2 | WARN application b ... revision 2 ... has not run: only a deploy restores it | a 1, b 2
          deployed, and then first named  | start a 1; rest b 1; ran b | a 1 b 2 | WARN application b: declared ... revision 2 ... berth rollback b | a 1, b 2
          # what the file names no longer
          it is deleted                   | start a 1 b 1 | a 1 | WARN application b: revision 2 is deleted | a 1
          and can come back               | start a 1 b 1; start a 1 | a 1 b 1 | INFO application b: declared | a 1, b 1
          and go and come back again      | start a 1 b 1; start a 1; start a 1 b 1; start a 1; start a 1 | a 1 b 1 | INFO application b: declared | a 1, b 1
          gone once, it is told once      | start a 1 b 1; start a 1 | a 1 | | a 1
          it stays if a command spoke     | start a 1 b 1; rest b 2 | a 1 | WARN application b: revision 3 stays | a 1, b 2
          told once too                   | start a 1 b 1; rest b 2; start a 1; rest b 1 | a 1 | | a 1, b 1
          nor if another file names it    | start a 1 b 1; other b 1 | a 1 | WARN application b: revision 2 stays | a 1, b 1
          what no file names              | rest a 1 | | | a 1
          """)
  void aRowOfTheTable(
      String rule,
      String before,
      @Nullable String file,
      @Nullable String told,
      @Nullable String wanted) {
    Stream.of(before.split("; ")).forEach(this::carryOut);

    start(file == null ? new String[0] : file.split(" "));

    if (told == null) {
      nothingIsDone();
    } else {
      String[] levelAndText = told.split(" ", 2);
      said(Level.valueOf(levelAndText[0]), levelAndText[1].split(" \\.\\.\\. "));
    }
    assertThat(state.applications().stream().map(StartRulesTest::shown).collect(joining(", ")))
        .isEqualTo(wanted == null ? "" : wanted);
  }

  private void carryOut(String step) {
    String[] words = step.split(" ");
    String name = words[1];
    switch (words[0]) {
      case "start" -> start(step.substring("start ".length()).split(" "));
      case "rest" -> rest(name, words[2]);
      case "file" -> deploy(name, words[2], LastApplied.START);
      case "other" -> deploy(name, words[2], ANOTHER);
      case "ran" -> ran(name);
      case "failed" -> failed(name);
      case "back" -> doneIfAny(rollback(name));
      case "delete" -> doneIfAny(state.delete(name));
      default -> throw new AssertionError(step);
    }
  }

  private static String shown(DesiredApplication each) {
    String wanted = each.wanted().digest();
    String serves = each.serving().digest();
    return each.name() + " " + wanted + (serves.equals(wanted) ? "" : " (" + serves + " serves)");
  }

  @Test
  void whereNothingIsKeptEverythingIsDeclared() {
    start("a", "1", "b", "1");

    assertThat(last.declared).containsOnlyKeys("a", "b");
    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("1", "1", null));
  }

  @Test
  void whatTheFileSaidLastIsKnownWhetherItIsDeclaredOrWasKnownAlready() {
    start("a", "1");
    start("a", "2");
    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("2", "2", null));
    ran("a");
    rest("a", "3");
    ran("a");
    doneIfAny(rollback("a"));
    start("a", "3");
    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("3", "3", null));
  }

  @Test
  void anUnchangedFileLeavesARollbackAloneAndAScale() {
    start("a", "1");
    ran("a");
    deploy("a", "2", LastApplied.START);
    ran("a");
    doneIfAny(rollback("a"));
    doneIfAny(state.scale("a", "d", 3));

    start("a", "2"); // as it was deployed

    nothingIsDone();
    runs("a", "1");
    assertThat(application("a").scales()).containsEntry("d", 3);
  }

  @Test
  void theFileOfAnEarlierDeployIsKnownWhenAnInstanceStartsWithIt() {
    deploy("a", "1", FILE);
    deploy("b", "1", FILE);

    start("a", "2");

    runs("a", "2");
    assertThat(deleted).containsExactly("b");
    assertThat(last.lines.get(0).level()).as("the file alone moved").isEqualTo(Level.INFO);
  }

  @Test
  void fileOfAnEarlierDeployIsUnknownOnceSomethingElseWasSubmitted() {
    deploy("a", "1", FILE);
    ran("a");
    start("a", "1");
    nothingIsDone();
    deploy("b", "1", FILE);
    rest("b", "2");
    ran("b");

    start("a", "1", "b", "1");

    runs("b", "1");
    said(Level.WARN, "application b: declared", "revision 3", "berth rollback b restores it");
    doneIfAny(rollback("b"));
    start("a", "1", "b", "1");
    nothingIsDone();
  }

  @Test
  void applicationThatAnotherFileNamesTooIsThatFilesWhenTheStartsLeavesItOut() {
    start("a", "1", "b", "1");
    deploy("b", "1", ANOTHER);

    start("a", "1");

    assertThat(state.goes("b", ANOTHER, false)).isTrue();
    assertThat(state.goes("b", LastApplied.START, false)).isFalse();
  }

  @Test
  void aFileThatSaysNothingOfApplicationsDeletesNone() {
    start("a", "1");

    carryOut(
        new StartupMerge(
            state, DeclareMode.CHANGED, new ConfigOrigin(FILE, false, List.of()), null));

    nothingIsDone();
    start();
    assertThat(state.applications()).as("an empty list").isEmpty();
  }

  // --- what cannot be declared ---

  @Test
  void anEntryThatCannotBeUsedLeavesTheKeptOneAndIsLookedAtAgain() {
    start("a", "1", "b", "1");
    StartupMerge rules = rules(null, "a", "2", "b", "1");
    rules.refuse("a", "a.jar: does not exist");

    carryOut(rules);

    runs("a", "1");
    said(Level.ERROR, "a.jar: does not exist", "revision 1 stays stored, and serves");
    assertThat(state.lastApplied("a"))
        .as("nothing was said")
        .isEqualTo(new LastApplied("1", "1", null));
    start("a", "2", "b", "1");
    runs("a", "2");
    said(Level.INFO, "application a: declared");
  }

  @Test
  void anEntryThatCannotBeUsedAndOfWhichNothingIsKeptFailsAlone() {
    start("a", "1");
    StartupMerge rules = rules(null, "a", "1", "b", "1");
    rules.refuse("b", "import_path: missing");

    carryOut(rules);

    said(Level.ERROR, "application b: import_path: missing", "it is DEPLOY_FAILED");
    assertThat(last.failed).containsExactly(Map.entry("b", "import_path: missing"));
    assertThat(state.lastApplied("b")).isEqualTo(LastApplied.NOTHING);
  }

  @Test
  void anEntryWithoutANameMayBeAnyOfThem() {
    start("a", "1", "b", "1");
    ConfigProblem problem =
        new ConfigProblem("shop.yaml", 1, 2, "applications[1].name", "3", "a string");
    ConfigOrigin origin =
        new ConfigOrigin(
            FILE, true, List.of(new ConfigOrigin.RefusedEntry(null, List.of(problem))));
    StartupMerge rules = new StartupMerge(state, DeclareMode.CHANGED, origin, null);
    rules.says("a", wanted("1"));

    carryOut(rules);

    runs("b", "1");
    said(Level.ERROR, "shop.yaml:1:2: applications[1].name: 3", "nothing deleted");
  }

  @Test
  void aRouteThatIsTakenByWhatStaysIsRefused() {
    start("a", "1@/a");
    rest("r", "1@/r");

    start("a", "2@/r", "c", "1@/r");

    runs("a", "1@/a");
    assertThat(last.failed).containsOnlyKeys("c");
    assertThat(last.lines).allMatch(line -> line.level() == Level.ERROR).hasSize(2);
    assertThat(last.lines.get(0).text())
        .contains("route_prefix: \"/r\" (expected: unique; application r");
  }

  @Test
  void routeOfAnEarlierRevisionThatServesIsFreeAsForADeploy() {
    start("a", "1@/a");
    ran("a");
    start("a", "bad@/b");
    failed("a");

    start("a", "bad@/b", "c", "1@/a");

    runs("c", "1@/a");
    DeclaredApplication.FailedRevision instead = state.declared(application("a")).failed();
    assertThat(instead).extracting(DeclaredApplication.FailedRevision::routePrefix).isEqualTo("/b");
  }

  @Test
  void whoCannotMoveKeepsItsRouteFromOthers() {
    start("a", "1@/a", "b", "1@/b");
    rest("r", "1@/r");

    start("a", "2@/r", "b", "2@/a");

    runs("a", "1@/a");
    runs("b", "1@/b");
    assertThat(last.lines).hasSize(2);
  }

  @Test
  void routesMayChangePlacesAndComeFromWhatIsDeleted() {
    start("a", "1@/a", "b", "1@/b", "c", "1@/c");

    start("a", "2@/b", "b", "2@/c");

    runs("a", "2@/b");
    runs("b", "2@/c");
    assertThat(state.find("c")).isNull();
  }

  // --- the capacity ---

  private void startWith(@Nullable Double capacity) {
    carryOut(rules(capacity));
  }

  private void put(@Nullable Double capacity) {
    doneIfAny(state.deploy(Map.of(), capacity, null, true, 1));
  }

  @Test
  void theCapacityHasTheSameRows() {
    startWith(50.0);
    assertThat(state.head.targetCapacity()).isEqualTo(50);
    put(60.0);

    startWith(50.0);
    nothingIsDone();
    assertThat(state.head.targetCapacity()).as("set since").isEqualTo(60);
    startWith(60.0);
    nothingIsDone();
    startWith(70.0);
    said(Level.INFO, "target_capacity: declared", "the file sets 70.0");
    put(80.0);
    startWith(90.0);
    said(Level.WARN, "target_capacity", "sets 90.0", "80.0", "--set target_capacity=80.0");
    startWith(null);
    said(Level.WARN, "target_capacity: 90.0 is deleted");
    assertThat(state.head.targetCapacity()).isNull();
    startWith(50.0);
    put(60.0);
    startWith(null);
    said(Level.WARN, "target_capacity: 60.0 stays");
    assertThat(state.head.targetCapacity()).isEqualTo(60);
    startWith(50.0);
    put(null);
    startWith(50.0);
    said(Level.WARN, "target_capacity: stays deleted");
    assertThat(state.head.targetCapacity()).isNull();
  }

  @Test
  void aFileThatSaysNothingOfWhatIsServedLeavesTheCapacity() {
    startWith(50.0);

    carryOut(
        new StartupMerge(
            state, DeclareMode.CHANGED, new ConfigOrigin(FILE, false, List.of()), null));

    nothingIsDone();
    assertThat(state.head.targetCapacity()).isEqualTo(50);
    assertThat(state.head.lastCapacity()).isEqualTo(new LastApplied("50.0", "50.0", null));
  }

  // --- all ---

  @Test
  void allDeclaresWhateverTheFileSays() {
    start("a", "1", "b", "1", "c", "1");
    rest("a", "2");
    ran("a");
    doneIfAny(state.delete("b"));
    rest("r", "1");
    StartupMerge rules = new StartupMerge(state, DeclareMode.ALL, ORIGIN, 50.0);
    all("a", "1", "b", "1", "c", "1").forEach(rules::says);

    carryOut(rules);

    runs("a", "1");
    runs("b", "1");
    runs("r", "1");
    assertThat(application("c").revision()).as("it is wanted already").isEqualTo(3);
    assertThat(last.lines.get(0).level()).isEqualTo(Level.WARN);
    assertThat(last.lines.get(0).text()).contains("revision 4", "berth rollback a");
    assertThat(state.head.targetCapacity()).isEqualTo(50);
  }

  // --- whatever came before ---

  /** The same file twice: the second start does nothing, whatever came before the first. */
  @Test
  void aSecondStartWithTheSameFileChangesNothing() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int i = 0; i < 2_000; i++) {
      step(random);
      String[] says = file(random);
      Double capacity = capacity(random);
      carryOut(rules(capacity, says));
      List<DesiredApplication> before = List.copyOf(state.applications());
      Double had = state.head.targetCapacity();

      carryOut(rules(capacity, says));

      assertThat(List.copyOf(state.applications()))
          .as("seed %d, step %d", seed, i)
          .isEqualTo(before);
      assertThat(state.head.targetCapacity()).isEqualTo(had);
      step(random);
      before = List.copyOf(state.applications());
      had = state.head.targetCapacity();
      boolean refusedBefore = last.lines.stream().anyMatch(l -> l.level() == Level.ERROR);
      carryOut(rules(capacity, says));
      if (!refusedBefore) { // a route may be free by now
        assertThat(List.copyOf(state.applications()))
            .as("what a command did is not undone: seed %d, step %d", seed, i)
            .isEqualTo(before);
        assertThat(state.head.targetCapacity()).isEqualTo(had);
      }
    }
  }

  private String[] file(Random random) {
    Map<String, String> says = new LinkedHashMap<>();
    Set<String> routes = new HashSet<>();
    for (int left = random.nextInt(4); left > 0; left--) {
      String word = word(random);
      String prefix = wanted(word).routePrefix();
      String name = name(random);
      if (!says.containsKey(name) && (prefix == null || routes.add(prefix))) {
        says.put(name, word);
      }
    }
    return says.entrySet().stream()
        .flatMap(each -> Stream.of(each.getKey(), each.getValue()))
        .toArray(String[]::new);
  }

  /** A command, and not one of the start's own file: that would say something else than it does. */
  private void step(Random random) {
    String name = name(random);
    String word = word(random);
    String file = random.nextBoolean() ? null : ANOTHER;
    DesiredApplication there = state.find(name);
    switch (random.nextInt(6)) {
      case 0 -> doneIfAny(state.deploy(all(name, word), capacity(random), file, true, 1));
      case 1 -> doneIfAny(there == null ? null : state.delete(name));
      case 2 -> {
        DesiredApplication.EarlierRevision before = there == null ? null : there.before();
        if (before != null && isFree(before.wanted().routePrefix(), name)) {
          doneIfAny(rollback(name));
        }
      }
      case 3 -> {
        if (there != null) {
          ran(name);
        }
      }
      default -> {
        if (isFree(wanted(word).routePrefix(), name)) {
          deploy(name, word, file);
        }
      }
    }
  }

  private boolean isFree(@Nullable String prefix, String name) {
    String other = prefix == null ? null : state.other(prefix, "");
    return other == null || other.equals(name);
  }

  private static String name(Random random) {
    return "app" + random.nextInt(4);
  }

  private static String word(Random random) {
    int word = random.nextInt(4);
    return random.nextBoolean() ? "" + word : word + "@/" + random.nextInt(3);
  }

  private static @Nullable Double capacity(Random random) {
    return random.nextBoolean() ? null : (double) random.nextInt(3);
  }
}
