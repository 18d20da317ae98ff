package dev.berth.ingress;

import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.json.JsonObject;
import java.util.OptionalInt;

/**
 * What a client is told when its request has no response.
 *
 * @param status HTTP status
 * @param code stable name of the reason, for programs
 * @param message the reason, for people; all of the text form
 * @param detail whether the request ran, and what the client may do
 * @param retryAfterSeconds Retry-After, at least 1; empty is none
 */
public record ErrorAnswer(
    int status, String code, String message, String detail, OptionalInt retryAfterSeconds) {
  static final String TEXT = "text/plain; charset=utf-8";
  static final String JSON = "application/json";

  ErrorAnswer(int status, String code, String message, String detail) {
    this(status, code, message, detail, OptionalInt.empty());
  }

  /** Whether a client with these headers reads JSON. */
  static boolean isJsonFor(MultiMap headers) {
    String accept = headers.get(HttpHeaders.ACCEPT);
    return accept != null && accept.contains(JSON);
  }

  Buffer text() {
    return Buffer.buffer(message);
  }

  Buffer json(String requestId) {
    return new JsonObject()
        .put("code", code)
        .put("message", message)
        .put("detail", detail)
        .put("request_id", requestId)
        .toBuffer();
  }
}
