package dev.berth.dialect.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.mcp.McpCall.CallKind;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class McpRulesTest {
  private static final String META =
      ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}";

  private final Map<String, String> headers =
      new HashMap<>(
          Map.of(
              "mcp-protocol-version", "2026-07-28",
              "mcp-method", "tools/call",
              "mcp-name", "search"));

  private McpCall of(String method, String parameters, McpRevision revision) {
    String body = "{\"id\":1,\"method\":\"" + method + "\",\"params\":{" + parameters + "}}";
    return McpRules.ofMessage(McpScanner.scan(Buffer.buffer(body)), revision, headers::get);
  }

  private static void assertRefused(int status, String code, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            DialectProblem.class,
            problem -> {
              assertThat(problem.response().status()).isEqualTo(status);
              assertThat(problem.response().code()).isEqualTo(code);
            });
  }

  @ParameterizedTest
  @CsvSource({
    "tools/call, REQUEST, search",
    "initialize, REQUEST, ''",
    "ping, MESSAGE, ''",
    "subscriptions/listen, REQUEST, ''" // a stream in the stateless revision only
  })
  void methodDecidesWhetherARequestTakesASlot(String method, CallKind kind, String tool) {
    headers.clear(); // earlier revisions read none
    assertThat(of(method, "\"name\":\"search\"", McpRevision.SESSIONS))
        .isEqualTo(new McpCall(kind, tool));
  }

  @Test
  void responsesNotificationsAndTheEndOfASessionTakeNoSlot() {
    McpCall message = new McpCall(CallKind.MESSAGE, "");
    for (String body :
        new String[] {"{\"id\":1,\"result\":{}}", "{\"method\":\"notifications/x\"}"}) {
      assertThat(
              McpRules.ofMessage(
                  McpScanner.scan(Buffer.buffer(body)), McpRevision.SESSIONS, headers::get))
          .isEqualTo(message);
    }
    assertThat(McpRules.ofMethod("DELETE", false)).isEqualTo(message);
    assertThat(McpRules.ofMethod("GET", false).kind()).isEqualTo(CallKind.LISTEN);
    assertThat(McpRules.ofMethod("GET", true).kind()).isEqualTo(CallKind.STREAM);
  }

  @ParameterizedTest
  @CsvSource({
    "mcp-method, ''",
    "mcp-method, tools/list",
    "mcp-method, TOOLS/CALL",
    "mcp-name, ''",
    "mcp-name, other",
    "mcp-name, =?base64?b3RoZXI=?=",
    "mcp-name, =?base64?!?=",
    "mcp-protocol-version, 2025-11-25"
  })
  void headerUnlikeTheBodyIsRefused(String header, String value) {
    headers.put(header, value);
    headers.values().remove("");
    assertRefused(
        400,
        "header_mismatch",
        () -> of("tools/call", "\"name\":\"search\"" + META, McpRevision.STATELESS));
  }

  @ParameterizedTest
  @CsvSource({"search", "=?base64?c2VhcmNo?="})
  void headerLikeTheBodyIsAccepted(String name) {
    headers.put("mcp-name", name);
    assertThat(of("tools/call", "\"name\":\"search\"" + META, McpRevision.STATELESS))
        .isEqualTo(new McpCall(CallKind.REQUEST, "search"));
  }

  @Test
  void nameOfAResourceIsItsUri() {
    headers.put("mcp-method", "resources/read");
    headers.put("mcp-name", "file:///a");
    assertThat(of("resources/read", "\"uri\":\"file:///a\"" + META, McpRevision.STATELESS).kind())
        .isEqualTo(CallKind.REQUEST);
  }

  @Test
  void toolWithANameThatNoHeaderCarriesHasNoLimit() {
    assertThat(of("tools/call", "\"name\":\"a b\\r\\n\"", McpRevision.SESSIONS).tool()).isEmpty();
    assertThat(McpCall.read(new McpCall(CallKind.REQUEST, "a").header()))
        .isEqualTo(new McpCall(CallKind.REQUEST, "a"));
    assertThat(McpCall.read(null)).isNull();
  }

  @Test
  void versionSelectsTheRevision() {
    assertThat(McpRevision.of(null)).isEqualTo(McpRevision.SESSIONS);
    assertThat(McpRevision.of("2025-06-18")).isEqualTo(McpRevision.SESSIONS);
    assertThat(McpRevision.of("2026-07-28")).isEqualTo(McpRevision.STATELESS);
    assertRefused(400, "unsupported_version", () -> McpRevision.of("1900-01-01"));
  }

  @ParameterizedTest
  @CsvSource({"'', PUT, 405", "/, POST, 404", "/x, POST, 404", "'', GET, 0"})
  void targetIsTheEndpoint(String path, String method, int status) {
    ThrowingCallable check = () -> McpRules.checkTarget(path, method, McpRevision.SESSIONS);
    if (status == 0) {
      McpRules.checkTarget(path, method, McpRevision.SESSIONS);
    } else {
      assertRefused(status, status == 404 ? "unknown_path" : "method_not_allowed", check);
    }
    assertRefused(
        405, "method_not_allowed", () -> McpRules.checkTarget("", "GET", McpRevision.STATELESS));
  }

  @ParameterizedTest
  @CsvSource({", false", "https://app.example, false", "https://evil.example, true", "null, true"})
  void originOfAPageIsPermittedByTheOperatorOnly(@Nullable String origin, boolean refused) {
    ThrowingCallable check = () -> McpRules.checkOrigin(origin, Set.of("https://app.example"));
    if (refused) {
      assertRefused(403, "origin_refused", check);
    } else {
      McpRules.checkOrigin(origin, Set.of("https://app.example"));
    }
  }

  @Test
  void errorRepeatsTheIdOfItsRequest() {
    DialectProblem lost = McpErrors.lostSession();
    JsonObject body = McpErrors.body(lost.response(), "\"a\"", null, "r").toJsonObject();
    assertThat(body.getString("id")).isEqualTo("a");
    assertThat(body.getJsonObject("error").getInteger("code")).isEqualTo(-32_600);
    assertThat(body.getJsonObject("error").getJsonObject("data").getString("reason"))
        .isEqualTo("session_not_found");
    assertThat(McpErrors.event(lost.response(), "1", "r").toString())
        .startsWith("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,")
        .endsWith("}\n\n");
  }
}
