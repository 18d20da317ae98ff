import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToDoubleFunction;

/**
 * Measures the cost of the model in a request: a relay that reads and rewrites it, beside a plain
 * relay of the same bytes by the same instance, and on request beside LiteLLM and SMG. Started by
 * {@code models.sh}.
 *
 * <p>Arguments: berth.jar, the work folder, the commit, the folder of the gateways' programs or "",
 * and {@code --quick} or nothing.
 */
public final class Models {
  private static final String PLAIN = "plain";
  private static final String AGAIN = "again";
  private static final String MODEL = "model";
  private static final String DIRECT = "direct";
  private static final String BERTH = "berth";
  private static final String SMG = "smg";
  private static final String LITELLM = "litellm";
  private static final int LARGE_BYTES = 10_000_000;

  private enum Work {
    UNARY("request of a chat, 1 KiB", false, 64, 1, 1.1, 200),
    ONE("the same, one at a time", false, 1, 1, 1.1, 200),
    LARGE("request of 10 MB", false, 2, 1, 1.3, LARGE_BYTES),
    EVENTS("event of a chat, flushed", true, 16, PlainUpstream.EVENTS, 1.1, 200);

    final String label;
    final boolean streams;
    final int connections;
    final int operations;
    final double limit;
    final int bytes;

    Work(String label, boolean streams, int connections, int operations, double limit, int bytes) {
      this.label = label;
      this.streams = streams;
      this.connections = connections;
      this.operations = operations;
      this.limit = limit;
      this.bytes = bytes;
    }

    /** Returns the row of a relay by Berth, or of another server. */
    Row row(String name) {
      boolean plain = name.equals(PLAIN) || name.equals(AGAIN);
      String path = (plain ? "/plain" : "") + "/v1/chat/completions";
      String body =
          "{\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}],\"model\":\"m\"%s}"
              .formatted("m".repeat(bytes), streams ? ",\"stream\":true" : "");
      String lines = "Content-Type: application/json\r\nAuthorization: Bearer " + Gateways.KEY;
      String server = plain || name.equals(MODEL) ? BERTH : name;
      return Row.of(id(name), label, server, Ask.post(path, body).with(lines), connections)
          .counting(operations);
    }

    String id(String name) {
      return name() + "-" + name;
    }
  }

  private static final Set<Work> LIMITED = EnumSet.complementOf(EnumSet.of(Work.ONE));

  private final Path work;
  private final Plan plan;
  private final Map<String, String> others = new LinkedHashMap<>(); // labels by name
  private final Results results = new Results();

  private Models(Path work, Plan plan, boolean peers) {
    this.work = work;
    this.plan = plan;
    if (peers) {
      others.put(DIRECT, "none (the upstream's own cost)");
      others.put(SMG, "SMG 1.13.0");
      others.put(LITELLM, "LiteLLM 1.106.2, one worker");
    }
  }

  public static void main(String[] args) {
    int code = 1;
    try {
      boolean quick = args.length > 4;
      Plan plan = quick ? new Plan(1, 12, 50, 250, 40) : new Plan(2, 24, 150, 500, 60);
      Models models = new Models(Path.of(args[1]), plan, !args[3].isEmpty());
      code = models.run(Path.of(args[0]), args[2], Path.of(args[3])) ? 0 : 1;
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    System.exit(code); // ends the servers
  }

  private boolean run(Path jar, String commit, Path programs) throws Exception {
    Machine machine = Machine.here(commit);
    Group group = group(new Proxies(jar, work), programs);
    Progress progress = new Progress(plan.starts() * plan.seconds(List.of(group)));
    try (Servers running = new Servers(jar, work);
        SliceClient client = new SliceClient()) {
      for (int start = 0; start < plan.starts(); start++) {
        progress.tell("start %d of %d".formatted(start + 1, plan.starts()));
        new GroupRun(group, plan, running, Optional.empty(), work, client, progress).run(results);
      }
    }
    boolean held = true;
    Table table = new Table("work", "plain, CPU us", "by model, CPU us", "ratio", "A/A", "limit", "");
    for (Work kind : LIMITED) {
      Spread ratio = ratio(kind, MODEL, PLAIN);
      Spread equal = ratio(kind, AGAIN, PLAIN);
      Verdict.State state = Claim.ratio(ratio, equal, kind.limit);
      held &= state != Verdict.State.MISSED;
      table.line(
          List.of(
              kind.label,
              figure(kind, PLAIN, Sample::cpuMicros).text(2),
              figure(kind, MODEL, Sample::cpuMicros).text(2),
              ratio.text(2),
              equal.text(2),
              String.valueOf(kind.limit),
              state.text));
    }
    StringBuilder report = new StringBuilder(table.markdown()).append('\n');
    if (!others.isEmpty()) {
      report.append(peers().markdown()).append('\n');
    }
    report.append(machine.text()).append('\n');
    for (Results.Warming warming : results.warmings()) {
      if (!warming.reached()) {
        report.append(
            "%s was not warm: JIT compilers %.1f %%%n"
                .formatted(warming.server(), warming.compilerPercent()));
      }
    }
    System.out.println("\n" + report);
    Files.writeString(work.resolve("upstreams/models.md"), report);
    return held;
  }

  private Group group(Proxies proxies, Path programs) {
    List<ServerSpec> servers =
        new ArrayList<>(
            List.of(
                new ServerSpec.Started(DIRECT, proxies::upstream),
                new ServerSpec.Started(BERTH, started -> proxies.models(started, BERTH))));
    for (String name : others.keySet()) {
      if (!name.equals(DIRECT)) {
        servers.add(
            new ServerSpec.Started(name, started -> proxies.gateway(started, name, programs)));
      }
    }
    List<List<Row>> heats = new ArrayList<>();
    for (Work kind : others.isEmpty() ? LIMITED : EnumSet.allOf(Work.class)) {
      List<Row> heat = new ArrayList<>(List.of(kind.row(PLAIN), kind.row(AGAIN), kind.row(MODEL)));
      others.keySet().forEach(name -> heat.add(kind.row(name)));
      heats.add(heat);
    }
    return new Group("models", "cost of a model", "request or event", servers, heats, "");
  }

  /** Returns the figures of the gateways in the same rounds. */
  private Table peers() {
    Map<String, String> all = new LinkedHashMap<>(others);
    all.put(PLAIN, "Berth, plain");
    all.put(MODEL, "Berth, by model");
    Table table =
        new Table(
            "work", "c", "gateway", "CPU us", "ratio to Berth by model", "p50 ms", "added ms");
    for (Work kind : Work.values()) {
      for (Map.Entry<String, String> each : all.entrySet()) {
        String name = each.getKey();
        boolean paired = !name.equals(MODEL);
        table.line(
            List.of(
                kind.label,
                String.valueOf(kind.connections),
                each.getValue(),
                figure(kind, name, Sample::cpuMicros).text(1),
                paired ? ratio(kind, name, MODEL).text(2) : "",
                figure(kind, name, sample -> sample.p50Micros() / 1e3).text(3),
                name.equals(DIRECT) ? "" : added(kind, name).text(3)));
      }
    }
    return table;
  }

  private Spread added(Work kind, String name) {
    return results
        .difference(kind.id(name), kind.id(DIRECT), sample -> sample.p50Micros() / 1e3)
        .orElseThrow();
  }

  private Spread figure(Work kind, String name, ToDoubleFunction<Sample> figure) {
    return results.spread(kind.id(name), figure).orElseThrow();
  }

  private Spread ratio(Work kind, String name, String base) {
    return results.ratio(kind.id(name), kind.id(base), Sample::cpuMicros).orElseThrow();
  }
}
