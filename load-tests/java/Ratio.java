import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Measures servers in alternating rounds and prints each one's ratio to a raw server in the same
 * round. Arguments: berth.jar, a work folder, rounds, seconds of each measurement.
 */
public final class Ratio {
  private static final int CONNECTIONS = 64;
  private static final int WARM_UP_SECONDS = 6;
  private static final Duration START_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(20);
  private static final Pattern REQUESTS = Pattern.compile("(\\d+) requests in ([0-9.]+)(ms|s|m)");
  private static final Pattern ERRORS =
      Pattern.compile("Non-2xx or 3xx responses: \\d+|Socket errors: .*");

  /** Figures of one round: requests per second, server CPU in microseconds per request. */
  private record Sample(double perSecond, double cpuMicros) {}

  private final Path berthJar;
  private final Path work;
  private final int rounds;
  private final int seconds;
  private final List<Server> started = new ArrayList<>();
  private final List<String> rows = new ArrayList<>();

  private Ratio(Path berthJar, Path work, int rounds, int seconds) {
    this.berthJar = berthJar;
    this.work = work;
    this.rounds = rounds;
    this.seconds = seconds;
  }

  public static void main(String[] args) throws Exception {
    Ratio ratio =
        new Ratio(
            Path.of(args[0]),
            Path.of(args[1]),
            Integer.parseInt(args[2]),
            Integer.parseInt(args[3]));
    Thread stop = new Thread(ratio::stopAll);
    Runtime.getRuntime().addShutdownHook(stop);
    ratio.run();
  }

  private void run() throws Exception {
    String loadBefore = Files.readString(Path.of("/proc/loadavg")).split(" ")[0];
    System.out.printf(
        Locale.ROOT,
        "%d rounds of %d s for each server, %d connections, %d cores, Java %s%n"
            + "Load average before: %s (more than 0.5 means that others are at work here)%n%n",
        rounds,
        seconds,
        CONNECTIONS,
        Runtime.getRuntime().availableProcessors(),
        Runtime.version(),
        loadBefore);
    System.out.printf(
        "%-34s %28s %26s %20s %20s%n",
        "", "requests/s", "CPU us/request", "CPU ratio to raw", "rate ratio to raw");
    group(1, List.of(new Contender("routed, same loop", "single")));
    group(
        2,
        List.of(
            new Contender("routed, spread: event_loops", "event_loops"),
            new Contender("routed, one replica, other loop", "single")));
    String json =
        String.format(
            Locale.ROOT,
            "{\"at\": \"%s\", \"load_before\": %s, \"java\": \"%s\", \"cores\": %d, \"rounds\": %d,"
                + " \"seconds\": %d, \"connections\": %d, \"rows\": [%n  %s%n]}%n",
            Instant.now(),
            loadBefore,
            Runtime.version(),
            Runtime.getRuntime().availableProcessors(),
            rounds,
            seconds,
            CONNECTIONS,
            String.join(",\n  ", rows));
    Path file = work.resolve("ratio.json");
    Files.writeString(file, json);
    System.out.printf("%nAs JSON: %s%n", file);
  }

  private record Contender(String name, String spread) {}

  /** Servers with the same number of event loops, all up at once, measured in turn. */
  private void group(int loops, List<Contender> contenders) throws Exception {
    List<Server> servers = new ArrayList<>();
    for (Contender contender : contenders) {
      servers.add(berth(contender, loops));
    }
    for (Server server : servers) {
      measure(server, WARM_UP_SECONDS); // so that its request ids have grown to their length
    }
    HttpResponse<byte[]> sample = servers.get(0).get();
    Path headers = work.resolve("headers-" + loops + ".txt");
    Path body = work.resolve("body-" + loops + ".bin");
    List<String> lines = new ArrayList<>();
    sample
        .headers()
        .map()
        .forEach((name, values) -> values.forEach(value -> lines.add(name + ": " + value)));
    Files.write(headers, lines);
    Files.write(body, sample.body());
    Server raw = raw("raw", loops, headers, body);
    Server rawAgain = raw("raw again (A/A)", loops, headers, body);
    servers.add(0, rawAgain);
    servers.add(0, raw);
    measure(raw, WARM_UP_SECONDS);
    measure(rawAgain, WARM_UP_SECONDS);
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < servers.size(); i++) {
        // Each round starts with another server and every second one goes backwards.
        int place = (round + (round % 2 == 0 ? i : servers.size() - i)) % servers.size();
        Server server = servers.get(place);
        server.samples.add(measure(server, seconds));
      }
    }
    System.out.printf("%d event loop%s%n", loops, loops == 1 ? "" : "s");
    for (Server server : servers) {
      report(server, raw, loops);
    }
    stopAll();
  }

  // --- servers ---

  private static final class Server {
    final String name;
    final Process process;
    final URI uri;
    final List<Sample> samples = new ArrayList<>();

    Server(String name, Process process, URI uri) {
      this.name = name;
      this.process = process;
      this.uri = uri;
    }

    HttpResponse<byte[]> get() throws IOException, InterruptedException {
      return HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .build()
          .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofByteArray());
    }
  }

  private Server berth(Contender contender, int loops) throws Exception {
    int port = freePort();
    Path config = work.resolve("berth-" + loops + "-" + contender.spread + ".yaml");
    Files.writeString(
        config,
        String.join(
            "\n",
            "http_options: {host: 127.0.0.1, port: " + port + "}",
            "applications:",
            "  - name: no-op",
            "    route_prefix: /",
            "    import_path: NoOp:build",
            "    runtime_env: {jars: [no-op.jar]}",
            "    deployments:",
            "      - name: no-op",
            "        berth: {spread: " + contender.spread + "}",
            "berth:",
            "  event_loops: " + loops,
            "  admin: {port: 0}",
            ""));
    return start(contender.name, port, "-jar", berthJar.toString(), "run", config.toString());
  }

  private Server raw(String name, int loops, Path headers, Path body) throws Exception {
    int port = freePort();
    return start(
        name,
        port,
        "-cp",
        berthJar + ":" + work.resolve("classes"),
        "RawServer",
        String.valueOf(port),
        String.valueOf(loops),
        headers.toString(),
        body.toString());
  }

  private Server start(String name, int port, String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("java", "-Xms512m", "-Xmx512m"));
    command.addAll(Arrays.asList(arguments));
    Path log = work.resolve("server-" + port + ".log");
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    Server server = new Server(name, process, URI.create("http://127.0.0.1:" + port + "/"));
    synchronized (started) {
      started.add(server);
    }
    Instant giveUp = Instant.now().plus(START_TIMEOUT);
    while (true) {
      if (!process.isAlive() || Instant.now().isAfter(giveUp)) {
        throw new IOException(name + " does not serve; its log:\n" + Files.readString(log));
      }
      try {
        if (server.get().statusCode() == 200) {
          return server;
        }
      } catch (IOException notYet) {
        // It is not listening yet.
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
  }

  private void stopAll() {
    List<Server> all;
    synchronized (started) {
      all = List.copyOf(started);
      started.clear();
    }
    all.forEach(server -> server.process.destroy());
    for (Server server : all) {
      try {
        if (!server.process.waitFor(STOP_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
          server.process.destroyForcibly();
        }
      } catch (InterruptedException interrupted) {
        server.process.destroyForcibly();
      }
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  // --- measuring ---

  private Sample measure(Server server, int forSeconds) throws Exception {
    long before = cpuMicros(server);
    Process wrk =
        new ProcessBuilder(
                "wrk",
                "-t1",
                "-c" + CONNECTIONS,
                "-d" + forSeconds + "s",
                server.uri.toString())
            .redirectErrorStream(true)
            .start();
    String output;
    try (InputStream from = wrk.getInputStream()) {
      output = new String(from.readAllBytes(), StandardCharsets.UTF_8);
    }
    long cpu = cpuMicros(server) - before;
    Matcher found = REQUESTS.matcher(output);
    Matcher errors = ERRORS.matcher(output);
    if (wrk.waitFor() != 0 || !found.find() || errors.find()) {
      throw new IOException(server.name + ": wrk says:\n" + output);
    }
    long requests = Long.parseLong(found.group(1));
    double took = Double.parseDouble(found.group(2));
    return new Sample(requests / took, (double) cpu / requests);
  }

  /** User and system time of a process so far; the kernel counts in hundredths of a second. */
  private static long cpuMicros(Server server) throws IOException {
    String stat = Files.readString(Path.of("/proc/" + server.process.pid() + "/stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * 10_000;
  }

  // --- telling ---

  private record Spread(double median, double least, double most) {
    static Spread of(double[] values) {
      double[] sorted = values.clone();
      Arrays.sort(sorted);
      int middle = sorted.length / 2;
      double median =
          sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
      return new Spread(median, sorted[0], sorted[sorted.length - 1]);
    }

    String text(String format) {
      return String.format(
          Locale.ROOT, format + " (" + format + "-" + format + ")", median, least, most);
    }

    String json() {
      return String.format(
          Locale.ROOT, "{\"median\": %.4f, \"min\": %.4f, \"max\": %.4f}", median, least, most);
    }
  }

  private void report(Server server, Server raw, int loops) {
    Spread rate = spread(server, Sample::perSecond);
    Spread cpu = spread(server, Sample::cpuMicros);
    Spread cpuRatio = ratio(server, raw, Sample::cpuMicros);
    Spread rateRatio = ratio(server, raw, Sample::perSecond);
    boolean self = server == raw;
    System.out.printf(
        "  %-32s %28s %26s %20s %20s%n",
        server.name,
        rate.text("%.0f"),
        cpu.text("%.2f"),
        self ? "1" : cpuRatio.text("%.2f"),
        self ? "1" : rateRatio.text("%.2f"));
    rows.add(
        String.format(
            Locale.ROOT,
            "{\"loops\": %d, \"server\": \"%s\", \"requests_per_s\": %s, \"cpu_us_per_request\": %s,"
                + " \"cpu_ratio\": %s, \"rate_ratio\": %s}",
            loops,
            server.name,
            rate.json(),
            cpu.json(),
            cpuRatio.json(),
            rateRatio.json()));
  }

  private Spread spread(Server server, ToDoubleFunction<Sample> figure) {
    return Spread.of(server.samples.stream().mapToDouble(figure).toArray());
  }

  /** Round by round, so that what slows a whole round slows both sides of its ratio. */
  private Spread ratio(Server server, Server raw, ToDoubleFunction<Sample> figure) {
    double[] ratios = new double[server.samples.size()];
    for (int round = 0; round < ratios.length; round++) {
      ratios[round] =
          figure.applyAsDouble(server.samples.get(round))
              / figure.applyAsDouble(raw.samples.get(round));
    }
    return Spread.of(ratios);
  }
}
