package dev.berth.admin;

import dev.berth.protocol.http.RefusedRequest;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import org.jspecify.annotations.Nullable;

/**
 * How the admin API says no: {@code {"code", "message", "detail"}}. Programs read the code, which
 * stays; people read the message, and the detail when there is one.
 */
public final class JsonErrors {
  private JsonErrors() {}

  public static void send(RoutingContext context, int status, String code, String message) {
    send(context, status, code, message, null);
  }

  /** Answers a request whose head could not be read; it is the last of its connection. */
  static void refuse(HttpServerRequest request) {
    RefusedRequest refused = RefusedRequest.of(request);
    if (refused == null) {
      HttpServerRequest.DEFAULT_INVALID_REQUEST_HANDLER.handle(request);
      return;
    }
    refused.tell(request);
    request
        .response()
        .setStatusCode(refused.status())
        .putHeader(HttpHeaders.CONTENT_TYPE, "application/json")
        .putHeader(HttpHeaders.CONNECTION, HttpHeaders.CLOSE)
        .end(
            new JsonObject()
                .put("code", refused.code())
                .put("message", refused.getMessage())
                .encode());
    request.connection().close();
  }

  /**
   * @param code what programs compare, {@code not_found}
   * @param message what is wrong
   * @param detail why it may be so, or what helps; null for none
   */
  public static void send(
      RoutingContext context, int status, String code, String message, @Nullable String detail) {
    JsonObject body = new JsonObject().put("code", code).put("message", message);
    if (detail != null) {
      body.put("detail", detail);
    }
    context
        .response()
        .setStatusCode(status)
        .putHeader(HttpHeaders.CONTENT_TYPE, "application/json")
        .end(body.encode());
  }
}
