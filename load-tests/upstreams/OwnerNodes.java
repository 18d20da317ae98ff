import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Three nodes on the loopback: the control node 0, and the workers 1 and 2.
 *
 * @param folder of the configurations, logs and pids
 */
record OwnerNodes(Path jar, Path folder, int firstPort, Process[] processes, HttpClient http) {
  private static final int LIMIT_SECONDS = 120; // for a start or an end
  private static final Pattern STARTED = Pattern.compile(" started in \\d+ ms|^started$");

  /** Number of slots of an upstream on a node, by the log. */
  record Owned(int node, int slots, boolean silent) {}

  OwnerNodes(Path jar, Path folder, int firstPort) {
    this(jar, folder, firstPort, new Process[3], HttpClient.newHttpClient());
  }

  int httpPort(int node) {
    return firstPort + 10 * node;
  }

  /** Starts a node, and waits until it serves. */
  void start(int node, String moveAfter) throws IOException, InterruptedException {
    Path log = folder.resolve("n%d-%d.log".formatted(node, System.currentTimeMillis()));
    List<String> command =
        List.of(
            Servers.java(),
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            "-jar",
            jar.toString(),
            "run",
            folder.resolve("n" + node + ".yaml").toString(),
            "--set",
            "berth.cluster.move_after_s=" + moveAfter);
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    processes[node] = builder.redirectOutput(log.toFile()).start();
    String pid = processes[node].pid() + "\n"; // for the script
    Files.writeString(
        folder.resolve("pids"), pid, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (Files.readString(log).lines().noneMatch(line -> STARTED.matcher(line).find())) {
      if (!processes[node].isAlive() || System.nanoTime() > giveUp) {
        throw new IOException("n" + node + " does not serve: " + log);
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
  }

  void signal(int node, String name) throws IOException, InterruptedException {
    ClientProcess.output(List.of("kill", "-" + name, String.valueOf(processes[node].pid())));
  }

  /** Sends a signal that ends the process of a node, and waits for its end. */
  void end(int node, String signal) throws IOException, InterruptedException {
    signal(node, signal);
    if (!processes[node].waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
      throw new IOException("n" + node + " does not end after SIG" + signal);
    }
  }

  /** Runs a command of {@code berth cluster}. */
  void cluster(String... words) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(Servers.java(), "-jar", jar.toString()));
    command.add("cluster");
    command.addAll(List.of(words));
    command.add("--address=http://127.0.0.1:" + (firstPort + 1));
    ClientProcess.output(command);
  }

  /** Sends a request to the admin server of the control node. */
  String ask(String method, String path, String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + (firstPort + 1) + path))
            .timeout(Duration.ofSeconds(10))
            .header("content-type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build();
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() >= 300) {
      throw new IOException(path + ": " + response.statusCode() + " " + response.body());
    }
    return response.body();
  }

  /** Returns the owners; none while the control node does not know them. */
  List<Owned> owners() throws InterruptedException {
    try {
      JsonObject cluster = new JsonObject(ask("GET", "/api/v1/cluster", ""));
      return cluster.getJsonArray("upstreams").stream()
          .map(JsonObject.class::cast)
          .map(OwnerNodes::owned)
          .toList();
    } catch (IOException | RuntimeException unknown) {
      return List.of();
    }
  }

  private static Owned owned(JsonObject owner) {
    int node = owner.getString("node").charAt(1) - '0';
    return new Owned(node, owner.getInteger("slots"), owner.getBoolean("silent"));
  }
}
