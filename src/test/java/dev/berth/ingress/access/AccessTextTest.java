package dev.berth.ingress.access;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.LogEncoding;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class AccessTextTest {
  private static final long TIME = 1_795_251_723_004L;

  private final AccessLog log = new AccessLog(8, () -> TIME, line -> {});

  private AccessEntry entry(LogEncoding encoding, String method, String path, String requestId) {
    AccessRoute route = new AccessRoute(log, encoding, "/shop", "app", "till");
    return new AccessEntry(route, method, path, "HTTP/1.1", "10.0.0.7:4711", requestId, 0);
  }

  private AccessEntry served(LogEncoding encoding) {
    AccessEntry entry = entry(encoding, "POST", "/shop/1", "r-1");
    entry.called(nanos(1));
    entry.routed("app#till#x", nanos(3));
    entry.complete(200, 12, 345, nanos(10) + 500_000);
    return entry;
  }

  private static long nanos(long millis) {
    return Duration.ofMillis(millis).toNanos();
  }

  @Test
  void aLineOfTextBeginsAsRays() {
    assertThat(AccessText.line(served(LogEncoding.TEXT)))
        .isEqualTo(
            "2026-11-21T09:02:03.004Z POST /shop 200 10.500ms path=/shop/1 application=app"
                + " deployment=till replica=app#till#x flag=- queue_ms=2.000 handler_ms=7.500"
                + " bytes_in=12 bytes_out=345 request_id=r-1 protocol=HTTP/1.1"
                + " peer=10.0.0.7:4711");
  }

  @Test
  void aLineOfJsonHasTheSameFields() {
    JsonObject line = new JsonObject(AccessText.line(served(LogEncoding.JSON)));
    assertThat(line)
        .isEqualTo(
            new JsonObject(
                """
                {"time": "2026-11-21T09:02:03.004Z", "method": "POST", "route": "/shop",
                 "path": "/shop/1", "application": "app", "deployment": "till",
                 "replica": "app#till#x", "status": 200, "flag": "-", "queue_ms": 2.0,
                 "handler_ms": 7.5, "total_ms": 10.5, "bytes_in": 12, "bytes_out": 345,
                 "request_id": "r-1", "protocol": "HTTP/1.1", "peer": "10.0.0.7:4711"}
                """));
  }

  @Test
  void lineOfAMessageOfMcpHasItsMethodAndTool() {
    AccessEntry call = entry(LogEncoding.TEXT, "POST", "/mcp", "r-1");
    call.message("tools/call", "search");
    call.complete(200, 0, 0, 0);
    assertThat(AccessText.line(call)).contains(" mcp_method=tools/call mcp_tool=search request_id");
  }

  @Test
  void costOfMoreThanOneSlotIsAField() {
    AccessEntry costly = entry(LogEncoding.TEXT, "GET", "/shop", "r-1");
    costly.cost(3);
    costly.complete(200, 0, 0, 0);
    assertThat(AccessText.line(costly)).contains(" handler_ms=- cost=3 bytes_in=0 ");
  }

  @Test
  void whatDidNotHappenHasNoTime() {
    AccessEntry refused = entry(LogEncoding.TEXT, "GET", "/shop", "r");
    refused.outcome(AccessOutcome.OVERLOAD);
    refused.complete(503, 0, 0, nanos(1));
    assertThat(AccessText.line(refused)).contains(" replica=- flag=UO queue_ms=- handler_ms=- ");
    AccessEntry queued = entry(LogEncoding.JSON, "GET", "/shop", "r");
    queued.called(nanos(1));
    queued.outcome(AccessOutcome.TIMEOUT);
    queued.complete(408, 0, 0, nanos(31));
    JsonObject line = new JsonObject(AccessText.line(queued));
    assertThat(line.getDouble("queue_ms")).isEqualTo(30.0);
    assertThat(line.getValue("handler_ms")).isNull();
  }

  @Test
  void theFirstReasonStays() {
    AccessEntry entry = entry(LogEncoding.TEXT, "GET", "/", "r");
    entry.outcome(AccessOutcome.TIMEOUT);
    entry.outcome(AccessOutcome.CLIENT_GONE);
    entry.complete(408, 0, 0, 0);
    assertThat(AccessText.line(entry)).contains(" flag=UT ");
  }

  @Test
  void aClientCannotEndALineOrAddAField() {
    AccessEntry entry =
        entry(
            LogEncoding.TEXT, "GE T", "/a\r\n2026 GET / 200\u0085\u2028\u202e status=\"1\"\\", "-");
    entry.complete(404, 0, 0, 0);
    assertThat(AccessText.line(entry))
        .hasLineCount(1)
        .contains(" \"GE T\" ")
        .contains(
            " path=\"/a\\u000d\\u000a2026 GET / 200\\u0085\\u2028\\u202e status=\\\"1\\\"\\\\\" ")
        .contains(" request_id=\"-\" ");
  }

  @Test
  void anyTextComesBackFromJsonAsItWas() {
    long seed = 7;
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 2_000; i++) {
      StringBuilder text = new StringBuilder();
      for (int length = random.nextInt(20); length > 0; length--) {
        text.append((char) (random.nextBoolean() ? random.nextInt(256) : random.nextInt(65_536)));
      }
      AccessEntry entry = entry(LogEncoding.JSON, "GET", text.toString(), "r");
      entry.complete(200, 0, 0, 0);
      String line = AccessText.line(entry);
      assertThat(new JsonObject(line).getString("path"))
          .as("seed %d", seed)
          .isEqualTo(text.toString());
      assertThat(line.chars().noneMatch(c -> c < ' ' || (c >= 0x7f && c < 0xa0)))
          .as("seed %d, controls in %s", seed, line)
          .isTrue();
    }
  }
}
