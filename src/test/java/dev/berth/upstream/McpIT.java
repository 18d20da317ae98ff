package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.FakeMcpServer;
import dev.berth.node.TestNode;
import dev.berth.upstream.UpstreamRig.ClientSocket;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Clients of the Model Context Protocol in front of two servers. */
@Timeout(60)
class McpIT {
  private static final String RESULT = "{\"jsonrpc\":\"2.0\",\"id\":\"answer\",\"result\":{}}";
  private static final String INITIALIZE = request("i", "initialize", "{}");

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private FakeMcpServer one;
  private FakeMcpServer two;
  private FakeMcpServer own; // of the session
  private UpstreamRig rig;

  @BeforeEach
  void startServers() throws Exception {
    one = new FakeMcpServer("one");
    two = new FakeMcpServer("two");
  }

  @AfterEach
  void everySlotIsReturned() {
    try (UpstreamRig instance = rig) {
      instance.awaitSum("running", 0);
    } finally {
      one.close();
      two.close();
    }
  }

  /** Starts an instance in front of the first server, which has one slot. */
  private void startOne(String rules) throws Exception {
    rig =
        UpstreamRig.ofMcp("", deployment("tools", "mcp: {" + rules + "}", upstream(one.url(), 1)));
    rig.awaitOpen(1);
  }

  private void startTwo() throws Exception {
    rig =
        UpstreamRig.ofMcp(
            "", deployment("tools", "", upstream(one.url(), 1), upstream(two.url(), 1)));
    rig.awaitOpen(2);
  }

  /** Returns the session of a client, at its own server of two. */
  private String startTwoWithSession() throws Exception {
    startTwo();
    String session = initialize();
    own = server(post(call("1", "echo"), "mcp-session-id", session)).equals("one") ? one : two;
    return session;
  }

  private static String request(String id, String method, String parameters) {
    return "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"%s\",\"params\":%s}"
        .formatted(id, method, parameters);
  }

  private static String call(String id, String tool) {
    return request(id, "tools/call", "{\"name\":\"" + tool + "\"}");
  }

  private HttpRequest.Builder to(String... headers) {
    HttpRequest.Builder to =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + rig.node.port() + "/models"));
    return headers.length == 0 ? to : to.headers(headers);
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return client.sendAsync(request.build(), BodyHandlers.ofString()).get(20, TimeUnit.SECONDS);
  }

  private HttpResponse<String> post(String body, String... headers) throws Exception {
    return send(to(headers).POST(BodyPublishers.ofString(body)));
  }

  private String initialize() throws Exception {
    HttpResponse<String> response = post(INITIALIZE);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return response.headers().firstValue("mcp-session-id").orElseThrow();
  }

  private static String server(HttpResponse<String> response) {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return new JsonObject(response.body()).getJsonObject("result").getString("server");
  }

  private static void assertRefused(HttpResponse<String> response, int status, String reason) {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    JsonObject error = new JsonObject(response.body()).getJsonObject("error");
    assertThat(error.getJsonObject("data").getString("reason")).isEqualTo(reason);
  }

  /** A response that is read as it arrives. Its close is that of the connection. */
  private record OpenStream(InputStream bytes, BufferedReader lines) implements AutoCloseable {
    String next(String prefix) throws IOException {
      String line = lines.readLine();
      while (line != null && !line.startsWith(prefix)) {
        line = lines.readLine();
      }
      return line == null ? "<end>" : line.substring(prefix.length());
    }

    @Override
    public void close() throws IOException {
      bytes.close();
    }
  }

  private OpenStream open(HttpRequest.Builder request) throws Exception {
    HttpResponse<InputStream> response =
        client.sendAsync(request.build(), BodyHandlers.ofInputStream()).get(20, TimeUnit.SECONDS);
    assertThat(response.statusCode()).isEqualTo(200);
    return new OpenStream(
        response.body(),
        new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8)));
  }

  private OpenStream openCall(String body, String... headers) throws Exception {
    return open(to(headers).POST(BodyPublishers.ofString(body)));
  }

  private void until(BooleanSupplier condition, String what) {
    TestNode.until(condition, () -> what);
  }

  // --- sessions ---

  @Test
  void requestsOfASessionReachItsServer() throws Exception {
    startTwo();
    String first = initialize();
    String second = initialize();
    for (int i = 0; i < 5; i++) {
      String at = server(post(call("1", "echo"), "mcp-session-id", first));
      assertThat(server(post(call("1", "echo"), "mcp-session-id", first))).isEqualTo(at);
      String other = server(post(call("1", "echo"), "mcp-session-id", second));
      assertThat(server(post(call("1", "echo"), "mcp-session-id", second))).isEqualTo(other);
    }
    assertThat(one.received).noneMatch(each -> each.headers().toString().contains("b1-"));
  }

  @Test
  void sessionWaitsForItsServerBesideAFreeOne() throws Exception {
    String session = startTwoWithSession();
    try (OpenStream running = openCall(call("busy", "wait"), "mcp-session-id", session)) {
      running.next("data: ");
      CompletableFuture<HttpResponse<String>> waiting =
          client.sendAsync(
              to("mcp-session-id", session)
                  .POST(BodyPublishers.ofString(call("2", "echo")))
                  .build(),
              BodyHandlers.ofString());
      rig.awaitSum("running", 1);
      assertThat(waiting).isNotDone();
      own.release("busy");
      assertThat(server(waiting.get(20, TimeUnit.SECONDS))).isEqualTo(own == one ? "one" : "two");
    }
    assertThat(own.highest()).isEqualTo(1);
  }

  @Test
  void forgedSessionReachesNoServer() throws Exception {
    startTwo();
    String session = initialize();
    String other;
    try (OpenStream running = openCall(call("busy", "wait"), "mcp-session-id", session)) {
      running.next("data: ");
      other = initialize(); // at the other server
      (one.isOpen("busy") ? one : two).release("busy");
    }
    assertThat(other).doesNotStartWith(session.substring(0, 19));
    int before = one.received.size() + two.received.size();
    for (String forged :
        new String[] {
          session.substring(0, 19) + other.substring(19),
          session.substring(0, 41) + other.substring(41),
          "one-1",
          "b1-" + "A".repeat(38) + "-one-1",
          session + "1",
          session.substring(0, 3) + "A".repeat(16) + session.substring(19)
        }) {
      assertRefused(post(call("1", "echo"), "mcp-session-id", forged), 404, "session_not_found");
    }
    assertThat(one.received.size() + two.received.size()).isEqualTo(before);
  }

  @Test
  void replicaRefusesTheSessionOfAnotherServer() throws Exception {
    String session = startTwoWithSession();
    FakeMcpServer other = own == one ? two : one;
    try (OpenStream running = openCall(call("busy", "wait"), "mcp-session-id", session)) {
      running.next("data: ");
      String token = // for the only free slot, which is at the other server
          new JsonObject(
                  rig.node
                      .admin(
                          "POST",
                          "/api/v1/applications/models/deployments/tools/reservations",
                          "{\"ttl_s\": 10}")
                      .body())
              .getString("token");
      int before = other.received.size();
      assertRefused(
          post(call("2", "echo"), "mcp-session-id", session, "x-berth-reservation", token),
          404,
          "session_not_found");
      assertThat(other.received).hasSize(before);
      own.release("busy");
    }
  }

  @Test
  void sessionOfALostServerIsNotFound() throws Exception {
    startOne("");
    String session = initialize();
    int port = one.port();
    one.close();
    HttpResponse<String> lost = post(call("1", "echo"), "mcp-session-id", session);
    assertThat(lost.statusCode()).as(lost.body()).isEqualTo(404);
    rig.awaitOpen(0);
    HttpResponse<String> closed = post(call("2", "echo"), "mcp-session-id", session);
    assertThat(closed.statusCode()).as(closed.body()).isEqualTo(404);
    one = new FakeMcpServer("one", port);
    rig.awaitOpen(1);
    assertThat(server(post(call("3", "echo"), "mcp-session-id", initialize()))).isEqualTo("one");
  }

  @Test
  void waitingRequestOfALostSessionIsNotFoundPromptly() throws Exception {
    rig =
        UpstreamRig.ofMcp(
            "",
            deployment(
                "tools", "", upstream(one.url(), 1, "stops_on_close: false", "orphan_s: 8")));
    rig.awaitOpen(1);
    String session = initialize();
    try (OpenStream running = openCall(call("busy", "wait"), "mcp-session-id", session)) {
      running.next("data: ");
      CompletableFuture<HttpResponse<String>> waiting =
          begin(call("late", "echo"), "mcp-session-id", session);
      awaitQueued(1);
      one.close(); // the slot of the running call is in use for orphan_s
      assertThat(post(request("p", "ping", "{}"), "mcp-session-id", session).statusCode())
          .isEqualTo(404); // closes the replica, since no connect succeeds
      HttpResponse<String> lost = waiting.get(5, TimeUnit.SECONDS);
      assertRefused(lost, 404, "session_not_found");
      assertThat(new JsonObject(lost.body()).getString("id")).isEqualTo("late");
    }
  }

  @Test
  void waitingRequestOfARemovedServerIsNotFound() throws Exception {
    String session = startTwoWithSession();
    FakeMcpServer other = own == one ? two : one;
    try (OpenStream running = openCall(call("busy", "wait"), "mcp-session-id", session)) {
      running.next("data: ");
      CompletableFuture<HttpResponse<String>> waiting =
          begin(call("late", "echo"), "mcp-session-id", session);
      awaitQueued(1);
      rig.declareMcp(deployment("tools", "", upstream(other.url(), 1)));
      assertRefused(waiting.get(15, TimeUnit.SECONDS), 404, "session_not_found");
      own.release("busy");
      assertThat(running.next("data: ")).contains("\"result\"");
    }
  }

  @Test
  void endOfASessionTakesNoSlot() throws Exception {
    startOne("");
    String session = initialize();
    try (OpenStream running = openCall(call("busy", "wait"), "mcp-session-id", session)) {
      running.next("data: ");
      assertThat(send(to("mcp-session-id", session).DELETE()).statusCode()).isEqualTo(200);
      one.release("busy");
    }
    assertThat(post(call("1", "echo"), "mcp-session-id", session).statusCode()).isEqualTo(404);
  }

  // --- slots ---

  @Test
  void answerToAnElicitationReachesItsServerWhileAllSlotsAreInUse() throws Exception {
    startOne("");
    String session = initialize();
    try (OpenStream running = openCall(call("elicit", "elicit"), "mcp-session-id", session)) {
      assertThat(running.next("data: ")).contains("elicitation/create");
      assertThat(rig.sum("running")).isEqualTo(1);
      assertThat(post(RESULT, "mcp-session-id", session).statusCode()).isEqualTo(202);
      assertThat(running.next("data: ")).contains("\"result\"");
      assertThat(running.next("data: ")).isEqualTo("<end>");
    }
    assertThat(one.methods()).contains("result");
  }

  @Test
  void messagesButRequestsTakeNoSlot() throws Exception {
    startOne("");
    String session = initialize();
    try (OpenStream running = openCall(call("busy", "wait"), "mcp-session-id", session)) {
      running.next("data: ");
      assertThat(post(request("p", "ping", "{}"), "mcp-session-id", session).statusCode())
          .isEqualTo(200);
      assertThat(
              post(
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
                      "mcp-session-id",
                      session)
                  .statusCode())
          .isEqualTo(202);
      assertThat(rig.sum("granted")).isEqualTo(2); // of initialize and the call
      one.release("busy");
    }
  }

  private void startLimited(String more) throws Exception {
    rig =
        UpstreamRig.ofMcp(
            "",
            deployment(
                "tools",
                "mcp: {tools: {wait: {max_ongoing_requests: 1}}}" + more,
                upstream(one.url(), 3)));
    rig.awaitOpen(3);
  }

  private CompletableFuture<HttpResponse<String>> begin(String body, String... headers) {
    return client.sendAsync(
        to(headers).POST(BodyPublishers.ofString(body)).build(), BodyHandlers.ofString());
  }

  private void awaitQueued(int requests) {
    until(
        () -> metric("serve_deployment_queued_queries") == requests, "queued requests " + requests);
  }

  @Test
  void callBeyondTheLimitOfItsToolWaitsAndBlocksNoOther() throws Exception {
    startLimited("");
    String session = initialize();
    try (OpenStream running = openCall(call("a", "wait"))) {
      running.next("data: ");
      CompletableFuture<HttpResponse<String>> second = begin(call("b", "wait"));
      awaitQueued(1);
      CompletableFuture<HttpResponse<String>> third =
          begin(call("c", "wait"), "mcp-session-id", session);
      awaitQueued(2);
      assertThat(server(post(call("d", "echo")))).isEqualTo("one");
      assertThat(server(post(call("e", "echo"), "mcp-session-id", session))).isEqualTo("one");
      one.release("a");
      assertThat(running.next("data: ")).contains("\"result\"");
      until(() -> one.isOpen("b"), "second call sent");
      one.release("b");
      assertThat(second.get(20, TimeUnit.SECONDS).body()).contains("\"result\"");
      until(() -> one.isOpen("c"), "third call sent");
      one.release("c");
      assertThat(third.get(20, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    }
    assertThat(one.highest()).isEqualTo(1);
  }

  @Test
  void queueTimeOfACallEndsWithTheLimitInWords() throws Exception {
    startLimited(", queue_timeout_s: 0.5");
    try (OpenStream running = openCall(call("a", "wait"))) {
      running.next("data: ");
      HttpResponse<String> refused = post(call("b", "wait"));
      assertRefused(refused, 503, "back_pressure");
      assertThat(refused.headers().firstValue("retry-after")).isPresent();
      JsonObject body = new JsonObject(refused.body());
      assertThat(body.getString("id")).isEqualTo("b");
      assertThat(body.getJsonObject("error").getString("message"))
          .contains("queue_timeout_s", "tool wait: 1 calls at each upstream");
      one.release("a");
      assertThat(running.next("data: ")).contains("\"result\"");
    }
    try (OpenStream next = openCall(call("d", "wait"))) {
      next.next("data: ");
      one.release("d");
    }
  }

  @Test
  void leavingClientOfAWaitingCallCancelsIt() throws Exception {
    startOne("");
    String session = initialize();
    try (OpenStream running = openCall(call("busy", "wait"), "mcp-session-id", session)) {
      running.next("data: ");
      String body = call("late", "echo");
      try (ClientSocket waiting = rig.client()) {
        waiting.send(
            "POST /models HTTP/1.1\r\nhost: c\r\nmcp-session-id: %s\r\ncontent-length: %d\r\n\r\n%s"
                .formatted(session, body.length(), body));
        until(() -> metric("serve_deployment_queued_queries") == 1, "call queued");
      }
      until(() -> metric("serve_deployment_queued_queries") == 0, "call cancelled");
      one.release("busy");
    }
    rig.awaitSum("running", 0);
    assertThat(one.received).noneMatch(each -> each.body().contains("late"));
  }

  private double metric(String name) {
    return rig.node
        .admin("GET", "/metrics", "")
        .body()
        .lines()
        .filter(line -> line.startsWith(name + "{") || line.startsWith("ray_" + name + "{"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  // --- streams ---

  @Test
  void sessionHasOneStreamAndTheServerLimitedOnes() throws Exception {
    startOne("max_streams: 2");
    String first = initialize();
    String second = initialize();
    String third = initialize();
    try (OpenStream a = open(to("mcp-session-id", first).GET());
        OpenStream b = open(to("mcp-session-id", second).GET())) {
      assertThat(a.next(": ")).isEqualTo("open");
      assertThat(b.next(": ")).isEqualTo("open");
      assertThat(rig.sum("running")).isZero();
      HttpResponse<String> beside = send(to("mcp-session-id", first).GET());
      assertRefused(beside, 409, "stream_open");
      assertThat(beside.body())
          .contains(beside.headers().firstValue("x-request-id").orElseThrow()); // of the replica
      assertRefused(send(to("mcp-session-id", third).GET()), 503, "back_pressure");
      assertThat(post(request("p", "ping", "{}"), "mcp-session-id", third).statusCode())
          .isEqualTo(200);
    }
    until(() -> one.streams() == 0, "streams closed");
    try (OpenStream again = open(to("mcp-session-id", first).GET())) {
      assertThat(again.next(": ")).isEqualTo("open");
    }
  }

  @Test
  void leavingClientDoesNotCancelACallOfASession() throws Exception {
    startOne("resume_s: 0.2");
    String session = initialize();
    try (OpenStream running = openCall(call("plain", "plain"), "mcp-session-id", session)) {
      running.next("data: ");
    }
    assertThat(post(request("p", "ping", "{}"), "mcp-session-id", session).statusCode())
        .isEqualTo(200);
    assertThat(one.isOpen("plain")).isTrue();
    assertThat(rig.sum("running")).isEqualTo(1);
    one.release("plain");
    rig.awaitSum("running", 0);
    assertThat(one.abandoned).isEmpty();
    assertThat(one.methods()).doesNotContain("notifications/cancelled");
  }

  @Test
  void callWithIdsIsResumableAndThenCancelled() throws Exception {
    startOne("resume_s: 0.5");
    String session = initialize();
    try (OpenStream running = openCall(call("w", "wait"), "mcp-session-id", session)) {
      assertThat(running.next("id: ")).isEqualTo("w-1");
      running.next("data: ");
    }
    try (OpenStream resumed = open(to("mcp-session-id", session, "last-event-id", "w-1").GET())) {
      assertThat(resumed.next("data: ")).contains("w-1");
    }
    assertThat(one.isOpen("w")).isTrue();
    until(() -> one.methods().contains("notifications/cancelled"), "notification");
    JsonObject notification =
        new JsonObject(
            one.received.stream()
                .filter(each -> each.body().contains("notifications/cancelled"))
                .findFirst()
                .orElseThrow()
                .body());
    assertThat(notification.getJsonObject("params").getString("requestId")).isEqualTo("w");
    assertThat(rig.sum("running")).isEqualTo(1); // until the server ends the call
    one.release("w");
    rig.awaitSum("running", 0);
  }

  @Test
  void deadlineCancelsACallWhoseSlotStaysUntilItsEnd() throws Exception {
    startOne("");
    String session = initialize();
    String[] headers = {"mcp-session-id", session, "x-request-timeout-seconds", "0.4"};
    try (OpenStream running = openCall(call("w", "wait"), headers)) {
      running.next("data: ");
      assertThat(running.next("data: ")).contains("\"reason\":\"timeout\"");
    }
    until(() -> one.methods().contains("notifications/cancelled"), "notification");
    assertThat(rig.sum("running")).isEqualTo(1);
    assertThat(one.isOpen("w")).isTrue();
    one.release("w");
    rig.awaitSum("running", 0);
  }

  @Test
  void slotOfACancelledCallIsFreeAfterOrphanS() throws Exception {
    rig = UpstreamRig.ofMcp("", deployment("tools", "", upstream(one.url(), 1, "orphan_s: 0.8")));
    rig.awaitOpen(1);
    String session = initialize();
    String[] headers = {"mcp-session-id", session, "x-request-timeout-seconds", "0.4"};
    try (OpenStream running = openCall(call("w", "wait"), headers)) {
      running.next("data: ");
      assertThat(running.next("data: ")).contains("\"reason\":\"timeout\"");
    }
    until(() -> one.methods().contains("notifications/cancelled"), "notification");
    assertThat(rig.sum("running")).isEqualTo(1);
    rig.awaitSum("running", 0); // the server never ends the call
    assertThat(one.received.stream().filter(each -> each.body().contains("tools/call"))).hasSize(1);
  }

  @Test
  void brokenConnectionAfterTheResponseAddsNoOther() throws Exception {
    startOne("");
    String session = initialize();
    try (OpenStream running = openCall(call("w", "final"), "mcp-session-id", session)) {
      assertThat(running.next("data: ")).contains("\"result\"");
      one.breakOff("w");
      assertThat(running.next("data: ")).isEqualTo("<end>");
    }
  }

  @Test
  void reservationServesOnlyARequestThatTakesASlot() throws Exception {
    startOne("");
    String session = initialize();
    String token =
        new JsonObject(
                rig.node
                    .admin(
                        "POST",
                        "/api/v1/applications/models/deployments/tools/reservations",
                        "{\"ttl_s\": 10}")
                    .body())
            .getString("token");
    String[] headers = {"mcp-session-id", session, "x-berth-reservation", token};
    for (HttpRequest.Builder each :
        List.of(
            to(headers).GET(),
            to(headers).DELETE(),
            to(headers).POST(BodyPublishers.ofString(RESULT)))) {
      HttpResponse<String> refused = send(each);
      assertRefused(refused, 400, "reservation_without_slot");
      assertThat(refused.body()).contains("X-Berth-Reservation");
    }
    assertThat(server(post(call("1", "echo"), headers))).isEqualTo("one");
  }

  @Test
  void explanationNamesTheMessage() throws Exception {
    startOne("");
    String session = initialize();
    HttpResponse<String> response =
        post(call("1", "echo"), "mcp-session-id", session, "x-berth-explain", "1");
    String id = response.headers().firstValue("x-request-id").orElseThrow();
    String record = rig.node.admin("GET", "/api/v1/requests/" + id + "/explain", "").body();
    assertThat(record)
        .contains("tools/call echo, session of upstream " + session.substring(3, 19))
        .doesNotContain(session);
  }

  @Test
  void resumedCallIsNotCancelled() throws Exception {
    rig =
        UpstreamRig.ofMcp("", deployment("tools", "mcp: {resume_s: 0.5}", upstream(one.url(), 2)));
    rig.awaitOpen(2);
    String session = initialize();
    try (OpenStream running = openCall(call("w", "wait"), "mcp-session-id", session)) {
      running.next("data: ");
    }
    String other = initialize();
    try (OpenStream resumed = open(to("mcp-session-id", session, "last-event-id", "w-1").GET())) {
      resumed.next("data: ");
      try (OpenStream running = openCall(call("v", "wait"), "mcp-session-id", other)) {
        running.next("data: ");
      }
      until(() -> one.methods().contains("notifications/cancelled"), "notification");
      assertThat(one.received)
          .filteredOn(each -> each.body().contains("notifications/cancelled"))
          .allMatch(each -> each.body().contains("\"requestId\":\"v\"")); // the later one
    }
    one.release("w");
    one.release("v");
    rig.awaitSum("running", 0);
  }

  // --- the stateless revision ---

  private String[] stateless(String method, String name) {
    return new String[] {
      "mcp-protocol-version", "2026-07-28", "mcp-method", method, "mcp-name", name
    };
  }

  private static String statelessCall(String id, String tool) {
    return request(
        id,
        "tools/call",
        ("{\"name\":\"%s\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                + "\"2026-07-28\"}}")
            .formatted(tool));
  }

  @Test
  void leavingClientCancelsAStatelessCall() throws Exception {
    startOne("");
    try (OpenStream running =
        openCall(statelessCall("w", "wait"), stateless("tools/call", "wait"))) {
      running.next("data: ");
    }
    until(() -> one.abandoned.contains("w"), "call cancelled");
    rig.awaitSum("running", 0);
  }

  @Test
  void headerUnlikeTheBodyReachesNoServer() throws Exception {
    startOne("");
    int before = one.received.size();
    assertRefused(
        post(statelessCall("a", "wait"), stateless("tools/call", "echo")), 400, "header_mismatch");
    assertRefused(
        post(statelessCall("a", "wait"), "mcp-protocol-version", "2026-07-28"),
        400,
        "header_mismatch");
    assertRefused(send(to("mcp-protocol-version", "2026-07-28").GET()), 405, "method_not_allowed");
    assertThat(one.received).hasSize(before);
    assertThat(
            post(
                    statelessCall("a", "echo"),
                    "mcp-protocol-version",
                    "2026-07-28",
                    "mcp-method",
                    "tools/call",
                    "mcp-name",
                    "echo",
                    "mcp-session-id",
                    "ignored")
                .statusCode())
        .isEqualTo(200);
  }

  @Test
  void subscriptionCountsAsAStream() throws Exception {
    startOne("max_streams: 1");
    String listen =
        request(
            "l",
            "subscriptions/listen",
            "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}");
    String[] headers = {"mcp-protocol-version", "2026-07-28", "mcp-method", "subscriptions/listen"};
    try (OpenStream stream = openCall(listen, headers)) {
      stream.next("data: ");
      assertThat(rig.sum("running")).isZero();
      assertRefused(post(listen.replace("\"l\"", "\"m\""), headers), 503, "back_pressure");
      assertThat(server(post(statelessCall("c", "echo"), stateless("tools/call", "echo"))))
          .isEqualTo("one");
    }
    until(() -> one.abandoned.contains("l"), "subscription closed");
  }

  // --- rules of requests ---

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[{}]|||400|invalid_message",
        "{|||400|invalid_json",
        "{\"id\":1,\"method\":\"ping\"}|origin|https://evil.example|403|origin_refused",
        "{\"id\":1,\"method\":\"ping\"}|mcp-protocol-version|1900-01-01|400|unsupported_version",
        "{\"id\":1,\"method\":\"ping\"}|content-encoding|gzip|415|unsupported_encoding"
      })
  void badRequestReachesNoServer(
      String body, String header, String value, int status, String reason) throws Exception {
    startOne("");
    String[] headers = header == null ? new String[0] : new String[] {header, value};
    assertRefused(post(body, headers), status, reason);
    assertThat(one.received).isEmpty();
    assertThat(rig.sum("granted")).isZero();
  }

  @Test
  void authorizationStopsHereAndAPermittedOriginPasses() throws Exception {
    startOne("origins: ['https://app.example']");
    assertThat(
            post(
                    call("1", "echo"),
                    "authorization",
                    "Bearer secret",
                    "origin",
                    "https://app.example",
                    "x-berth-mcp",
                    "CLOSED")
                .statusCode())
        .isEqualTo(200);
    assertThat(one.received.get(0).headers())
        .doesNotContainKeys("authorization", "x-berth-mcp")
        .containsKey("origin");
  }
}
