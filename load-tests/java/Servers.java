import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Starts servers on free ports of the loopback, each in a JVM of its own with the same options and
 * the {@link Probe}, and ends them: the ones it started and no others, also when it is interrupted.
 */
final class Servers implements AutoCloseable {
  /**
   * The same for all; the heap is a server's and not the machine's. All compiler threads exist from
   * the start to the end, so that the run time of each can be read at any time.
   */
  static final List<String> JVM_OPTIONS =
      List.of("-Xms512m", "-Xmx512m", "-XX:-UseDynamicNumberOfCompilerThreads");

  private static final Duration START_TIMEOUT = Duration.ofSeconds(60);
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(20);
  private static final long POLL_MILLIS = 20;
  private static final Pattern PORT = Pattern.compile("(?<!admin) listens on \\S*:(\\d+)");
  private static final Pattern ADMIN = Pattern.compile("admin on \\S*:(\\d+)");
  private static final Pattern TRIAL_PORT = Pattern.compile("\\b74\\d\\d\\b");
  private static final Pattern PROBE = Pattern.compile("probe on port (\\d+)");
  private static final Pattern STARTED =
      Pattern.compile(" started in \\d+ ms|^started$", Pattern.MULTILINE);

  private final Path jar;
  private final Path work;
  private final List<Process> processes = new ArrayList<>();
  private boolean ended;
  private int files;

  /**
   * @param jar berth.jar
   * @param work where configurations and logs are written, and where probe.jar, handlers.jar and
   *     classes are
   */
  Servers(Path jar, Path work) {
    this.jar = jar;
    this.work = work;
    Runtime.getRuntime().addShutdownHook(new Thread(this::end, "stop-servers"));
  }

  /** {@code java -jar berth.jar run} of a configuration, see {@link Configuration}. */
  Server berth(String name, Configuration configuration) throws IOException, InterruptedException {
    return berth(name, configuration, "");
  }

  /**
   * The same with more of it.
   *
   * @param instance lines that follow those of {@code berth}
   */
  Server berth(String name, Configuration configuration, String instance)
      throws IOException, InterruptedException {
    Path file = work.resolve(fileName(name) + ".yaml");
    Files.writeString(file, configuration.text() + instance);
    return start(
        name, configuration.certificate(), List.of("-jar", jar.toString(), "run", file.toString()));
  }

  /** {@link RawServer} with its arguments. */
  Server raw(String name, Optional<Path> certificate, List<String> arguments)
      throws IOException, InterruptedException {
    List<String> command =
        new ArrayList<>(List.of("-cp", jar + ":" + work.resolve("classes"), "RawServer"));
    command.addAll(arguments);
    return start(name, certificate, command);
  }

  /** A JVM with these arguments, whose log has the lines of {@link RawServer} or of Berth. */
  Server java(String name, List<String> arguments) throws IOException, InterruptedException {
    return start(name, Optional.empty(), arguments);
  }

  /** The example that a user starts first, on free ports of the loopback. */
  Server quickstart(String name) throws IOException, InterruptedException {
    List<String> command =
        new ArrayList<>(List.of("-jar", jar.toString(), "run", "conf/quickstart.yaml"));
    command.addAll(List.of("--host=127.0.0.1", "--port=0", "--admin-port=0", "--ephemeral"));
    command.addAll(List.of("--set", "berth.event_loops=2"));
    return start(name, Optional.empty(), command);
  }

  /** Nodes as {@code berth cluster init} creates them, on free ports; the control node is first. */
  List<Server> cluster(String name, int nodes, int loops) throws IOException, InterruptedException {
    Path folder = work.resolve(fileName(name)).toAbsolutePath();
    command("cluster", "init", folder.toString(), "--nodes=" + nodes);
    Map<String, String> free = new HashMap<>();
    List<Server> all = new ArrayList<>();
    for (int node = 1; node <= nodes; node++) {
      Path file = folder.resolve("n" + node + ".yaml");
      String text = Files.readString(file).replaceAll("port: 8\\d+", "port: 0");
      Files.writeString(file, TRIAL_PORT.matcher(text).replaceAll(at -> free(free, at.group())));
      all.add(
          start(
              name + " n" + node,
              Optional.empty(),
              List.of(
                  "-jar",
                  jar.toString(),
                  "run",
                  file.toString(),
                  "--set",
                  "berth.event_loops=" + loops)));
    }
    return all;
  }

  private static String free(Map<String, String> free, String port) {
    return free.computeIfAbsent(
        port,
        key -> {
          try {
            return String.valueOf(StartUp.freePort());
          } catch (IOException none) {
            throw new UncheckedIOException(none);
          }
        });
  }

  /**
   * A node that is asked for what another node serves: a no-op with one replica. The cost is that
   * of both.
   */
  Server remote(String name) throws IOException, InterruptedException {
    return remote(
        name,
        """
        applications:
          - name: remote
            route_prefix: /
            import_path: NoOp:process
            runtime_env: {jars: ['%s']}
        """
            .formatted(work.resolve("handlers.jar").toAbsolutePath()));
  }

  /**
   * The same for other applications.
   *
   * @param applications a configuration whose {@code /} responds with the id of its process
   */
  Server remote(String name, String applications) throws IOException, InterruptedException {
    List<Server> nodes = cluster(name, 2, 1);
    Path file = work.resolve(fileName(name) + ".yaml");
    Files.writeString(file, applications);
    command(
        "deploy",
        file.toString(),
        "--wait",
        "--address=http://127.0.0.1:" + nodes.get(0).adminPort());
    String serving = new String(nodes.get(0).get("/").body(), StandardCharsets.US_ASCII).trim();
    boolean first = serving.equals(String.valueOf(nodes.get(0).processes().get(0).pid()));
    return first ? nodes.get(1).with(nodes.get(0)) : nodes.get(0).with(nodes.get(1));
  }

  /** Runs a command of berth to its end. */
  private void command(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(java(), "-jar", jar.toString()));
    command.addAll(List.of(arguments));
    Path log = work.resolve(fileName(arguments[0]) + ".log");
    if (launch(command, log).waitFor() != 0) {
      throw new IOException(String.join(" ", command) + ":\n" + Files.readString(log));
    }
  }

  private Server start(String name, Optional<Path> certificate, List<String> arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(java()));
    command.addAll(JVM_OPTIONS);
    command.add("-javaagent:" + work.resolve("probe.jar"));
    command.addAll(arguments);
    Path log = work.resolve(fileName(name) + ".log");
    Process process = launch(command, log);
    Instant giveUp = Instant.now().plus(START_TIMEOUT);
    String text = "";
    while (!STARTED.matcher(text).find()) {
      if (!process.isAlive() || Instant.now().isAfter(giveUp)) {
        throw new IOException(name + " does not serve; its log:\n" + text);
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
      text = Files.readString(log);
    }
    return new Server(
        name,
        List.of(process),
        number(PORT, text),
        ADMIN.matcher(text).find() ? number(ADMIN, text) : 0,
        List.of(number(PROBE, text)),
        certificate);
  }

  /** A process that is ended with the others; its output goes to the log. */
  Process launch(List<String> command, Path log) throws IOException {
    synchronized (processes) {
      if (ended) {
        throw new IOException("interrupted");
      }
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
      processes.add(process);
      return process;
    }
  }

  static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }

  /** A name for files: unique in the run. */
  private synchronized String fileName(String name) {
    return "server-" + files++ + "-" + name.replaceAll("[^A-Za-z0-9]+", "-");
  }

  private static int number(Pattern pattern, String text) throws IOException {
    Matcher found = pattern.matcher(text);
    if (!found.find()) {
      throw new IOException("no \"" + pattern + "\" in the log:\n" + text);
    }
    return Integer.parseInt(found.group(1));
  }

  /** Fails when this process is about to end: what it measures then is cut short. */
  void checkNotEnded() throws InterruptedException {
    synchronized (processes) {
      if (ended) {
        throw new InterruptedException();
      }
    }
  }

  private void end() {
    synchronized (processes) {
      ended = true;
    }
    close();
  }

  /** Ends what was started so far; more may be started afterwards. */
  @Override
  public void close() {
    List<Process> all;
    synchronized (processes) {
      all = List.copyOf(processes);
      processes.clear();
    }
    all.forEach(Process::destroy);
    for (Process process : all) {
      try {
        if (!process.waitFor(STOP_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
          process.destroyForcibly();
        }
      } catch (InterruptedException interrupted) {
        process.destroyForcibly();
      }
    }
  }
}
