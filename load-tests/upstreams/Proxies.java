import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Starts an upstream and proxies in front of it, each with one event loop or worker. */
final class Proxies {
  /** Larger than the connections of any row, so that no request waits for a slot. */
  private static final int MAX_ONGOING = 2_000;

  private static final Duration START_TIMEOUT = Duration.ofSeconds(30);
  private static final long POLL_MILLIS = 20;

  private final Path jar;
  private final Path work;
  private int upstreamPort;

  Proxies(Path jar, Path work) {
    this.jar = jar;
    this.work = work;
  }

  Server upstream(Servers servers) throws IOException, InterruptedException {
    Server upstream =
        servers.java(
            "upstream",
            List.of("-cp", jar + ":" + work.resolve("upstreams/classes"), "PlainUpstream"));
    upstreamPort = upstream.port();
    return upstream;
  }

  /** Berth with one upstream. */
  Server berth(Servers servers, String name) throws IOException, InterruptedException {
    return berth(servers, name, 1, 1);
  }

  /**
   * Berth with several deployments, each of which has several upstreams of one origin.
   *
   * @param upstreams of a deployment
   */
  Server berth(Servers servers, String name, int deployments, int upstreams)
      throws IOException, InterruptedException {
    StringBuilder text = new StringBuilder("http_options: {host: 127.0.0.1, port: 0}\n");
    text.append(
        "berth: {event_loops: 1, admin: {host: 127.0.0.1, port: %d}}\n"
            .formatted(StartUp.freePort()));
    text.append("applications:\n");
    for (int deployment = 0; deployment < deployments; deployment++) {
      text.append("  - name: models").append(deployment);
      text.append("\n    route_prefix: /").append(deployment == 0 ? "" : "other" + deployment);
      text.append("\n    import_path: berth:proxy\n    deployments:\n");
      text.append("      - name: models\n        berth:\n          upstreams:\n");
      for (int upstream = 0; upstream < upstreams; upstream++) {
        text.append(
            "            - {url: 'http://127.0.0.1:%d', id: u%d-%d, max_ongoing_requests: %d}%n"
                .formatted(upstreamPort, deployment, upstream, MAX_ONGOING));
      }
    }
    Path file = Files.writeString(work.resolve("upstreams/" + name + ".yaml"), text);
    return servers.java(name, List.of("-jar", jar.toString(), "run", file.toString()));
  }

  /** Berth with one upstream twice: relayed at {@code /plain}, and by its model at {@code /v1}. */
  Server models(Servers servers, String name) throws IOException, InterruptedException {
    String text =
        """
        http_options: {host: 127.0.0.1, port: 0}
        berth: {event_loops: 1, admin: {host: 127.0.0.1, port: %d}}
        applications:
          - name: plain
            route_prefix: /plain
            import_path: berth:proxy
            deployments: [{name: plain, berth: {upstreams: [%s]}}]
          - name: llm
            route_prefix: /
            import_path: berth:openai
            args: {models: [{name: m, deployment: llm, upstream_name: upstream/model-1}]}
            deployments: [{name: llm, berth: {upstreams: [%s]}}]
        """
            .formatted(StartUp.freePort(), entry("plain"), entry("llm"));
    Path file = Files.writeString(work.resolve("upstreams/" + name + ".yaml"), text);
    return servers.java(name, List.of("-jar", jar.toString(), "run", file.toString()));
  }

  /** LiteLLM with one worker, or SMG: {@code litellm} or {@code smg}. */
  Server gateway(Servers servers, String name, Path programs)
      throws IOException, InterruptedException {
    Gateways gateways =
        new Gateways(jar, work, programs, upstreamPort, servers, MAX_ONGOING, 1);
    Gateways.Gateway started = gateways.start(name);
    return new Server(
        name, List.of(started.process()), started.port(), 0, List.of(), Optional.empty());
  }

  private String entry(String id) {
    return "{url: 'http://127.0.0.1:%d', id: %s, max_ongoing_requests: %d}"
        .formatted(upstreamPort, id, MAX_ONGOING);
  }

  /** nginx as one process, with a pool of kept connections and without an access log. */
  Server nginx(Servers servers, String name) throws IOException, InterruptedException {
    int port = StartUp.freePort();
    Path folder = Files.createDirectories(work.resolve("upstreams/" + name).toAbsolutePath());
    Path file =
        Files.writeString(
            folder.resolve("nginx.conf"),
            """
            daemon off; master_process off; worker_processes 1;
            pid %1$s/pid; error_log %1$s/error.log;
            events { worker_connections 8192; }
            http {
              access_log off; keepalive_requests 100000000; keepalive_timeout 1h;
              client_body_temp_path %1$s/body; proxy_temp_path %1$s/proxy;
              fastcgi_temp_path %1$s/fastcgi; uwsgi_temp_path %1$s/uwsgi; scgi_temp_path %1$s/scgi;
              upstream plain {
                server 127.0.0.1:%2$d; keepalive 256; keepalive_requests 100000000;
              }
              server {
                listen 127.0.0.1:%3$d backlog=4096;
                proxy_http_version 1.1; proxy_set_header Connection "";
                proxy_read_timeout 1h;
                location / { proxy_pass http://plain; proxy_buffering off; }
                location /unary { proxy_pass http://plain; }
              }
            }
            """
                .formatted(folder, upstreamPort, port));
    return started(
        servers, name, List.of("nginx", "-e", folder + "/start.log", "-c", file.toString()), port);
  }

  /** Envoy with one worker thread and without an access log. */
  Server envoy(Servers servers, String name, Path program)
      throws IOException, InterruptedException {
    int port = StartUp.freePort();
    Path file =
        Files.writeString(
            work.resolve("upstreams/" + name + ".yaml"),
            """
            static_resources:
              listeners:
                - address: {socket_address: {address: 127.0.0.1, port_value: %1$d}}
                  filter_chains:
                    - filters:
                        - name: envoy.filters.network.http_connection_manager
                          typed_config:
                            "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                            stat_prefix: in
                            route_config:
                              virtual_hosts:
                                - name: all
                                  domains: ["*"]
                                  routes: [{match: {prefix: /}, route: {cluster: plain, timeout: 0s}}]
                            http_filters:
                              - name: envoy.filters.http.router
                                typed_config:
                                  "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
              clusters:
                - name: plain
                  type: STATIC
                  circuit_breakers:
                    thresholds: [{max_connections: 8192, max_pending_requests: 8192, max_requests: 8192}]
                  load_assignment:
                    cluster_name: plain
                    endpoints:
                      - lb_endpoints:
                          - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %2$d}}}
            """
                .formatted(port, upstreamPort));
    return started(
        servers,
        name,
        List.of(program.toString(), "--concurrency", "1", "-l", "warning", "-c", file.toString()),
        port);
  }

  private Server started(Servers servers, String name, List<String> command, int port)
      throws IOException, InterruptedException {
    Path log = work.resolve("upstreams/" + name + ".log");
    Process process = servers.launch(command, log);
    Instant giveUp = Instant.now().plus(START_TIMEOUT);
    while (!accepts(port)) {
      if (!process.isAlive() || Instant.now().isAfter(giveUp)) {
        throw new IOException(name + " does not serve; its log:\n" + Files.readString(log));
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    }
    return new Server(name, List.of(process), port, 0, List.of(), Optional.empty());
  }

  private static boolean accepts(int port) {
    try (Socket connection = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return connection.isConnected();
    } catch (IOException refused) {
      return false;
    }
  }
}
