import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Measures the cost of the model in a request: a relay that reads and rewrites it, beside a plain
 * relay of the same bytes by the same instance. Started by {@code models.sh}.
 *
 * <p>Arguments: berth.jar, the work folder, the commit, and {@code --quick} or nothing.
 */
public final class Models {
  private static final String PLAIN = "plain";
  private static final String AGAIN = "again";
  private static final String MODEL = "model";
  private static final String UPSTREAM = "upstream";
  private static final String BERTH = "berth";
  private static final int LARGE_BYTES = 10_000_000;

  private enum Work {
    UNARY("request of a chat, 1 KiB", "unary", 64, 1, 1.1, 200),
    LARGE("request of 10 MB", "unary", 2, 1, 1.3, LARGE_BYTES),
    EVENTS("event of a chat, flushed", "chat", 16, PlainUpstream.EVENTS, 1.1, 200);

    final String label;
    final String query;
    final int connections;
    final int operations;
    final double limit;
    final int bytes;

    Work(
        String label, String query, int connections, int operations, double limit, int bytes) {
      this.label = label;
      this.query = query;
      this.connections = connections;
      this.operations = operations;
      this.limit = limit;
      this.bytes = bytes;
    }

    Row row(String name) {
      String path = (name.equals(MODEL) ? "" : "/plain") + "/v1/chat/completions?" + query;
      String body =
          "{\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}],\"model\":\"small\"%s}"
              .formatted("m".repeat(bytes), query.equals("chat") ? ",\"stream\":true" : "");
      return Row.of(id(name), label, BERTH, Ask.post(path, body), connections)
          .counting(operations);
    }

    String id(String name) {
      return name() + "-" + name;
    }
  }

  private Models() {}

  public static void main(String[] args) {
    int code = 1;
    try {
      code = run(Path.of(args[0]), Path.of(args[1]), args[2], args.length > 3) ? 0 : 1;
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    System.exit(code); // ends the servers
  }

  private static boolean run(Path jar, Path work, String commit, boolean quick) throws Exception {
    Machine machine = Machine.here(commit);
    Plan plan = quick ? new Plan(1, 12, 50, 250, 5) : new Plan(2, 24, 150, 500, 12);
    Proxies proxies = new Proxies(jar, work);
    List<List<Row>> heats = new ArrayList<>();
    for (Work kind : Work.values()) {
      heats.add(List.of(kind.row(PLAIN), kind.row(AGAIN), kind.row(MODEL)));
    }
    List<ServerSpec> servers =
        List.of(
            new ServerSpec.Started(UPSTREAM, proxies::upstream),
            new ServerSpec.Started(BERTH, started -> proxies.models(started, BERTH)));
    Group group = new Group("models", "cost of a model", "request or event", servers, heats, "");
    Results results = new Results();
    Progress progress = new Progress(plan.starts() * plan.seconds(List.of(group)));
    try (Servers running = new Servers(jar, work);
        SliceClient client = new SliceClient()) {
      for (int start = 0; start < plan.starts(); start++) {
        progress.tell("start %d of %d".formatted(start + 1, plan.starts()));
        new GroupRun(group, plan, running, Optional.empty(), work, client, progress).run(results);
      }
    }
    Table table = new Table("work", "plain, CPU us", "by model, CPU us", "ratio", "A/A", "limit", "");
    boolean held = true;
    for (Work kind : Work.values()) {
      Spread plain = figure(results, kind.id(PLAIN));
      Spread model = figure(results, kind.id(MODEL));
      Spread ratio = ratio(results, kind, MODEL);
      Spread equal = ratio(results, kind, AGAIN);
      Verdict.State state = Claim.ratio(ratio, equal, kind.limit);
      held &= state != Verdict.State.MISSED;
      table.line(
          List.of(
              kind.label,
              plain.text(2),
              model.text(2),
              ratio.text(2),
              equal.text(2),
              String.valueOf(kind.limit),
              state.text));
    }
    String report = table.markdown() + "\n" + machine.text() + "\n";
    System.out.println("\n" + report);
    Files.writeString(work.resolve("upstreams/models.md"), report);
    return held;
  }

  private static Spread figure(Results results, String id) {
    return Spread.of(
        results.samples(id).stream().mapToDouble(Sample::cpuMicros).toArray());
  }

  private static Spread ratio(Results results, Work kind, String name) {
    return results.ratio(kind.id(name), kind.id(PLAIN), Sample::cpuMicros).orElseThrow();
  }
}
