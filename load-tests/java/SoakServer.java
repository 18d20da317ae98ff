import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The server under soak: its start, its admin port, its memory and its end. */
final class SoakServer {
  /** The heap is resident from the start: what grows then is not the heap filling up. */
  private static final List<String> JVM =
      List.of(
          Servers.java(),
          "-Xms192m",
          "-Xmx192m",
          "-XX:+AlwaysPreTouch",
          "-XX:MaxDirectMemorySize=64m");

  private static final Pattern STARTED = Pattern.compile(" started in \\d+ ms");
  private static final Pattern PORTS =
      Pattern.compile(" listens on 127\\.0\\.0\\.1:(\\d+), admin on 127\\.0\\.0\\.1:(\\d+)");
  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final Duration STOP_LIMIT = Duration.ofSeconds(40);
  private static final Pattern SAMPLE = Pattern.compile("(\\w+)(?:\\{[^}]*})? ([-+.\\w]+)");

  final Path log;
  final Process process;
  final int port;
  final URI admin;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  static {
    // So that no connection of this client is left when the server is to be at rest.
    System.setProperty("jdk.httpclient.keepalive.timeout", "2");
  }

  SoakServer(Servers servers, Path jar, Path work) throws IOException, InterruptedException {
    Path file = work.resolve("soak.yaml");
    Files.writeString(file, configuration());
    log = work.resolve("soak.log");
    List<String> command = new ArrayList<>(JVM);
    command.addAll(List.of("-jar", jar.toString(), "run", file.toString()));
    process = servers.launch(command, log);
    long giveUp = System.nanoTime() + START_LIMIT.toNanos();
    String text = "";
    while (!STARTED.matcher(text).find()) {
      if (!process.isAlive() || System.nanoTime() > giveUp) {
        throw new IOException("the server does not start; its log:\n" + text);
      }
      TimeUnit.MILLISECONDS.sleep(50);
      text = Files.readString(log);
    }
    Matcher ports = PORTS.matcher(text);
    if (!ports.find()) {
      throw new IOException("no ports in the log:\n" + text);
    }
    port = Integer.parseInt(ports.group(1));
    admin = URI.create("http://127.0.0.1:" + ports.group(2));
  }

  private static String configuration() {
    String applications =
        List.of("plain", "blocking", "streams", "choosing", "composed").stream()
            .map(
                name ->
                    String.join(
                        "\n",
                        "  - name: " + name,
                        "    route_prefix: /" + name,
                        "    import_path: SoakApps:" + name,
                        "    runtime_env: {jars: [handlers.jar]}",
                        name.equals("choosing")
                            ? "    deployments: [{name: worker, berth: {reservation_ttl_s: "
                                + SoakApps.RESERVATION_TTL.toSeconds()
                                + "}}]"
                            : ""))
            .collect(Collectors.joining("\n"));
    return String.join(
        "\n",
        "http_options: {host: 127.0.0.1, port: 0}",
        "applications:",
        applications,
        "berth:",
        "  event_loops: 2",
        // A busy machine may keep a thread from its core for longer than the default of 100 ms.
        "  blocked_loop_after_ms: 10000",
        "  limits:", // room for a stream on each of the clients' connections
        "    stream_window_bytes: 65536",
        "    stream_bytes_total: " + Soak.CONNECTIONS * 65536,
        "  admin: {host: 127.0.0.1, port: 0}",
        "");
  }

  // --- what it says of itself ---

  JsonObject ledger() throws IOException, InterruptedException {
    return new JsonObject(get("/api/v1/ledger"));
  }

  JsonArray replicas() throws IOException, InterruptedException {
    return ledger().getJsonArray("replicas");
  }

  /** Samples of /metrics, summed over their labels; a histogram's parts stand under their names. */
  Map<String, Double> metrics() throws IOException, InterruptedException {
    Map<String, Double> sums = new TreeMap<>();
    for (String line : get("/metrics").split("\n")) {
      Matcher sample = SAMPLE.matcher(line);
      if (sample.matches()) {
        sums.merge(sample.group(1), Double.valueOf(sample.group(2)), Double::sum);
      }
    }
    return sums;
  }

  private String get(String path) throws IOException, InterruptedException {
    HttpResponse<String> answer = send(HttpRequest.newBuilder(admin.resolve(path)));
    if (answer.statusCode() != 200) {
      throw new IOException(path + ": " + answer.statusCode() + " (expected: 200)");
    }
    return answer.body();
  }

  HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
    return client.send(
        request.timeout(Duration.ofSeconds(10)).build(), HttpResponse.BodyHandlers.ofString());
  }

  long residentKib() throws IOException {
    return ProcessFigures.residentKib(process.pid());
  }

  /** Bytes of the heap that are in use after a collection of all of it. */
  long liveHeapBytes() throws IOException, InterruptedException {
    jcmd("GC.run");
    Matcher used = Pattern.compile("used (\\d+)K").matcher(jcmd("GC.heap_info"));
    if (!used.find()) {
      throw new IOException("jcmd tells no heap");
    }
    return Long.parseLong(used.group(1)) * 1024;
  }

  private String jcmd(String command) throws IOException, InterruptedException {
    return ClientProcess.output(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
            String.valueOf(process.pid()),
            command));
  }

  /** SIGTERM; whether it ended by itself and well. */
  boolean stop() throws InterruptedException {
    process.destroy();
    return process.waitFor(STOP_LIMIT.toSeconds(), TimeUnit.SECONDS)
        && (process.exitValue() == 0 || process.exitValue() == 128 + 15);
  }
}
