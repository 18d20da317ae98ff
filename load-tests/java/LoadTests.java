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
 * Measures what {@link Groups} names and holds it against the budgets. Started by {@code run.sh}.
 *
 * <p>Arguments: berth.jar, a work folder, the commit, and then {@code --quick}, {@code
 * --only=GROUP,...}, {@code --rounds=N}, {@code --seconds=N}. Exit code 1 when an answer was wrong
 * or a budget is missed, 2 for wrong arguments.
 */
public final class LoadTests {
  private static final String START = "start";

  private final Path jar;
  private final Path work;
  private final String commit;
  private boolean quick;
  private int rounds;
  private int seconds;
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
    for (String option : options) {
      String value = option.substring(option.indexOf('=') + 1);
      if (option.equals("--quick")) {
        quick = true;
      } else if (option.startsWith("--only=")) {
        only = List.of(value.split(","));
      } else if (option.startsWith("--rounds=")) {
        rounds = positive(option, value);
      } else if (option.startsWith("--seconds=")) {
        seconds = positive(option, value);
      } else {
        throw new IllegalArgumentException(
            option + " (expected: --quick, --only=GROUP,..., --rounds=N or --seconds=N)");
      }
    }
    rounds = rounds > 0 ? rounds : quick ? 2 : 5;
    seconds = seconds > 0 ? seconds : quick ? 1 : 4;
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
    List<Group> groups = chosen(new Groups(work, quick, rounds, seconds).all());
    int starts = only.isEmpty() || only.contains(START) ? quick ? 3 : 7 : 0;
    Progress progress = new Progress(groups, 2.0 * starts);
    Machine machine = Machine.here(commit);
    System.out.println(machine.text());
    System.out.printf(
        "%d round%s of %d s, about %.0f min%s%n%n",
        rounds,
        rounds == 1 ? "" : "s",
        seconds,
        Math.ceil(progress.plannedSeconds() / 60),
        quick
            ? "\nquick: too short to judge by, so that no budget fails the run. Left out: "
                + Groups.LEFT_OUT
            : "");
    Results results = new Results();
    List<String> failures = new ArrayList<>();
    Optional<Spread> startMillis = Optional.empty();
    try (Servers servers = new Servers(jar, work)) {
      for (Group group : groups) {
        try {
          new GroupRun(group, servers, work, progress).run(results);
        } catch (IOException failed) {
          servers.checkNotEnded();
          results.forget(group);
          failures.add(group.name() + ": " + failed.getMessage());
          progress.tell("FAILED: " + group.name() + ": " + failed.getMessage());
        }
        progress.finished(group);
      }
      if (starts > 0) {
        try {
          startMillis = Optional.of(starts(servers, starts, progress));
        } catch (IOException failed) {
          failures.add(START + ": " + failed.getMessage());
        }
      }
    }
    List<Verdict> budgets =
        new Budgets(results, startMillis, new JmhFigures(Path.of("target/jmh.json")))
            .all().stream()
                .filter(one -> only.isEmpty() || one.value().isPresent())
                .collect(Collectors.toList());
    Peers peers = new Peers(results, Path.of("load-tests/peers.json"));
    Report report = new Report(groups, results, budgets, peers, failures);
    System.out.println();
    System.out.println(report.text());
    boolean missed = budgets.stream().anyMatch(one -> one.state() == Verdict.State.FAIL);
    boolean passed = failures.isEmpty() && (quick || !missed);
    write(machine, report, startMillis, progress, passed);
    System.out.printf(
        "Took %.0f s. As JSON: %s; as Markdown: %s%n%s%n",
        progress.took(),
        work.resolve("run.json"),
        work.resolve("run.md"),
        passed ? "passed" : "FAILED");
    return passed;
  }

  private List<Group> chosen(List<Group> all) {
    List<String> names =
        new ArrayList<>(all.stream().map(Group::name).collect(Collectors.toList()));
    names.add(START);
    for (String name : only) {
      if (!names.contains(name)) {
        throw new IllegalArgumentException("--only=" + name + " (expected: of " + names + ")");
      }
    }
    return all.stream()
        .filter(group -> only.isEmpty() || only.contains(group.name()))
        .collect(Collectors.toList());
  }

  private Spread starts(Servers servers, int times, Progress progress) throws IOException {
    StartUp startUp = new StartUp(servers, jar, work);
    double[] millis = new double[times];
    for (int i = 0; i < times; i++) {
      millis[i] = startUp.millis();
      progress.tell(
          String.format("start: %d/%d, %.0f ms to the first 200", i + 1, times, millis[i]));
    }
    return Spread.of(millis);
  }

  private void write(
      Machine machine,
      Report report,
      Optional<Spread> startMillis,
      Progress progress,
      boolean passed)
      throws IOException {
    JsonObject json =
        new JsonObject()
            .put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString())
            .put("commit", commit)
            .put("machine", machine.json().put("load_after", ProcessFigures.load()))
            .put("quick", quick)
            .put("rounds", rounds)
            .put("seconds", seconds)
            .put("took_s", Math.round(progress.took()))
            .put("passed", passed)
            .put("start_ms", startMillis.map(Spread::json).orElse(null))
            .mergeIn(report.json());
    Files.writeString(work.resolve("run.json"), json.encodePrettily() + "\n");
    Files.writeString(
        work.resolve("run.md"),
        json.getString("date")
            + "; "
            + machine.text().replace("\n", ". ")
            + ".\n\n"
            + report.markdown());
  }
}
