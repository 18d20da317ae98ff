import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Measures what {@link Groups} names and holds it against the budgets, or against another jar.
 * Started by {@code run.sh}.
 *
 * <p>Arguments: berth.jar, a work folder, the commit, and then {@code --quick}, {@code
 * --only=GROUP,...}, {@code --starts=N}, {@code --rounds=N}, {@code --slice=MILLISECONDS}, {@code
 * --before=JAR}. Exit code 1 when an answer was wrong, a budget is missed or a row is worse, 2 for
 * wrong arguments.
 *
 * <p>A quick run leaves out the groups of {@link Groups#SECONDARY} unless {@code --only} names
 * them; a full run measures them in its first start only.
 */
public final class LoadTests {
  private static final String START = "start";
  private static final String IDLE = "idle";
  private static final Path QUICKSTART = Path.of("conf/quickstart.yaml");

  private final Path jar;
  private final Path work;
  private final String commit;
  private boolean quick;
  private Plan plan = Plan.full();
  private Optional<Path> before = Optional.empty();
  private List<String> only = List.of();

  private LoadTests(Path jar, Path work, String commit) {
    this.jar = jar;
    this.work = work;
    this.commit = commit;
  }

  public static void main(String[] args) throws Exception {
    LoadTests tests = new LoadTests(Path.of(args[0]), Path.of(args[1]), args[2]);
    int code;
    try {
      tests.read(Arrays.asList(args).subList(3, args.length));
      code = tests.run() ? 0 : 1;
    } catch (IllegalArgumentException wrong) {
      System.err.println(wrong.getMessage());
      code = 2;
    } catch (InterruptedException interrupted) {
      code = 130;
    }
    System.exit(code);
  }

  private void read(List<String> options) {
    quick = options.contains("--quick");
    plan = quick ? Plan.quick() : Plan.full();
    for (String option : options) {
      String value = option.substring(option.indexOf('=') + 1);
      if (option.startsWith("--only=")) {
        only = List.of(value.split(","));
      } else if (option.startsWith("--before=")) {
        before = Optional.of(Path.of(value));
      } else if (option.startsWith("--starts=")) {
        plan = plan.starts(positive(option, value));
      } else if (option.startsWith("--rounds=")) {
        plan = plan.rounds(positive(option, value));
      } else if (option.startsWith("--slice=")) {
        plan = plan.sliceMillis(positive(option, value));
      } else if (!option.equals("--quick")) {
        throw new IllegalArgumentException(
            option
                + " (expected: --quick, --only=GROUP,..., --starts=N, --rounds=N,"
                + " --slice=MILLISECONDS or --before=JAR)");
      }
    }
  }

  private static int positive(String option, String value) {
    try {
      int number = Integer.parseInt(value);
      if (number > 0) {
        return number;
      }
    } catch (NumberFormatException notOne) {
      // Told below.
    }
    throw new IllegalArgumentException(option + " (expected: an integer >= 1)");
  }

  private boolean run() throws IOException, InterruptedException {
    Groups all = new Groups(work, quick);
    List<Group> groups = chosen(before.isPresent() ? all.besideBefore() : all.ofThisJar());
    int starts = only.isEmpty() || only.contains(START) ? quick ? 3 : 7 : 0;
    boolean idle = before.isEmpty() && (only.isEmpty() ? !quick : only.contains(IDLE));
    double planned = plan.seconds(groups) + 3.0 * starts + (idle ? Idle.seconds(quick) : 0);
    Progress progress = new Progress(planned);
    Machine machine = Machine.here(commit);
    System.out.println(machine.text());
    System.out.printf(
        "%d x %d rounds of slices of %d ms, about %.0f min%s%n%n",
        plan.starts(),
        plan.rounds(),
        plan.sliceMillis(),
        Math.ceil(planned / 60),
        quick ? "\nquick: one start, short slices. Left out: " + Groups.LEFT_OUT : "");
    Results results = new Results();
    List<String> failures = new ArrayList<>();
    Optional<StartUp.Ratios> startRatios = Optional.empty();
    List<Verdict> idleVerdicts = List.of();
    Optional<Servers> others = before.map(other -> new Servers(other, work.resolve("before")));
    try (Servers servers = new Servers(jar, work);
        SliceClient client = new SliceClient()) {
      for (int start = 0; start < plan.starts(); start++) {
        for (Group group : groups) {
          if (start > 0 && Groups.SECONDARY.contains(group.name())) {
            continue;
          }
          try {
            new GroupRun(group, plan, servers, others, work, client, progress).run(results);
          } catch (IOException failed) {
            servers.checkNotEnded();
            results.forget(group);
            failures.add(group.name() + ": " + failed.getMessage());
            progress.tell("FAILED: " + group.name() + ": " + failed.getMessage());
          }
        }
      }
      if (starts > 0) {
        try {
          startRatios = Optional.of(starts(servers, starts, progress));
        } catch (IOException failed) {
          failures.add(START + ": " + failed.getMessage());
        }
      }
      if (idle) {
        try {
          idleVerdicts = new Idle(servers, jar, work, quick, progress).verdicts();
        } catch (IOException failed) {
          servers.checkNotEnded();
          failures.add(IDLE + ": " + failed.getMessage());
        }
      }
    }
    Budgets budgets =
        new Budgets(results, startRatios, idleVerdicts, new JmhFigures(Path.of("target/jmh.json")));
    List<Verdict> verdicts =
        (before.isPresent() ? budgets.changes(groups) : budgets.all())
            .stream().filter(one -> only.isEmpty() || one.value().isPresent()).toList();
    Peers peers = new Peers(results, Path.of("load-tests/peers.json"));
    Report report =
        new Report(
            groups,
            results,
            verdicts,
            before.isPresent() ? Optional.empty() : Optional.of(peers),
            failures);
    System.out.println();
    System.out.println(report.text());
    boolean passed = failures.isEmpty() && verdicts.stream().noneMatch(Verdict::fails);
    String name = before.isPresent() ? "before" : "run";
    write(name, machine, report, startRatios, progress, passed);
    System.out.printf(
        "Took %.0f s. As JSON: %s; as Markdown: %s%n%s%n",
        progress.took(),
        work.resolve(name + ".json"),
        work.resolve(name + ".md"),
        passed ? "passed" : "FAILED");
    return passed;
  }

  private List<Group> chosen(List<Group> all) {
    List<String> names =
        new ArrayList<>(all.stream().map(Group::name).collect(Collectors.toList()));
    names.addAll(List.of(START, IDLE));
    for (String name : only) {
      if (!names.contains(name)) {
        throw new IllegalArgumentException("--only=" + name + " (expected: of " + names + ")");
      }
    }
    return all.stream()
        .filter(
            group ->
                only.isEmpty()
                    ? !quick || !Groups.SECONDARY.contains(group.name())
                    : only.contains(group.name()))
        .collect(Collectors.toList());
  }

  private StartUp.Ratios starts(Servers servers, int times, Progress progress) throws IOException {
    StartUp startUp = new StartUp(servers, work);
    if (before.isEmpty()) {
      return startUp.compare(
          StartUp.berth(jar, QUICKSTART), StartUp.raw(jar, work), "/echo", times, progress);
    }
    // The examples of one jar need not run with another: here it is a no-op.
    String text = Configuration.noOp(2, "event_loops").text();
    Path now = Files.writeString(work.resolve("start.yaml"), text);
    Path then = Files.writeString(work.resolve("before").resolve("start.yaml"), text);
    return startUp.compare(
        StartUp.berth(jar, now), StartUp.berth(before.get(), then), "/", times, progress);
  }

  private void write(
      String name,
      Machine machine,
      Report report,
      Optional<StartUp.Ratios> starts,
      Progress progress,
      boolean passed)
      throws IOException {
    JsonObject json =
        new JsonObject()
            .put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString())
            .put("commit", commit)
            .put("machine", machine.json().put("load_after", ProcessFigures.load()))
            .put("quick", quick)
            .put("starts", plan.starts())
            .put("rounds", plan.rounds())
            .put("slice_ms", plan.sliceMillis())
            .put("before", before.map(Path::toString).orElse(null))
            .put("took_s", Math.round(progress.took()))
            .put("passed", passed)
            .put("start_ms", starts.map(StartUp.Ratios::json).orElse(null))
            .mergeIn(report.json());
    Files.writeString(work.resolve(name + ".json"), json.encodePrettily() + "\n");
    Files.writeString(
        work.resolve(name + ".md"),
        json.getString("date")
            + "; "
            + machine.text().replace("\n", ". ")
            + ".\n\n"
            + report.markdown());
  }
}
