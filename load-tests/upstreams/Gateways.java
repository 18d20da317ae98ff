import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Starts gateways that may have a number of requests at an upstream. */
final class Gateways {
  static final String KEY = "sk-load-test";
  private static final Duration START_TIMEOUT = Duration.ofSeconds(300);

  private final Path jar;
  private final Path work;
  private final Path programs;
  private final int upstream;
  private final Servers servers;
  private final int capacity;
  private final int workers;

  /**
   * @param programs folder of the Python programs, or ""
   * @param upstream its port
   * @param capacity requests at the upstream at a time
   * @param workers of LiteLLM
   */
  Gateways(
      Path jar,
      Path work,
      Path programs,
      int upstream,
      Servers servers,
      int capacity,
      int workers) {
    this.jar = jar;
    this.work = work;
    this.programs = programs;
    this.upstream = upstream;
    this.servers = servers;
    this.capacity = capacity;
    this.workers = workers;
  }

  /** A gateway that serves at a port. */
  record Gateway(String label, int port, Process process) {
    /** Returns the CPU time so far of the gateway and of this process, in microseconds. */
    long cpuMicros() throws IOException {
      long micros = ProcessFigures.cpuMicros(ProcessHandle.current().pid());
      micros += ProcessFigures.cpuMicros(process.pid());
      for (ProcessHandle worker : process.descendants().toList()) {
        micros += ProcessFigures.cpuMicros(worker.pid());
      }
      return micros;
    }

    /** Ends the process and its workers. */
    void end() throws InterruptedException {
      List<ProcessHandle> workers = process.descendants().toList();
      process.destroy();
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
      workers.forEach(ProcessHandle::destroyForcibly);
    }
  }

  Gateway start(String name) throws IOException, InterruptedException {
    return switch (name) {
      case "berth" -> berth();
      case "litellm" -> litellm();
      case "smg" -> smg();
      default -> throw new IllegalArgumentException(name + " (expected: berth, litellm or smg)");
    };
  }

  private Gateway berth() throws IOException, InterruptedException {
    int port = StartUp.freePort();
    Path file =
        write(
            "berth.yaml",
            """
            http_options: {host: 127.0.0.1, port: %d}
            berth: {admin: {host: 127.0.0.1, port: %d}}
            applications:
              - name: models
                route_prefix: /
                import_path: berth:proxy
                deployments:
                  - name: models
                    max_queued_requests: -1
                    berth:
                      upstreams:
                        - {url: 'http://127.0.0.1:%d', max_ongoing_requests: %d}
            """
                .formatted(port, StartUp.freePort(), upstream, capacity));
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    return started(
        "Berth",
        port,
        "/v1/models",
        List.of(java, "-Xmx512m", "-jar", jar.toString(), "run", file.toString(), "--ephemeral"));
  }

  private Gateway litellm() throws IOException, InterruptedException {
    int port = StartUp.freePort();
    Path file =
        write(
            "litellm.yaml",
            """
            model_list:
              - model_name: m
                litellm_params:
                  model: openai/m
                  api_base: http://127.0.0.1:%d/v1
                  api_key: sk-upstream
                  max_parallel_requests: %d
                  num_retries: 0
                  max_retries: 0
            router_settings: {num_retries: 0, disable_cooldowns: true}
            litellm_settings: {num_retries: 0, telemetry: false}
            general_settings: {master_key: %s}
            """
                .formatted(upstream, capacity, KEY));
    return started(
        "LiteLLM, " + workers + (workers == 1 ? " worker" : " workers"),
        port,
        "/health/liveliness",
        List.of(
            "env",
            "LITELLM_LOCAL_MODEL_COST_MAP=True",
            "LITELLM_LOG=ERROR",
            programs.resolve("litellm").toString(),
            "--config",
            file.toString(),
            "--host",
            "127.0.0.1",
            "--port",
            String.valueOf(port),
            "--keepalive_timeout", // seconds; its default closes connections between two slices
            "3600",
            "--num_workers",
            String.valueOf(workers)));
  }

  private Gateway smg() throws IOException, InterruptedException {
    int port = StartUp.freePort();
    return started(
        "SMG",
        port,
        "/liveness",
        List.of(
            programs.resolve("smg").toString(),
            "launch",
            "--host",
            "127.0.0.1",
            "--port",
            String.valueOf(port),
            "--prometheus-port",
            String.valueOf(StartUp.freePort()),
            "--worker-urls",
            "http://127.0.0.1:" + upstream,
            "--backend",
            "openai",
            "--policy",
            "round_robin",
            "--max-concurrent-requests",
            String.valueOf(capacity),
            "--queue-size",
            "1024",
            "--queue-timeout-secs",
            "60",
            "--disable-retries",
            "--disable-circuit-breaker",
            "--log-level",
            "warn"));
  }

  private Path write(String name, String text) throws IOException {
    return Files.writeString(work.resolve("upstreams/" + name), text);
  }

  private Gateway started(String label, int port, String health, List<String> command)
      throws IOException, InterruptedException {
    Path log = work.resolve("upstreams/" + label.replaceAll("[^A-Za-z0-9]+", "-") + ".log");
    Process process = servers.launch(command, log);
    Instant giveUp = Instant.now().plus(START_TIMEOUT);
    while (!healthy(port, health)) {
      if (!process.isAlive() || Instant.now().isAfter(giveUp)) {
        throw new IOException(label + " does not serve; its log:\n" + Files.readString(log));
      }
      TimeUnit.MILLISECONDS.sleep(200);
    }
    return new Gateway(label, port, process);
  }

  private static boolean healthy(int port, String path) {
    try {
      URI uri = URI.create("http://127.0.0.1:" + port + path);
      HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
      connection.setReadTimeout(2_000);
      return connection.getResponseCode() == 200;
    } catch (IOException notYet) {
      return false;
    }
  }
}
