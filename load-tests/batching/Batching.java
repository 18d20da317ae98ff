import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/**
 * Measures batches against their budgets, beside LitServe and Ray Serve. Started by {@code
 * batching.sh}.
 *
 * <p>Arguments: berth.jar, the work folder, the commit, the folder of the Python programs or "",
 * another berth.jar or "", and {@code --quick} or nothing.
 */
public final class Batching {
  private static final double ANSWERS_PER_SECOND = 1_550;
  private static final double ANSWERS_P99_MS = 45;
  private static final double EAGER_RATIO = 1.05;
  private static final double FULL_RATIO = 1.5;
  private static final double DIGITS_RATIO = 1 / 3.0;
  private static final int MANY = 64;

  private static final String BERTH = "Berth";
  private static final String AGAIN = "Berth again";
  private static final String REMOTE = "Berth, another node";
  private static final String REMOTE_AGAIN = "Berth, another node again";
  private static final String LITSERVE = "LitServe 0.2.19";
  private static final String RAY = "Ray Serve 2.60.0";

  private final Path jar;
  private final Path work;
  private final String programs;
  private final boolean quick;
  private final Optional<Path> before;
  private final BatchServers started;
  private final Results results = new Results();
  private final List<Verdict> verdicts = new ArrayList<>();
  private final StringBuilder report = new StringBuilder();
  private final Progress progress;

  private Batching(Path jar, Path work, String programs, Optional<Path> before, boolean quick) {
    this.jar = jar;
    this.work = work;
    this.programs = programs;
    this.before = before;
    this.quick = quick;
    this.started = new BatchServers(jar, work, programs);
    this.progress = new Progress((quick ? 100 : 240) + (before.isPresent() ? 120 : 0));
  }

  public static void main(String[] args) {
    int code = 1;
    try {
      Optional<Path> before = args[4].isEmpty() ? Optional.empty() : Optional.of(Path.of(args[4]));
      Batching batching =
          new Batching(Path.of(args[0]), Path.of(args[1]), args[3], before, args.length > 5);
      code = batching.run(args[2]) ? 0 : 1;
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    System.exit(code); // ends the servers
  }

  private boolean run(String commit) throws Exception {
    Machine machine = Machine.here(commit);
    digits();
    try (Servers servers = new Servers(jar, work);
        SliceClient client = new SliceClient()) {
      measure(noOps(), quick ? 1 : 2, 24, 100, servers, Optional.empty(), client);
      noOpVerdicts();
      measure(answers(), 1, quick ? 4 : 10, 1_000, servers, Optional.empty(), client);
      answerVerdicts();
      measure(remoteAnswers(), 1, quick ? 4 : 10, 1_000, servers, Optional.empty(), client);
      remoteAnswerLines();
      if (before.isPresent()) {
        try (Servers old = new Servers(before.get(), work)) {
          measure(costOne(), quick ? 1 : 2, 24, 100, servers, Optional.of(old), client);
          change("no-op", "no-op of cost 1, c=64: CPU to the other jar");
          double bytes = results.mean("no-op", Sample::wireBytes);
          count("bytes of its response", bytes, results.mean("no-op-before", Sample::wireBytes));
          new LinkBytes(servers, old, client, quick).measure().forEach(this::add);
        }
      }
    }
    Table claims = new Table("budget", "measured", "A/A", "limit", "");
    for (Verdict each : verdicts) {
      claims.line(
          List.of(each.what(), each.measured(), each.noise(), each.limit(), each.state().text));
    }
    report.append(claims.markdown()).append('\n').append(machine.text()).append('\n');
    report.append(String.format(Locale.ROOT, "Took %.0f s%n", progress.took()));
    System.out.println("\n" + report);
    Files.writeString(work.resolve("batching/batching.md"), report);
    return verdicts.stream().noneMatch(Verdict::fails);
  }

  private void measure(
      Group group,
      int starts,
      int rounds,
      int millis,
      Servers servers,
      Optional<Servers> old,
      SliceClient client)
      throws IOException, InterruptedException {
    Plan plan = new Plan(starts, rounds, millis, 250, programs.isEmpty() || group.name().equals("no-ops") ? 45 : 15);
    for (int start = 0; start < starts; start++) {
      progress.tell(group.name() + ", start " + (start + 1) + " of " + starts);
      new GroupRun(group, plan, servers, old, work, client, progress).run(results);
    }
  }

  // --- the work of 10 ms ---

  private Group answers() {
    Ask ask = Ask.post("/", "{\"x\":1}").with("Content-Type: application/json");
    Ask predict = Ask.post("/predict", "{\"x\":1}").with("Content-Type: application/json");
    List<ServerSpec> servers = new ArrayList<>();
    List<Row> heat = new ArrayList<>();
    servers.add(new ServerSpec.Started(BERTH, each -> started.work(each, "berth-work")));
    heat.add(Row.of(BERTH, BERTH, BERTH, ask, MANY));
    if (!programs.isEmpty()) {
      servers.add(
          new ServerSpec.Started(
              LITSERVE, each -> started.peer(each, "litserve", "litserve_peer.py", predict)));
      servers.add(
          new ServerSpec.Started(RAY, each -> started.peer(each, "ray", "ray_peer.py", ask)));
      heat.add(Row.of(LITSERVE, LITSERVE, LITSERVE, predict, MANY));
      heat.add(Row.of(RAY, RAY, RAY, ask, MANY));
    }
    heat.add(Row.of(AGAIN, BERTH, BERTH, ask, MANY));
    return new Group("answers", "10 ms for up to 16", "response", servers, List.of(heat), "");
  }

  /** The same of another node. */
  private Group remoteAnswers() {
    Ask ask = Ask.post("/", "{\"x\":1}").with("Content-Type: application/json");
    return new Group(
        "remote-answers",
        "10 ms for up to 16, of another node",
        "response",
        List.of(new ServerSpec.Started(REMOTE, each -> started.remoteWork(each, "remote-work"))),
        List.of(
            List.of(
                Row.of(REMOTE, REMOTE, REMOTE, ask, MANY),
                Row.of(REMOTE_AGAIN, REMOTE, REMOTE, ask, MANY))),
        "");
  }

  private void remoteAnswerLines() {
    Table table = new Table("the same of another node, c=64", "per s", "p50 ms", "p99 ms");
    for (String name : List.of(REMOTE, REMOTE_AGAIN)) {
      answerLine(table, name);
    }
    report.append(table.markdown()).append('\n');
  }

  private void answerLine(Table table, String name) {
    table.line(
        List.of(
            name,
            figure(name, Sample::perSecond).text(0),
            figure(name, each -> each.p50Micros() / 1e3).text(1),
            figure(name, each -> each.p99Micros() / 1e3).text(1)));
  }

  private void answerVerdicts() {
    Table table = new Table("10 ms for up to 16 requests, c=64", "per s", "p50 ms", "p99 ms");
    for (String name : List.of(BERTH, AGAIN, LITSERVE, RAY)) {
      if (results.row(name).isPresent()) {
        answerLine(table, name);
      }
    }
    report.append(table.markdown()).append('\n');
    Spread rate = figure(BERTH, Sample::perSecond);
    Spread p99 = figure(BERTH, each -> each.p99Micros() / 1e3);
    add(
        new Verdict(
            "answers",
            "10 ms for up to 16 requests, c=64: answers per s of 1 600",
            rate.text(0),
            ">= " + Spread.number(ANSWERS_PER_SECOND, 0),
            figure(AGAIN, Sample::perSecond).text(0),
            rate.median() >= ANSWERS_PER_SECOND ? Verdict.State.MET : Verdict.State.MISSED,
            Optional.of(rate)));
    add(
        new Verdict(
            "answers-p99",
            "the same: p99 ms",
            p99.text(1),
            "<= " + Spread.number(ANSWERS_P99_MS, 0),
            figure(AGAIN, each -> each.p99Micros() / 1e3).text(1),
            p99.median() <= ANSWERS_P99_MS ? Verdict.State.MET : Verdict.State.MISSED,
            Optional.of(p99)));
  }

  // --- no-ops ---

  private Group noOps() {
    String server = "no-ops";
    List<Row> one = new ArrayList<>();
    List<Row> many = new ArrayList<>();
    for (String path : List.of("plain", "again", "eager")) {
      one.add(Row.of(path + "-c1", path, server, Ask.get("/" + path), 1));
    }
    for (String path : List.of("plain", "again", "full")) {
      many.add(Row.of(path, path, server, Ask.get("/" + path), MANY));
    }
    return new Group(
        "no-ops",
        "no-ops in batches",
        "response",
        List.of(new ServerSpec.Started(server, each -> started.noOps(each, "no-ops"))),
        List.of(one, many),
        "");
  }

  private void noOpVerdicts() {
    Table table = new Table("no-op, one event loop", "c", "per s", "p50 us", "p99 us", "CPU us");
    for (String id : List.of("plain-c1", "eager-c1", "plain", "full")) {
      table.line(
          List.of(
              id.startsWith("plain") ? "unbatched" : id.equals("full") ? "batches of 16" : "eager",
              String.valueOf(results.row(id).orElseThrow().connections()),
              figure(id, Sample::perSecond).middle(0),
              figure(id, Sample::p50Micros).text(1),
              figure(id, Sample::p99Micros).text(0),
              figure(id, Sample::cpuMicros).text(1)));
    }
    report.append(table.markdown()).append('\n');
    ratio("eager, c=1: p50 to unbatched", "eager-c1", "-c1", Sample::p50Micros, EAGER_RATIO);
    ratio("batches of 16 no-ops, c=64: CPU to unbatched", "full", "", Sample::cpuMicros, FULL_RATIO);
  }

  private void ratio(
      String what, String id, String suffix, ToDoubleFunction<Sample> figure, double limit) {
    Spread measured = results.ratio(id, "plain" + suffix, figure).orElseThrow();
    Spread equal = results.ratio("again" + suffix, "plain" + suffix, figure).orElseThrow();
    add(what, measured, equal, limit);
  }

  private void add(String what, Spread measured, Spread equal, double limit) {
    add(
        new Verdict(
            what,
            what,
            measured.text(3),
            "<= " + Spread.number(limit, 2),
            equal.text(3),
            Claim.ratio(measured, equal, limit),
            Optional.of(measured)));
  }

  // --- digits ---

  private void digits() throws Exception {
    Table table = new Table("digits, CPU us per picture", "alone", "16 in a batch", "ratio", "A/A");
    for (boolean png : new boolean[] {false, true}) {
      progress.tell("digits " + (png ? "as PNG" : "as numbers"));
      DigitsCpu.DigitsFigures figures = DigitsCpu.measure(png, quick ? 15 : 41);
      table.line(
          List.of(
              png ? "PNG, decoded by the handler" : "64 numbers, as the ingress passes them on",
              figures.alone().text(1),
              figures.batched().text(1),
              figures.ratio().text(3),
              figures.equal().text(3)));
      if (!png) {
        add("digits, CPU per picture at 16, to alone", figures.ratio(), figures.equal(), DIGITS_RATIO);
      }
    }
    report.append(table.markdown()).append('\n');
  }

  // --- requests of cost 1 ---

  private static Group costOne() {
    Configuration noOp = Configuration.noOp(1, "single");
    List<ServerSpec> servers =
        List.of(
            new ServerSpec.Berth("before", noOp, true),
            new ServerSpec.Berth("this", noOp, false),
            new ServerSpec.Berth("before-again", noOp, true));
    Ask ask = Ask.get("/");
    List<Row> heat =
        List.of(
            Row.of("no-op-before", "no-op", "before", ask, MANY),
            Row.of("no-op", "no-op", "this", ask, MANY),
            Row.of("no-op-again", "no-op", "before-again", ask, MANY));
    return new Group("cost-1", "no-op of cost 1", "response", servers, List.of(heat), "");
  }

  private void change(String id, String what) {
    Spread measured = results.ratio(id, id + "-before", Sample::cpuMicros).orElseThrow();
    Spread equal = results.ratio(id + "-again", id + "-before", Sample::cpuMicros).orElseThrow();
    add(
        new Verdict(
            id,
            what,
            measured.text(3),
            "not worse",
            equal.text(3),
            Claim.change(measured, equal),
            Optional.of(measured)));
  }

  private void count(String what, double bytes, double other) {
    boolean equal = Math.round(bytes * 10) <= Math.round(other * 10); // as the table shows it
    add(
        new Verdict(
            what,
            what + ", to the other jar",
            Spread.number(bytes, 1),
            Spread.number(other, 1),
            "",
            equal ? Verdict.State.MET : Verdict.State.MISSED,
            Optional.empty()));
  }

  private void add(Verdict verdict) {
    verdicts.add(verdict);
    progress.tell(verdict.what() + ": " + verdict.measured() + ", " + verdict.state().text);
  }

  private Spread figure(String id, ToDoubleFunction<Sample> figure) {
    return results.spread(id, figure).orElseThrow();
  }
}
