package dev.berth.it;

import static java.util.Objects.requireNonNull;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** {@code java -jar berth.jar run FILE} on free ports. Ended when it is closed, in any case. */
final class Server implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Pattern PORTS =
      Pattern.compile(" listens on \\S+:(\\d+), admin on \\S+:(\\d+),");
  private static final Pattern STARTED = Pattern.compile(" started in (\\d+) ms");

  final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final Process process;
  private final List<String> output = new CopyOnWriteArrayList<>();
  private final CompletableFuture<Void> outputEnded;
  private int port;
  private int adminPort;

  private Server(Process process) {
    this.process = process;
    // Not on the common pool: with two cores it has one thread, which HttpClient of JDK 25 needs.
    this.outputEnded = CompletableFuture.runAsync(this::read, task -> new Thread(task).start());
  }

  /**
   * Starts one and waits until its applications run.
   *
   * @param options of the command; without any, it takes free ports of this machine. Those that
   *     begin with {@code -D} or {@code -X} are the JVM's; with one of {@code -X} it gets nothing
   *     of {@link ArchivedStart}
   */
  static Server start(Path config, String... options) throws IOException {
    Server server = launch(config, options);
    try {
      server.awaitStarted();
      return server;
    } catch (Throwable failed) {
      server.close();
      throw failed;
    }
  }

  void awaitStarted() {
    await("a started server", () -> prints(STARTED.asPredicate()));
    Matcher ports = PORTS.matcher(String.join("\n", output));
    if (!ports.find()) {
      throw new AssertionError("no ports in: " + output);
    }
    port = Integer.parseInt(ports.group(1));
    adminPort = Integer.parseInt(ports.group(2));
  }

  /** Starts one and does not wait, for those that cannot start. */
  static Server launch(Path config, String... options) throws IOException {
    Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    Path jar = Path.of(requireNonNull(System.getProperty("berth.jar"), "berth.jar: null"));
    List<String> command = new ArrayList<>(List.of(java.toString()));
    if (Stream.of(options).noneMatch(option -> option.startsWith("-X"))) {
      command.add("-ea:dev.berth..."); // and not where it is measured
      command.addAll(ArchivedStart.options(java, jar));
    }
    Stream.of(options).filter(Server::isOfTheJvm).forEach(command::add);
    List<String> own = Stream.of(options).filter(option -> !isOfTheJvm(option)).toList();
    return launch(command, jar, config, own);
  }

  /**
   * Starts one by a JVM that is told just what is given.
   *
   * @param own options of the command; without any, it takes free ports of this machine
   */
  static Server launch(List<String> java, Path jar, Path config, List<String> own)
      throws IOException {
    List<String> command = new ArrayList<>(java);
    command.addAll(List.of("-Xmx512m", "-jar", jar.toString(), "run", config.toString()));
    command.addAll(own.isEmpty() ? List.of("--host=127.0.0.1", "--port=0", "--admin-port=0") : own);
    return launch(new ProcessBuilder(command));
  }

  /** Starts a process of another command, and does not wait. */
  static Server launch(ProcessBuilder command) throws IOException {
    return new Server(command.redirectErrorStream(true).start());
  }

  private static boolean isOfTheJvm(String option) {
    return option.startsWith("-D") || option.startsWith("-X");
  }

  private void read() {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        output.add(line);
      }
    } catch (IOException ended) {
      output.add("(" + ended + ")"); // the process was destroyed
    }
  }

  int port() {
    return port;
  }

  int adminPort() {
    return adminPort;
  }

  List<String> output() {
    return output;
  }

  boolean prints(Predicate<String> line) {
    return output.stream().anyMatch(line);
  }

  URI uri(String path) {
    return URI.create("http://127.0.0.1:" + port + path);
  }

  HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(uri(path)).timeout(LIMIT);
  }

  HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }

  HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return send(request(path).build());
  }

  String admin(String path) {
    try {
      HttpResponse<String> response =
          http.send(
              HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + adminPort + path))
                  .timeout(LIMIT)
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      if (response.statusCode() != 200) {
        throw new AssertionError(path + ": " + response.statusCode() + " " + response.body());
      }
      return response.body();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
  }

  /** Asks the admin server for a change. */
  HttpResponse<String> admin(String method, String path, String body)
      throws IOException, InterruptedException {
    return send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + adminPort + path))
            .timeout(LIMIT)
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build());
  }

  /** The values of every series of a name in the metrics. */
  List<Double> metric(String name) {
    List<Double> values = series(name);
    if (values.isEmpty()) {
      throw new AssertionError("no series " + name);
    }
    return values;
  }

  private List<Double> series(String name) {
    List<Double> values = new ArrayList<>();
    for (String line : admin("/metrics").split("\n")) {
      if (line.startsWith(name + "{") || line.startsWith(name + " ")) {
        values.add(Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)));
      }
    }
    return values;
  }

  /** Returns the sum of a counter whose series appear with their first counts. */
  double counted(String counter) {
    return series(counter).stream().mapToDouble(Double::doubleValue).sum();
  }

  double sum(String metric) {
    return metric(metric).stream().mapToDouble(Double::doubleValue).sum();
  }

  /** Asks again and again until it is so; fails with the server's output after a while. */
  void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0 || (!process.isAlive() && outputEnded.isDone())) {
        throw new AssertionError(
            what + " did not come to be. Output:\n" + String.join("\n", output));
      }
      new CompletableFuture<Void>().completeOnTimeout(null, 10, TimeUnit.MILLISECONDS).join();
    }
  }

  /** SIGTERM, through its handle: the process's own destroy would close its output too. */
  void terminate() {
    process.toHandle().destroy();
  }

  /** Waits for the end of the process. */
  int exitCode() throws InterruptedException {
    if (!process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
      throw new AssertionError("still running. Output:\n" + String.join("\n", output));
    }
    outputEnded.join();
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly();
    try {
      process.waitFor(5, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
