package dev.berth.dialect.mcp;

import dev.berth.dialect.DialectProblem;
import dev.berth.protocol.port.HttpErrorResponse;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * Failures as JSON-RPC errors. The codes are those of JSON-RPC and of the specification; the stable
 * name of the reason is in {@code data}.
 */
public final class McpErrors {
  private static final int INTERNAL = -32_603;
  private static final String LOST_SESSION = "session_not_found";
  private static final String SECOND_STREAM = "stream_open";

  private McpErrors() {}

  /** Returns the problem of a session that no upstream has: its client must start a new one. */
  public static DialectProblem lostSession() {
    return new DialectProblem(
        404,
        LOST_SESSION,
        "Mcp-Session-Id: no such session (expected: one of a reachable upstream)",
        null);
  }

  /** Returns the problem of a session that has a stream already. */
  public static DialectProblem secondStream() {
    return new DialectProblem(
        409,
        SECOND_STREAM,
        "GET: a stream of the session is open (expected: one per session)",
        null);
  }

  /**
   * Returns the problem that a replica has found.
   *
   * @param code of the problem; null for none
   */
  public static @Nullable DialectProblem ofReplica(@Nullable String code) {
    return LOST_SESSION.equals(code)
        ? lostSession()
        : SECOND_STREAM.equals(code) ? secondStream() : null;
  }

  /**
   * Returns the body of a failure.
   *
   * @param id of the request, as JSON
   * @param param requested version, if it is unsupported
   */
  public static Buffer body(
      HttpErrorResponse failure, String id, @Nullable String param, String requestId) {
    return Buffer.buffer(text(failure, id, param, requestId));
  }

  /** Returns the event that ends a stream after a failure. */
  public static Buffer event(HttpErrorResponse failure, String id, String requestId) {
    return Buffer.buffer("event: message\ndata: " + text(failure, id, null, requestId) + "\n\n");
  }

  private static String text(
      HttpErrorResponse failure, String id, @Nullable String param, String requestId) {
    JsonObject data = new JsonObject().put("reason", failure.code()).put("request_id", requestId);
    if (failure.code().equals(McpRevision.UNSUPPORTED)) {
      data.put("supported", new JsonArray(McpRevision.VERSIONS)).put("requested", param);
    }
    JsonObject error =
        new JsonObject()
            .put("code", code(failure))
            .put("message", failure.words())
            .put("data", data);
    return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"error\":" + error.encode() + "}";
  }

  private static int code(HttpErrorResponse failure) {
    return switch (failure.code()) {
      case "invalid_json" -> -32_700;
      case McpRules.MISMATCH -> -32_020;
      case McpRevision.UNSUPPORTED -> -32_022;
      default -> failure.status() < 500 && failure.status() != 429 ? -32_600 : INTERNAL;
    };
  }
}
