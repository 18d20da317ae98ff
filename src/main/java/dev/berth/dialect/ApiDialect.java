package dev.berth.dialect;

import dev.berth.protocol.port.HttpErrorResponse;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import org.jspecify.annotations.Nullable;

/** The form of errors that a client expects. */
public enum ApiDialect {
  OPENAI,
  ANTHROPIC;

  /**
   * Returns the dialect of a request. The operations on models exist in both; there, and on unknown
   * paths, a header decides.
   *
   * @param path path without query, behind the route prefix
   * @param versioned whether the request has the header {@code anthropic-version}
   */
  public static ApiDialect of(String path, boolean versioned) {
    if (path.equals("/v1/messages") || path.startsWith("/v1/messages/")) {
      return ANTHROPIC;
    }
    DialectCall call = DialectCall.of(path);
    boolean ofBoth = call == null || call == DialectCall.MODELS || call == DialectCall.MODEL;
    return ofBoth && versioned ? ANTHROPIC : OPENAI;
  }

  /**
   * Returns the JSON body of a failed request.
   *
   * @param param the parameter of the request that caused the failure; null if there is none
   */
  public Buffer errorBody(HttpErrorResponse failure, @Nullable String param, String requestId) {
    if (this == OPENAI) {
      return new JsonObject().put("error", openAiError(failure, param)).toBuffer();
    }
    JsonObject error =
        new JsonObject()
            .put("type", anthropicType(failure.status()))
            .put("message", failure.words());
    return new JsonObject()
        .put("type", "error")
        .put("error", error)
        .put("request_id", requestId)
        .toBuffer();
  }

  /**
   * Returns the event that ends a stream after a failure.
   *
   * <p>Source: the {@code Stream} of openai-python, openai-node and their Anthropic counterparts.
   * OpenAI's raise an error for data with a member {@code error}, Anthropic's for an event named
   * {@code error}. The Responses API documents {@code code} and {@code message} at the top level,
   * and its server sends them in {@code error} (openai-dotnet 881). This event has both.
   *
   * @param sequence number of events before this one ({@link EventStream#events})
   */
  public static Buffer errorEvent(
      DialectCall call, HttpErrorResponse failure, String requestId, long sequence) {
    return switch (call) {
      case MESSAGES, COUNT_TOKENS -> event(ANTHROPIC.errorBody(failure, null, requestId));
      case RESPONSES, STORED_RESPONSE ->
          event(
              new JsonObject()
                  .put("type", "error")
                  .put("code", failure.code())
                  .put("message", failure.words())
                  .putNull("param")
                  .put("sequence_number", sequence)
                  .put("error", openAiError(failure, null)));
      default -> Buffer.buffer("data: " + OPENAI.errorBody(failure, null, requestId) + "\n\n");
    };
  }

  private static Buffer event(Object data) {
    return Buffer.buffer("event: error\ndata: " + data + "\n\n");
  }

  private static JsonObject openAiError(HttpErrorResponse failure, @Nullable String param) {
    return new JsonObject()
        .put("message", failure.words())
        .put("type", openAiType(failure.status()))
        .put("param", param)
        .put("code", failure.code());
  }

  private static String openAiType(int status) {
    return switch (status) {
      case 429 -> "rate_limit_error";
      case 503 -> "service_unavailable_error";
      case 408 -> "server_error"; // a deadline of the server, not an error of the request
      default -> status < 500 ? "invalid_request_error" : "server_error";
    };
  }

  private static String anthropicType(int status) {
    return switch (status) {
      case 401 -> "authentication_error";
      case 403 -> "permission_error";
      case 404 -> "not_found_error";
      case 408, 504 -> "timeout_error";
      case 413 -> "request_too_large";
      case 429 -> "rate_limit_error";
      case 503, 529 -> "overloaded_error";
      default -> status < 500 ? "invalid_request_error" : "api_error";
    };
  }
}
