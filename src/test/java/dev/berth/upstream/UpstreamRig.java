package dev.berth.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.node.TestNode;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** An instance in this JVM whose application {@code models} has upstreams only. */
final class UpstreamRig implements AutoCloseable {
  private static final int READ_LIMIT_MS = 20_000;

  private static final String PROXY = "import_path: berth:proxy";

  final TestNode node;
  private final String more;

  /**
   * @param more keys of the instance's {@code berth}
   * @param deployments of the application, one a line, in flow style
   */
  UpstreamRig(String more, String... deployments) throws Exception {
    this(PROXY, more, deployments);
  }

  private UpstreamRig(String keys, String more, String[] deployments) throws Exception {
    this.more = more;
    this.node = new TestNode(config(keys, deployments));
  }

  /**
   * Starts an instance whose application is {@code berth:openai}.
   *
   * @param args of the application
   */
  static UpstreamRig ofModels(String args, String... deployments) throws Exception {
    return new UpstreamRig(openAi(args), "", deployments);
  }

  /** Starts an instance whose application is {@code berth:mcp}. */
  static UpstreamRig ofMcp(String more, String deployment) throws Exception {
    return new UpstreamRig("import_path: berth:mcp", more, new String[] {deployment});
  }

  private static String openAi(String args) {
    return "import_path: berth:openai\n    args: " + args;
  }

  private String config(String keys, String[] deployments) {
    return """
        http_options: {host: 127.0.0.1, port: 0}
        %s
        berth: {event_loops: 2, ephemeral: true, admin: {port: 0}, shutdown_timeout_s: 5%s}
        """
        .formatted(applications(keys, deployments), more.isEmpty() ? "" : ", " + more);
  }

  private static String applications(String keys, String[] deployments) {
    StringBuilder text =
        new StringBuilder(
            """
            applications:
              - name: models
                route_prefix: /models
                %s
                deployments:
            """
                .formatted(keys));
    List.of(deployments).forEach(each -> text.append("      - ").append(each).append('\n'));
    return text.toString();
  }

  /** Returns a deployment whose upstreams are given in flow style. */
  static String deployment(String name, String more, String... upstreams) {
    return "{name: %s, berth: {%supstreams: [%s]}}"
        .formatted(name, more.isEmpty() ? "" : more + ", ", String.join(", ", upstreams));
  }

  static String upstream(String url, int max, String... more) {
    String keys = more.length == 0 ? "" : ", " + String.join(", ", more);
    return "{url: '%s', max_ongoing_requests: %d%s}".formatted(url, max, keys);
  }

  /** Declares the application again. */
  void declare(String... deployments) {
    declare(PROXY, deployments);
  }

  /** Declares the application as {@code berth:openai}. */
  void declareModels(String args, String... deployments) {
    declare(openAi(args), deployments);
  }

  /** Declares the application as {@code berth:mcp}. */
  void declareMcp(String deployment) {
    declare("import_path: berth:mcp", new String[] {deployment});
  }

  private void declare(String keys, String[] deployments) {
    HttpResponse<String> answer =
        node.admin("PUT", "/api/serve/applications/", applications(keys, deployments));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
  }

  JsonArray ledgers() {
    return new JsonObject(node.admin("GET", "/api/v1/ledger", "").body()).getJsonArray("replicas");
  }

  /** Returns the sum of a field over all ledgers. */
  long sum(String field) {
    return ledgers().stream().mapToLong(each -> ((JsonObject) each).getLong(field)).sum();
  }

  void awaitSum(String field, long value) {
    TestNode.until(() -> sum(field) == value, () -> field + " " + value + ": " + ledgers());
  }

  /** Waits until the probes have opened all upstreams. */
  void awaitOpen(long slots) {
    awaitSum("max_ongoing_requests", slots);
  }

  /** Each ledger is at zero, adds up, and was found clean. */
  void assertAtRest() {
    awaitSum("running", 0);
    awaitSum("reserved", 0);
    awaitSum("zombies", 0);
    for (Object each : ledgers()) {
      JsonObject ledger = (JsonObject) each;
      assertThat(ledger.getLong("granted"))
          .as(ledger.encode())
          .isEqualTo(
              ledger.getLong("completed") + ledger.getLong("released") + ledger.getLong("expired"));
    }
    TestNode.until(
        () ->
            ledgers().stream()
                .allMatch(each -> ((JsonObject) each).getString("audit").equals("clean")),
        () -> "audits: " + ledgers());
  }

  String status() {
    return node.admin("GET", "/api/serve/applications/", "").body();
  }

  ClientSocket client() throws IOException {
    return new ClientSocket(node.port());
  }

  @Override
  public void close() {
    node.close();
  }

  /** One connection of a client, byte by byte. */
  static final class ClientSocket implements AutoCloseable {
    private final Socket socket = new Socket();

    private ClientSocket(int port) throws IOException {
      socket.setReceiveBufferSize(16 << 10);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), READ_LIMIT_MS);
      socket.setSoTimeout(READ_LIMIT_MS);
      socket.setTcpNoDelay(true);
    }

    ClientSocket send(String text) throws IOException {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
      return this;
    }

    /** Sends a GET and does not wait. */
    ClientSocket get(String path, String... headers) throws IOException {
      StringBuilder head = new StringBuilder("GET " + path + " HTTP/1.1\r\nHost: client\r\n");
      List.of(headers).forEach(each -> head.append(each).append("\r\n"));
      return send(head.append("\r\n").toString());
    }

    /** Reads up to and including a text; ends with {@code <closed>} if the connection does. */
    String readUntil(String end) throws IOException {
      StringBuilder text = new StringBuilder();
      while (text.length() < end.length() || text.indexOf(end, text.length() - end.length()) < 0) {
        int next = socket.getInputStream().read();
        if (next < 0) {
          return text.append("<closed>").toString();
        }
        text.append((char) next);
      }
      return text.toString();
    }

    /** Returns the next bytes, at most so many; negative at the end. */
    int read(int most) throws IOException {
      return socket.getInputStream().read(new byte[most]);
    }

    /** Ends the connection by a reset. */
    void reset() throws IOException {
      socket.setSoLinger(true, 0);
      socket.close();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
