import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.ToDoubleBiFunction;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * Measures the cost of Berth in front of an upstream, beside nginx and a direct connection. Started
 * by {@code upstreams.sh}.
 *
 * <p>Arguments: berth.jar, the work folder, the commit, Envoy's program or "", and {@code --quick}
 * or nothing.
 */
public final class Upstreams {
  /** CPU microseconds of nginx for a 1 KiB response on the machine of the budgets. */
  private static final double NGINX_US = 14.4;

  private static final double UNARY_US = 20;
  private static final double UNARY_GOAL_US = 14;
  private static final double EVENT_US = 2;
  private static final double EVENT_GOAL_US = 1;
  private static final double FIRST_BYTE_MS = 0.3;

  private static final String DIRECT = "direct";
  private static final String BERTH = "berth";
  private static final String AGAIN = "again";
  private static final String NGINX = "nginx";
  private static final String ENVOY = "envoy";
  private static final String SCALE = "scale";
  private static final int MANY = 64;
  private static final int STREAMS = 16;

  /** Kind of work: one row for each server. */
  private enum Work {
    MANY_UNARY("1 KiB", "/unary", MANY, 1),
    ONE_UNARY("1 KiB", "/unary", 1, 1),
    EVENTS("event of a stream, flushed", "/events", STREAMS, PlainUpstream.EVENTS),
    PACED("event of a stream, one each ms", "/paced", STREAMS, PlainUpstream.EVENTS);

    final String label;
    final Ask ask;
    final int connections;
    final int operations;

    Work(String label, String path, int connections, int operations) {
      this.label = label;
      this.ask = Ask.get(path);
      this.connections = connections;
      this.operations = operations;
    }

    String id(String server) {
      return name() + "-" + server;
    }
  }

  private final Proxies proxies;
  private final Path work;
  private final Plan plan;
  private final Optional<Path> envoy;
  private final Results results = new Results();

  private Upstreams(Path jar, Path work, Plan plan, Optional<Path> envoy) {
    this.proxies = new Proxies(jar, work);
    this.work = work;
    this.plan = plan;
    this.envoy = envoy;
  }

  public static void main(String[] args) {
    int code = 1;
    try {
      Path jar = Path.of(args[0]);
      Path work = Path.of(args[1]);
      boolean quick = args.length > 4 && args[4].equals("--quick");
      Plan plan = quick ? new Plan(1, 10, 50, 250, 5) : new Plan(2, 16, 150, 500, 12);
      Optional<Path> envoy = args[3].isEmpty() ? Optional.empty() : Optional.of(Path.of(args[3]));
      code = new Upstreams(jar, work, plan, envoy).run(jar, args[2], quick) ? 0 : 1;
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    System.exit(code); // ends the servers
  }

  private boolean run(Path jar, String commit, boolean quick)
      throws IOException, InterruptedException {
    Machine machine = Machine.here(commit);
    Group group = group();
    double seconds = plan.starts() * plan.seconds(List.of(group)) + OpenStreams.SECONDS;
    Progress progress = new Progress(seconds);
    String memory;
    try (Servers servers = new Servers(jar, work);
        SliceClient client = new SliceClient()) {
      for (int start = 0; start < plan.starts(); start++) {
        progress.tell("start %d of %d".formatted(start + 1, plan.starts()));
        new GroupRun(group, plan, servers, Optional.empty(), work, client, progress).run(results);
      }
      progress.tell("memory");
      memory = new OpenStreams(proxies, servers, quick).table();
    }
    List<Verdict> verdicts = verdicts();
    String report = report(machine, verdicts, memory, progress);
    System.out.println("\n" + report);
    Files.writeString(work.resolve("upstreams/upstreams.md"), report);
    Report rounds = new Report(List.of(group), results, verdicts, Optional.empty(), List.of());
    Files.writeString(work.resolve("upstreams/upstreams.json"), rounds.json().encodePrettily());
    return verdicts.stream().noneMatch(Verdict::fails);
  }

  // --- rows ---

  private Group group() {
    List<ServerSpec> servers = new ArrayList<>();
    servers.add(new ServerSpec.Started(DIRECT, proxies::upstream));
    servers.add(new ServerSpec.Started(BERTH, started -> proxies.berth(started, BERTH)));
    servers.add(new ServerSpec.Started(AGAIN, started -> proxies.berth(started, AGAIN)));
    servers.add(new ServerSpec.Started(NGINX, started -> proxies.nginx(started, NGINX)));
    envoy.ifPresent(
        program ->
            servers.add(
                new ServerSpec.Started(ENVOY, started -> proxies.envoy(started, ENVOY, program))));
    List<List<Row>> heats = new ArrayList<>();
    for (Work kind : Work.values()) {
      List<Row> heat = new ArrayList<>();
      for (ServerSpec server : servers) {
        heat.add(row(kind, server.key()));
      }
      if (kind != Work.MANY_UNARY) { // nginx in the same rounds
        heat.add(
            Row.of(
                kind.id(SCALE), "scale", NGINX, Work.MANY_UNARY.ask, Work.MANY_UNARY.connections));
      }
      heats.add(heat);
    }
    return new Group("upstreams", "cost of a proxy", "response or event", servers, heats, "");
  }

  private static Row row(Work kind, String server) {
    Row row =
        Row.of(kind.id(server), kind.label, server, kind.ask, kind.connections)
            .counting(kind.operations);
    return server.equals(BERTH) ? row.against(kind.id(NGINX)) : row;
  }

  // --- verdicts ---

  private List<Verdict> verdicts() {
    Spread unary = scaled(Work.MANY_UNARY, NGINX);
    Spread unaryEqual =
        results
            .ratio(id(Work.MANY_UNARY, AGAIN), id(Work.MANY_UNARY, BERTH), Sample::cpuMicros)
            .orElseThrow();
    Spread event = scaled(Work.EVENTS, SCALE);
    Spread eventEqual =
        results
            .ratio(id(Work.EVENTS, AGAIN), id(Work.EVENTS, BERTH), Sample::cpuMicros)
            .orElseThrow();
    Spread first = firstByte(BERTH, DIRECT);
    Spread firstEqual = firstByte(AGAIN, BERTH);
    return List.of(
        verdict("unary", "1 KiB response, c=64: CPU us", unary, unaryEqual, UNARY_US, true),
        verdict("unary-goal", "the same, goal", unary, unaryEqual, UNARY_GOAL_US, false),
        verdict("event", "streamed event: CPU us", event, eventEqual, EVENT_US, true),
        verdict("event-goal", "the same, goal", event, eventEqual, EVENT_GOAL_US, false),
        new Verdict(
            "first-byte",
            "first byte, c=1: added p50 in ms",
            first.text(3),
            "<= " + FIRST_BYTE_MS,
            firstEqual.text(3),
            Claim.difference(first, firstEqual, FIRST_BYTE_MS),
            Optional.of(first)));
  }

  private static Verdict verdict(
      String id, String label, Spread measured, Spread equal, double atMost, boolean budget) {
    Verdict.State state = Claim.ratio(measured, equal, atMost);
    if (!budget && state == Verdict.State.MISSED) {
      state = Verdict.State.NOT_MET;
    }
    return new Verdict(
        id, label, measured.text(2), "<= " + atMost, equal.text(2), state, Optional.of(measured));
  }

  private static String id(Work kind, String server) {
    return kind.id(server);
  }

  /** Returns Berth's CPU time as it would be where nginx takes {@link #NGINX_US}. */
  private Spread scaled(Work kind, String nginx) {
    return byRound(kind, nginx, Sample::cpuMicros, (berth, scale) -> berth / scale * NGINX_US);
  }

  private Spread byRound(
      Work kind,
      String scale,
      ToDoubleFunction<Sample> figure,
      ToDoubleBiFunction<Double, Double> value) {
    List<Sample> berth = results.samples(kind.id(BERTH));
    List<Sample> nginx = results.samples(kind.id(scale));
    return Spread.of(
        IntStream.range(0, berth.size())
            .mapToDouble(
                round ->
                    value.applyAsDouble(
                        figure.applyAsDouble(berth.get(round)), nginx.get(round).cpuMicros()))
            .toArray());
  }

  /** Returns the difference of two p50 at one connection in ms, scaled as CPU times are. */
  private Spread firstByte(String server, String base) {
    List<Sample> ones = results.samples(Work.ONE_UNARY.id(server));
    List<Sample> others = results.samples(Work.ONE_UNARY.id(base));
    List<Sample> scale = results.samples(Work.ONE_UNARY.id(SCALE));
    return Spread.of(
        IntStream.range(0, ones.size())
            .mapToDouble(
                round ->
                    (ones.get(round).p50Micros() - others.get(round).p50Micros())
                        / 1e3
                        * NGINX_US
                        / scale.get(round).cpuMicros())
            .toArray());
  }

  // --- report ---

  private String report(Machine machine, List<Verdict> verdicts, String memory, Progress progress) {
    Table rows =
        new Table(
            "work", "c", "server", "CPU us", "user", "ratio to nginx", "p50 ms", "p99 ms", "per s");
    for (Work kind : Work.values()) {
      List<String> servers = new ArrayList<>(List.of(DIRECT, BERTH, AGAIN, NGINX));
      envoy.ifPresent(program -> servers.add(ENVOY));
      for (String server : servers) {
        String id = kind.id(server);
        rows.line(
            List.of(
                kind.label,
                String.valueOf(kind.connections),
                label(server),
                figure(id, Sample::cpuMicros).text(2),
                Spread.number(results.userMicros(id), 2),
                server.equals(DIRECT) || server.equals(NGINX)
                    ? ""
                    : results.ratio(id, kind.id(NGINX), Sample::cpuMicros).orElseThrow().text(2),
                Spread.number(figure(id, Sample::p50Micros).median() / 1e3, 3),
                Spread.number(figure(id, Sample::p99Micros).median() / 1e3, 2),
                figure(id, Sample::perSecond).middle(0)));
      }
    }
    Table claims =
        new Table("budget, where nginx takes " + NGINX_US + " us", "measured", "A/A", "limit", "");
    for (Verdict verdict : verdicts) {
      claims.line(
          List.of(
              verdict.what(),
              verdict.measured(),
              verdict.noise(),
              verdict.limit(),
              verdict.state().text));
    }
    StringBuilder text = new StringBuilder();
    text.append(rows.markdown()).append('\n').append(claims.markdown()).append('\n');
    text.append(memory).append('\n');
    text.append(
        "%d starts, %d rounds each, slices of %d ms; took %.0f s%n%s%n"
            .formatted(
                plan.starts(), plan.rounds(), plan.sliceMillis(), progress.took(), machine.text()));
    for (Results.Warming warming : results.warmings()) {
      if (!warming.reached()) {
        text.append(
            "%s was not warm: JIT compilers %.1f %%%n"
                .formatted(warming.server(), warming.compilerPercent()));
      }
    }
    // While the proxies are idle: Sample counts the upstream's work for a proxy as that of others.
    double others = results.mean(Work.MANY_UNARY.id(DIRECT), Sample::otherCores);
    text.append("Cores in use by others: %.2f%n".formatted(others));
    return text.toString();
  }

  private Spread figure(String id, ToDoubleFunction<Sample> figure) {
    return results.spread(id, figure).orElseThrow();
  }

  private static String label(String server) {
    return switch (server) {
      case DIRECT -> "none (the upstream's own cost)";
      case BERTH -> "Berth";
      case AGAIN -> "Berth again (A/A)";
      default -> server;
    };
  }
}
