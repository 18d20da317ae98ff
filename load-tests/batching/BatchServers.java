import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Starts the servers that {@link Batching} compares. */
final class BatchServers {
  private static final Duration START_TIMEOUT = Duration.ofSeconds(120);

  private static final String ONE_LOOP = "  event_loops: 1\n";

  private final Path jar;
  private final Path own; // folder of handlers.jar and of what is written
  private final String programs;

  /**
   * @param programs folder of the Python programs, or ""
   */
  BatchServers(Path jar, Path work, String programs) {
    this.jar = jar;
    this.own = work.resolve("batching");
    this.programs = programs;
  }

  /** Berth with the work of 10 ms at {@code /}; one event loop. */
  Server work(Servers servers, String name) throws IOException, InterruptedException {
    return berth(
        servers,
        name,
        """
          - name: work
            route_prefix: /
            import_path: BatchApps:work
            runtime_env: {jars: [handlers.jar]}
            deployments:
              - {name: work, berth: {batching: {max_batch_size: 16, batch_wait_timeout_s: 0.005}}}
        """,
        ONE_LOOP);
  }

  /** A node without a replica, and another with the replica of the 10 ms work; one loop each. */
  Server remoteWork(Servers servers, String name) throws IOException, InterruptedException {
    return servers.remote(
        name,
        """
        applications:
          - name: work
            route_prefix: /
            import_path: BatchApps:work
            runtime_env: {jars: ['%s']}
            deployments:
              - {name: work, berth: {batching: {max_batch_size: 16, batch_wait_timeout_s: 0.005}}}
        """
            .formatted(own.resolve("handlers.jar").toAbsolutePath()));
  }

  /** Berth with no-ops alone, in eager batches, and in full batches; one event loop. */
  Server noOps(Servers servers, String name) throws IOException, InterruptedException {
    return berth(
        servers,
        name,
        """
          - {name: plain, route_prefix: /plain, import_path: "NoOp:build", runtime_env: {jars: [handlers.jar]}}
          - {name: again, route_prefix: /again, import_path: "NoOp:build", runtime_env: {jars: [handlers.jar]}}
          - name: eager
            route_prefix: /eager
            import_path: BatchApps:noOp
            runtime_env: {jars: [handlers.jar]}
            deployments:
              - {name: no-op, berth: {batching: {max_batch_size: 16, eager: true}}}
          - name: full
            route_prefix: /full
            import_path: BatchApps:noOp
            runtime_env: {jars: [handlers.jar]}
            deployments:
              - {name: no-op, berth: {batching: {max_batch_size: 16}}}
        """,
        ONE_LOOP);
  }

  private Server berth(Servers servers, String name, String applications, String lines)
      throws IOException, InterruptedException {
    Path file = own.resolve(name + ".yaml");
    Files.writeString(
        file,
        "http_options: {host: 127.0.0.1, port: 0}\napplications:\n"
            + applications
            + "berth:\n  admin: {host: 127.0.0.1, port: 0}\n"
            + lines);
    return servers.java(name, List.of("-jar", jar.toString(), "run", file.toString()));
  }

  /** A server in Python, once it responds with 200. */
  Server peer(Servers servers, String name, String script, Ask ask)
      throws IOException, InterruptedException {
    int port = StartUp.freePort();
    Path log = own.resolve(name + ".log");
    Process process =
        servers.launch(
            List.of(
                Path.of(programs).resolve("python3").toString(),
                "load-tests/batching/peer.py",
                "load-tests/batching/" + script,
                String.valueOf(port)),
            log);
    Server server = new Server(name, List.of(process), port, 0, List.of(), Optional.empty());
    Instant giveUp = Instant.now().plus(START_TIMEOUT);
    while (!responds(server, ask)) {
      if (!process.isAlive() || Instant.now().isAfter(giveUp)) {
        throw new IOException(name + " does not serve; its log:\n" + Files.readString(log));
      }
      TimeUnit.MILLISECONDS.sleep(500);
    }
    return server;
  }

  private static boolean responds(Server server, Ask ask) throws InterruptedException {
    try {
      HttpResponse<byte[]> response = server.answer(ask);
      return response.statusCode() == 200;
    } catch (IOException notYet) {
      return false;
    }
  }
}
