package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.FakeMcpServer;
import dev.berth.node.TestNode;
import dev.berth.upstream.UpstreamRig.ClientSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Many calls of one limited tool, whose clients leave at random. */
@Timeout(180)
class McpStormIT {
  private static final int CALLS = Integer.getInteger("berth.storm.calls", 200);

  private static String message(String id, String tool, String session) {
    String meta =
        session.isEmpty()
            ? ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"
            : "";
    String body =
        "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"%s}}"
            .formatted(id, tool, meta);
    String headers =
        session.isEmpty()
            ? "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: " + tool
            : "mcp-session-id: " + session;
    return "POST /models HTTP/1.1\r\nhost: c\r\n%s\r\ncontent-length: %d\r\n\r\n%s"
        .formatted(headers, body.length(), body);
  }

  private static String initialize(UpstreamRig rig) throws Exception {
    String body = "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{}}";
    try (ClientSocket client = rig.client()) {
      String head =
          client
              .send(
                  "POST /models HTTP/1.1\r\nhost: c\r\ncontent-length: %d\r\n\r\n%s"
                      .formatted(body.length(), body))
              .readUntil("\r\n\r\n");
      int start = head.toLowerCase().indexOf("mcp-session-id: ") + 16;
      return head.substring(start, head.indexOf("\r\n", start));
    }
  }

  @Test
  void callsOfALimitedToolWhoseClientsLeaveReturnEverySlot() throws Exception {
    SplittableRandom random = new SplittableRandom(Long.getLong("berth.storm.seed", 1));
    try (FakeMcpServer server = new FakeMcpServer("one");
        UpstreamRig rig =
            UpstreamRig.ofMcp(
                "",
                deployment(
                    "tools",
                    "mcp: {tools: {wait: {max_ongoing_requests: 1}}}",
                    upstream(server.url(), 3)))) {
      rig.awaitOpen(3);
      String session = initialize(rig);
      List<ClientSocket> waiting = new ArrayList<>();
      List<ClientSocket> staying = new ArrayList<>();
      for (int i = 0; i < CALLS; i++) {
        ClientSocket client = rig.client();
        client.send(message("w" + i, "wait", random.nextBoolean() ? session : ""));
        (i % 10 == 0 ? staying : waiting).add(client);
        if (!waiting.isEmpty() && random.nextInt(3) == 0) {
          waiting.remove(random.nextInt(waiting.size())).reset();
        }
        release(server, random, i);
      }
      try (ClientSocket beside = rig.client()) { // passes all that wait
        assertThat(beside.send(message("e", "echo", "")).readUntil("\"one\"}")).contains(" 200 ");
      }
      TestNode.until(() -> queued(rig) > 0, () -> "calls that wait");
      while (!waiting.isEmpty()) {
        waiting.remove(random.nextInt(waiting.size())).close();
        release(server, random, CALLS);
      }
      TestNode.until(
          () -> {
            release(server, random, CALLS);
            return queued(rig) == 0 && server.ongoing() == 0 && rig.sum("running") == 0;
          },
          () -> "calls at an end: " + server.ongoing() + " " + rig.ledgers());
      for (ClientSocket each : staying) {
        assertThat(each.readUntil("\"one\"}")).contains(" 200 ");
        each.close();
      }
      assertThat(server.highest()).isEqualTo(1);
      rig.assertAtRest();
      assertThat(rig.node.admin("GET", "/metrics", "").body().lines())
          .filteredOn(each -> each.startsWith("berth_slotless_requests{"))
          .allMatch(each -> each.endsWith(" 0.0") || each.endsWith(" 0"));
    }
  }

  @Test
  void waitersOfAServerThatDiesEndAndReturnEverySlot() throws Exception {
    FakeMcpServer server = new FakeMcpServer("one");
    try (UpstreamRig rig =
        UpstreamRig.ofMcp(
            "",
            deployment(
                "tools",
                "queue_timeout_s: 4, mcp: {tools: {wait: {max_ongoing_requests: 1}}}",
                upstream(server.url(), 2)))) {
      rig.awaitOpen(2);
      String session = initialize(rig);
      List<ClientSocket> clients = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        clients.add(rig.client().send(message("w" + i, "wait", i % 2 == 0 ? session : "")));
      }
      TestNode.until(() -> server.ongoing() == 1 && queued(rig) == 49, () -> "49 calls wait");
      server.close();
      List<String> statuses = new ArrayList<>();
      for (ClientSocket each : clients) {
        String head = each.readUntil("\r\n\r\n");
        statuses.add(head.substring(9, 12));
        each.close();
      }
      // one call may have been written just before the close: its outcome is unknown
      assertThat(statuses.remove("502") && statuses.contains("502")).isFalse();
      assertThat(statuses)
          .containsOnlyOnce("200")
          .contains("404")
          .containsOnly("200", "404", "503");
      rig.assertAtRest();
      try (FakeMcpServer next = new FakeMcpServer("two", server.port());
          ClientSocket client = rig.client()) {
        rig.awaitOpen(2);
        assertThat(next.received).isEmpty();
        assertThat(client.send(message("e", "echo", "")).readUntil("\"two\"}")).contains(" 200 ");
      }
    } finally {
      server.close();
    }
  }

  private static double queued(UpstreamRig rig) {
    return rig.node
        .admin("GET", "/metrics", "")
        .body()
        .lines()
        .filter(line -> line.contains("serve_deployment_queued_queries{"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** Ends the open call, sometimes. */
  private static void release(FakeMcpServer server, SplittableRandom random, int sent) {
    for (int i = 0; i < sent; i++) {
      if (random.nextInt(3) == 0) {
        server.releaseIfOpen("w" + i);
      }
    }
  }
}
