import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/** Starts the servers of a group, warms them, checks that they answer the same, and measures. */
final class GroupRun {
  /** Headers that the transport makes, not who answers. */
  private static final Set<String> FRAMING =
      Set.of("transfer-encoding", "content-length", "connection");

  /** That a deployment takes before it refuses one. */
  private static final int MAX_HELD = 16;

  private final Group group;
  private final Plan plan;
  private final Servers servers;
  private final Optional<Servers> before;
  private final Path work;
  private final SliceClient client;
  private final Progress progress;
  private final Map<String, Server> up = new HashMap<>();
  private final List<Socket> held = new ArrayList<>();

  /**
   * @param before servers of the jar that is compared with
   */
  GroupRun(
      Group group,
      Plan plan,
      Servers servers,
      Optional<Servers> before,
      Path work,
      SliceClient client,
      Progress progress) {
    this.group = group;
    this.plan = plan;
    this.servers = servers;
    this.before = before;
    this.work = work;
    this.client = client;
    this.progress = progress;
  }

  /** All rows in all rounds of one start; the servers are ended in any case. */
  void run(Results results) throws IOException, InterruptedException {
    try {
      // Those of Berth first: a raw one plays back what one of them answers.
      for (ServerSpec spec : group.servers()) {
        if (spec instanceof ServerSpec.Berth berth) {
          Servers of = berth.before() ? before.orElseThrow() : servers;
          up.put(spec.key(), of.berth(spec.key(), berth.configuration()));
          fill(up.get(spec.key()));
        } else if (spec instanceof ServerSpec.Started started) {
          up.put(spec.key(), started.start().with(servers));
        }
      }
      for (ServerSpec spec : group.servers()) {
        if (spec instanceof ServerSpec.Raw raw) {
          up.put(spec.key(), raw(raw));
        }
      }
      warm(results);
      for (List<Row> heat : group.heats()) {
        check(heat);
        rounds(heat, results);
      }
    } finally {
      for (Socket socket : held) {
        socket.close();
      }
      servers.close();
      before.ifPresent(Servers::close);
    }
  }

  /** Asks for what is never answered, until one is refused. */
  private void fill(Server server) throws IOException, InterruptedException {
    if (group.full().isEmpty()) {
      return;
    }
    Ask ask = Ask.get(group.full());
    URI uri = server.uri(ask.path());
    for (int i = 0; i < MAX_HELD; i++) {
      Socket socket = new Socket(uri.getHost(), uri.getPort());
      held.add(socket);
      socket.getOutputStream().write(ask.bytes(uri));
      socket.setSoTimeout(200);
      try {
        if (socket.getInputStream().read() >= 0) {
          return;
        }
      } catch (java.net.SocketTimeoutException unanswered) {
        // It runs, or waits.
      }
    }
    throw new IOException(ask.path() + " took " + MAX_HELD + " requests (expected: a 503)");
  }

  private Server raw(ServerSpec.Raw raw) throws IOException, InterruptedException {
    HttpResponse<byte[]> played = up.get(raw.playsBack()).answer(raw.ask());
    List<String> lines = new ArrayList<>();
    played
        .headers()
        .map()
        .forEach(
            (name, values) -> {
              if (!FRAMING.contains(name.toLowerCase(Locale.ROOT))) {
                values.forEach(value -> lines.add(name + ": " + value));
              }
            });
    Path headers = work.resolve("played-" + group.name() + "-" + raw.key() + ".headers");
    Path body = work.resolve("played-" + group.name() + "-" + raw.key() + ".body");
    Files.write(headers, lines);
    Files.write(body, played.body());
    List<String> arguments =
        new ArrayList<>(
            List.of(raw.kind(), String.valueOf(raw.loops()), headers.toString(), body.toString()));
    raw.certificate()
        .ifPresent(
            pem -> {
              arguments.add(pem.toString());
              arguments.add(pem.resolveSibling("key.pem").toString());
            });
    return servers.raw(raw.key(), raw.certificate(), arguments);
  }

  /**
   * Path of a server to warm: the server, the request, and the share of the JIT compilers in the
   * last slice.
   */
  private static final class Warmed {
    final Row row;
    final Connections connections;
    double share = 1;
    double seconds;

    Warmed(Row row, Connections connections) {
      this.row = row;
      this.connections = connections;
    }
  }

  /**
   * Sends short slices of requests to each path of each server in turn, until the JIT compilers
   * have little to do in one. Between two of its slices the compilers of a server work.
   */
  private void warm(Results results) throws IOException, InterruptedException {
    List<Warmed> all = new ArrayList<>();
    Set<String> distinct = new HashSet<>();
    long begun = System.nanoTime();
    try {
      for (Row row : group.rows()) {
        if (distinct.add(Plan.toWarm(row))) {
          all.add(new Warmed(row, client.open(up.get(row.server()), row)));
        }
      }
      List<Warmed> left = new ArrayList<>(all);
      double seconds = 0;
      for (int round = 0; !left.isEmpty() && seconds < plan.warmUpLimit(group); round++) {
        for (Warmed path : left) {
          warm(path);
        }
        seconds = (System.nanoTime() - begun) / 1e9;
        for (Warmed path : left) {
          path.seconds = seconds;
        }
        if (round >= Plan.LEAST_WARM_UPS - 1) {
          left.removeIf(path -> path.share < Plan.WARM);
        }
        TimeUnit.MILLISECONDS.sleep(left.isEmpty() ? 0 : plan.warmUpMillis());
      }
    } finally {
      all.forEach(path -> path.connections.close());
    }
    for (ServerSpec spec : group.servers()) {
      List<Warmed> own = all.stream().filter(path -> path.row.server().equals(spec.key())).toList();
      double share = own.stream().mapToDouble(path -> path.share).max().orElse(0);
      double took = own.stream().mapToDouble(path -> path.seconds).max().orElse(0);
      boolean reached = share < Plan.WARM;
      results.add(new Results.Warming(group.name(), spec.key(), took, 100 * share, reached));
      progress.tell(
          "%s: %s after %.0f s: %s, JIT %.1f %%"
              .formatted(
                  group.name(), reached ? "warm" : "NOT WARM", took, spec.key(), 100 * share));
    }
  }

  private void warm(Warmed path) throws IOException, InterruptedException {
    List<Process> processes = up.get(path.row.server()).processes();
    CpuTime before = CpuTime.of(processes);
    try {
      path.connections.ask(plan.warmUpMillis());
    } catch (IOException failed) {
      throw new IOException(path.row.name() + ", warming: " + failed.getMessage(), failed);
    }
    path.share = CpuTime.of(processes).compilerShareSince(before);
  }

  /** An answer that differs in more than its framing would make the comparison unfair. */
  private void check(List<Row> heat) throws IOException, InterruptedException {
    for (Row row : heat) {
      HttpResponse<byte[]> answer = up.get(row.server()).answer(row.ask());
      if (answer.statusCode() != row.ask().status()) {
        throw new IOException(
            "%s: status %d (expected: %d)"
                .formatted(row.name(), answer.statusCode(), row.ask().status()));
      }
      Optional<Row> base =
          heat.stream().filter(other -> row.baseline().equals(Optional.of(other.id()))).findFirst();
      if (base.isPresent() && raw(base.get())) {
        HttpResponse<byte[]> expected = up.get(base.get().server()).answer(base.get().ask());
        if (!Arrays.equals(answer.body(), expected.body())
            || !names(answer).equals(names(expected))) {
          throw new IOException(
              "%s answers %d bytes with %s, %s %d bytes with %s"
                  .formatted(
                      row.name(),
                      answer.body().length,
                      names(answer),
                      base.get().name(),
                      expected.body().length,
                      names(expected)));
        }
      }
    }
  }

  private boolean raw(Row row) {
    return group.servers().stream()
        .anyMatch(spec -> spec instanceof ServerSpec.Raw && spec.key().equals(row.server()));
  }

  private static Set<String> names(HttpResponse<byte[]> answer) {
    Set<String> names = new TreeSet<>();
    answer.headers().map().keySet().forEach(name -> names.add(name.toLowerCase(Locale.ROOT)));
    names.removeAll(FRAMING);
    return names;
  }

  private void rounds(List<Row> heat, Results results) throws IOException, InterruptedException {
    Map<Row, Connections> open = new HashMap<>();
    try {
      for (Row row : heat) {
        Connections connections = client.open(up.get(row.server()), row);
        open.put(row, connections);
        connections.ask(plan.sliceMillis(row)); // the first one opens what is opened late
      }
      for (int round = 0; round < plan.rounds(); round++) {
        for (int i = 0; i < heat.size(); i++) {
          Row row = heat.get(place(round, i, heat.size()));
          try {
            results.add(
                row, Sample.of(row, up.get(row.server()), open.get(row), plan.sliceMillis(row)));
          } catch (IOException failed) {
            throw new IOException(row.name() + ": " + failed.getMessage(), failed);
          }
        }
      }
    } finally {
      open.values().forEach(Connections::close);
    }
    for (Row row : heat) {
      row.baseline()
          .flatMap(base -> results.ratio(row.id(), base, Sample::cpuMicros))
          .ifPresent(
              ratio ->
                  progress.tell(
                      "%s: %s, c=%d: CPU %s of %s"
                          .formatted(
                              group.name(),
                              row.name(),
                              row.connections(),
                              ratio.text(2),
                              row.baseline().orElseThrow())));
    }
  }

  /**
   * Each round begins with another row, and after all have been first it goes backwards. So each
   * row is as often ahead as behind, and no row comes after itself, with its caches warm.
   */
  private static int place(int round, int step, int rows) {
    int forwards = round / rows % 2 == 0 ? 1 : -1;
    return Math.floorMod(forwards * (round + step), rows);
  }
}
