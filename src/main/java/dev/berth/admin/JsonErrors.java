package dev.berth.admin;

import io.vertx.core.http.HttpHeaders;
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
