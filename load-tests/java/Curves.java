import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Throughput and latency over concurrency (closed loop, wrk) and over the offered rate (open loop,
 * {@link PacedClient}), of Berth and of a raw Vert.x server that returns the same bytes.
 *
 * <p>Arguments: berth.jar, a work folder, {@code full} or {@code quick}, the commit. Writes
 * curves.json to the work folder: each figure of each round, nothing left out.
 */
public final class Curves {
  private static final int WARM_UP_CONNECTIONS = 64;
  private static final int OPEN_CONNECTIONS = 256;

  /** How much is measured. */
  private record Extent(
      int rounds,
      int warmUpSeconds,
      int closedSeconds,
      double openSeconds,
      List<Integer> connections,
      List<Integer> connectionsOfTwoLoops,
      List<Double> shares) {
    static Extent of(String name) {
      return switch (name) {
        case "full" ->
            new Extent(
                3,
                5,
                2,
                2.0,
                IntStream.rangeClosed(0, 12).mapToObj(power -> 1 << power).toList(),
                List.of(1, 8, 64, 512, 4096),
                List.of(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95));
        case "quick" ->
            new Extent(
                1,
                2,
                1,
                1.0,
                List.of(1, 8, 64, 512, 4096),
                List.of(1, 64, 4096),
                List.of(0.05, 0.2, 0.5, 0.8, 0.95));
        default -> throw new IllegalArgumentException(name + " (expected: full or quick)");
      };
    }
  }

  private final Path work;
  private final Servers servers;
  private final Extent extent;
  private final JsonArray closed = new JsonArray();
  private final JsonArray open = new JsonArray();
  private final Map<String, Double> saturations = new LinkedHashMap<>();
  private final List<String> failures = new ArrayList<>();
  private final long begun = System.nanoTime();

  private Curves(Path jar, Path work, Extent extent) {
    this.work = work;
    this.servers = new Servers(jar, work);
    this.extent = extent;
  }

  public static void main(String[] args) throws Exception {
    Path work = Path.of(args[1]);
    JsonObject about =
        new JsonObject()
            .put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString())
            .put("commit", args[3])
            .put("extent", args[2])
            .put("machine", Machine.here(args[3]).json());
    Curves curves = new Curves(Path.of(args[0]), work, Extent.of(args[2]));
    boolean whole = curves.run(about);
    Path file = work.resolve("curves.json");
    Files.writeString(file, about.encodePrettily() + "\n");
    System.out.printf("%nAs JSON: %s%n", file);
    System.exit(whole ? 0 : 1);
  }

  /** False when a point has no figure. */
  private boolean run(JsonObject about) throws Exception {
    try (servers) {
      List<Server> pair = pair(1, "single", "Berth, same loop");
      closedLoop(pair, 1, extent.connections);
      openLoop(pair);
      servers.close();
      closedLoop(
          pair(2, "event_loops", "Berth, spread over the loops"), 2, extent.connectionsOfTwoLoops);
    }
    about
        .put("rounds", extent.rounds)
        .put("closed_seconds", extent.closedSeconds)
        .put("open_seconds", extent.openSeconds)
        .put("open_connections", OPEN_CONNECTIONS)
        .put("saturation_per_s", new JsonObject(new LinkedHashMap<>(saturations)))
        .put("closed", closed)
        .put("open", open)
        .put("failed", new JsonArray(failures));
    failures.forEach(failure -> System.out.println("FAILED " + failure));
    return closed.stream().noneMatch(point -> figures(point, "requests_per_s").isEmpty())
        && open.stream().noneMatch(point -> figures(point, "runs").isEmpty());
  }

  private static JsonArray figures(Object point, String name) {
    return ((JsonObject) point).getJsonArray(name);
  }

  // --- servers ---

  /** Berth, and a raw server that plays back what Berth answers; both up and warm. */
  private List<Server> pair(int loops, String spread, String name) throws Exception {
    Server berth = servers.berth(name, Configuration.noOp(loops, spread));
    warmUp(berth); // also so that its request ids have grown to their length
    HttpResponse<byte[]> answer = berth.get("/");
    List<String> headers = new ArrayList<>();
    answer
        .headers()
        .map()
        .forEach((header, values) -> values.forEach(value -> headers.add(header + ": " + value)));
    Path headerFile = work.resolve("curves-headers-" + loops + ".txt");
    Path bodyFile = work.resolve("curves-body-" + loops + ".bin");
    Files.write(headerFile, headers);
    Files.write(bodyFile, answer.body());
    Server raw =
        servers.raw(
            "raw Vert.x",
            Optional.empty(),
            List.of("reply", String.valueOf(loops), headerFile.toString(), bodyFile.toString()));
    warmUp(raw);
    return List.of(raw, berth);
  }

  private void warmUp(Server server) throws Exception {
    say("warming %s", server.name());
    Wrk.run(server.uri("/"), WARM_UP_CONNECTIONS, extent.warmUpSeconds);
  }

  // --- closed loop ---

  private void closedLoop(List<Server> pair, int loops, List<Integer> connections) {
    Map<String, JsonObject> points = new LinkedHashMap<>();
    for (int round = 0; round < extent.rounds; round++) {
      for (int count : connections) {
        for (Server server : alternating(pair, round)) {
          JsonObject point =
              points.computeIfAbsent(
                  server.name() + count,
                  none ->
                      new JsonObject()
                          .put("server", server.name())
                          .put("loops", loops)
                          .put("connections", count)
                          .put("requests_per_s", new JsonArray())
                          .put("p50_ms", new JsonArray())
                          .put("p99_ms", new JsonArray()));
          try {
            Wrk.Load load = Wrk.run(server.uri("/"), count, extent.closedSeconds);
            if (load.requests() == 0) {
              throw new IOException("no answer in " + extent.closedSeconds + " s");
            }
            double rate = load.requests() / load.seconds();
            point.getJsonArray("requests_per_s").add(rounded(rate));
            point.getJsonArray("p50_ms").add(rounded(load.p50Micros() / 1e3));
            point.getJsonArray("p99_ms").add(rounded(load.p99Micros() / 1e3));
            say(
                "round %d, %d loop(s), %4d connections, %-30s %8.0f/s, p50 %.3f ms, p99 %.3f ms",
                round + 1,
                loops,
                count,
                server.name(),
                rate,
                load.p50Micros() / 1e3,
                load.p99Micros() / 1e3);
          } catch (IOException | InterruptedException failed) {
            failed(server.name() + ", " + count + " connections", failed);
          }
        }
      }
    }
    points.values().forEach(closed::add);
    if (loops == 1) {
      for (Server server : pair) {
        saturations.put(
            server.name(),
            points.values().stream()
                .filter(point -> point.getString("server").equals(server.name()))
                .mapToDouble(point -> median(point.getJsonArray("requests_per_s")))
                .max()
                .orElseThrow());
      }
    }
  }

  // --- open loop ---

  private void openLoop(List<Server> pair) throws IOException {
    double saturation = saturations.values().stream().min(Comparator.naturalOrder()).orElseThrow();
    Map<String, PacedClient> clients = new LinkedHashMap<>();
    for (Server server : pair) {
      PacedClient client =
          new PacedClient(
              new InetSocketAddress("127.0.0.1", server.port()), OPEN_CONNECTIONS, server.port());
      clients.put(server.name(), client);
      say("warming the open-loop client on %s", server.name());
      OpenLoop.measure(client, server.uri("/"), null, 0, extent.warmUpSeconds / 2.0);
    }
    Map<String, JsonObject> points = new LinkedHashMap<>();
    for (int round = 0; round < extent.rounds; round++) {
      for (double share : extent.shares) {
        for (Server server : alternating(pair, round)) {
          double rate = Math.rint(saturation * share / 100) * 100;
          PacedRun run =
              OpenLoop.measure(
                  clients.get(server.name()),
                  server.uri("/"),
                  Pace.constant(rate),
                  0.3,
                  extent.openSeconds);
          JsonObject point =
              points.computeIfAbsent(
                  server.name() + share,
                  none ->
                      new JsonObject()
                          .put("server", server.name())
                          .put("loops", 1)
                          .put("share_of_saturation", share)
                          .put("offered_per_s", rate)
                          .put("runs", new JsonArray()));
          if (run.errors() > 0) {
            failed(server.name() + ", " + rate + "/s", new IOException(run.errors() + " errors"));
          } else {
            point.getJsonArray("runs").add(new JsonObject(run.json(rate)));
          }
          say(
              "round %d, %6.0f/s offered, %-20s %8.0f/s, p50 %.3f ms, p99 %.3f ms%s",
              round + 1,
              rate,
              server.name(),
              run.achieved(),
              run.millis(50),
              run.millis(99),
              run.valid() ? "" : ", the client was late: not used");
        }
      }
    }
    for (PacedClient client : clients.values()) {
      client.close();
    }
    points.values().forEach(open::add);
  }

  // --- telling ---

  /** Every second round goes the other way. */
  private static List<Server> alternating(List<Server> pair, int round) {
    return round % 2 == 0 ? pair : List.of(pair.get(1), pair.get(0));
  }

  private void failed(String what, Exception why) {
    failures.add(what + ": " + why.getMessage());
    say("%s failed: %s", what, why.getMessage());
  }

  private void say(String format, Object... values) {
    System.out.printf(
        Locale.ROOT,
        "%5.0f s  %s%n",
        (System.nanoTime() - begun) / 1e9,
        String.format(Locale.ROOT, format, values));
  }

  private static double median(JsonArray values) {
    double[] sorted = values.stream().mapToDouble(each -> ((Number) each).doubleValue()).toArray();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    if (sorted.length == 0) {
      return 0;
    }
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  private static double rounded(double value) {
    return Math.rint(value * 1e4) / 1e4;
  }
}
