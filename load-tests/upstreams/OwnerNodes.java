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

/** Three nodes on the loopback: the control node 0, and the workers 1 and 2. */
final class OwnerNodes implements AutoCloseable {
  static final int NODES = 3;
  private static final int PORTS = 10; // of a node
  private static final Duration START_TIMEOUT = Duration.ofSeconds(120);
  private static final Duration REPLY_TIMEOUT = Duration.ofSeconds(10);
  private static final Pattern STARTED = Pattern.compile(" started in \\d+ ms|^started$");

  /** Number of slots of an upstream on a node, by the log. */
  record Owned(int node, int slots, boolean silent) {}

  private final Path jar;
  private final Path folder;
  private final int firstPort;
  private final Process[] processes = new Process[NODES];
  private final HttpClient http = HttpClient.newHttpClient();
  private int logs;

  OwnerNodes(Path jar, Path folder, int firstPort) {
    this.jar = jar;
    this.folder = folder.toAbsolutePath();
    this.firstPort = firstPort;
    Runtime.getRuntime().addShutdownHook(new Thread(this::close, "stop-nodes"));
  }

  int httpPort(int node) {
    return firstPort + node * PORTS;
  }

  /** Starts a node, and waits until it serves. */
  void start(int node, String moveAfter) throws IOException, InterruptedException {
    Path file = folder.resolve("n" + node + ".yaml");
    int ports = httpPort(node);
    int control = firstPort + 2;
    Files.writeString(
        file,
        """
        http_options: {host: 127.0.0.1, port: %d}
        berth:
          admin: {port: %d}
          state_dir: %s
          event_loops: 1
          cluster:
            name: owners
            node: n%d
            role: %s
            %s
            bind: 127.0.0.1
            insecure: true
            ports: {control: %d, data: %d, consensus: %d, https: %d, bus: %d}
            move_after_s: %s
        """
            .formatted(
                ports,
                ports + 1,
                folder.resolve("state" + node),
                node,
                node == 0 ? "control" : "worker",
                node == 0 ? "control: ['n0@127.0.0.1:%d']".formatted(ports + 4)
                    : "join: ['127.0.0.1:%d']".formatted(control),
                ports + 2,
                ports + 3,
                ports + 4,
                ports + 5,
                ports + 6,
                moveAfter));
    Path log = folder.resolve("n%d-%d.log".formatted(node, logs++));
    String[] command = {
      Servers.java(), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-jar", jar.toString(), "run",
      file.toString()
    };
    Process process = new ProcessBuilder(command).redirectErrorStream(true)
        .redirectOutput(log.toFile()).start();
    processes[node] = process;
    Files.writeString(
        folder.resolve("pids"), process.pid() + "\n",
        StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    long giveUp = System.nanoTime() + START_TIMEOUT.toNanos();
    while (Files.readString(log).lines().noneMatch(line -> STARTED.matcher(line).find())) {
      if (!process.isAlive() || System.nanoTime() > giveUp) {
        throw new IOException("n" + node + " does not serve: " + log);
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
  }

  /** Sends a signal to the process of a node. */
  void signal(int node, String name) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, String.valueOf(processes[node].pid())).start().waitFor();
  }

  /** Sends a signal that ends the process of a node, and waits for its end. */
  void end(int node, String signal) throws IOException, InterruptedException {
    signal(node, signal);
    if (!processes[node].waitFor(START_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
      throw new IOException("n" + node + " does not end after SIG" + signal);
    }
  }

  /** Runs a command of berth that waits for the controller. */
  void berth(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(Servers.java(), "-jar", jar.toString()));
    command.addAll(List.of(arguments));
    command.add("--address=http://127.0.0.1:" + (firstPort + 1));
    Path log = folder.resolve("commands.log");
    var output = ProcessBuilder.Redirect.appendTo(log.toFile());
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output).start();
    if (process.waitFor() != 0) {
      throw new IOException(String.join(" ", command) + ": " + Files.readString(log));
    }
  }

  String ask(String method, String path, String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + (firstPort + 1) + path))
            .timeout(REPLY_TIMEOUT)
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
      return new JsonObject(ask("GET", "/api/v1/cluster", ""))
          .getJsonArray("upstreams").stream()
              .map(JsonObject.class::cast)
              .map(
                  each ->
                      new Owned(
                          each.getString("node").charAt(1) - '0',
                          each.getInteger("slots"),
                          each.getBoolean("silent")))
              .toList();
    } catch (IOException | RuntimeException unknown) {
      return List.of();
    }
  }

  @Override
  public void close() {
    for (Process each : processes) {
      if (each != null) {
        each.destroyForcibly(); // also ends a stopped process
      }
    }
  }
}
