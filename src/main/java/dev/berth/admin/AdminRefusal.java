package dev.berth.admin;

import dev.berth.net.http.RefusedRequest;
import dev.berth.view.CommandRejectedException;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * Error of the admin API: {@code {"code", "message", "detail"}}. The code is stable, for programs.
 * The message and the optional detail are for operators. Sent directly, or thrown by a handler and
 * then sent by the server. An expected error, so without a stack.
 */
public final class AdminRefusal extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final int status;
  private final transient JsonObject body;

  private AdminRefusal(int status, JsonObject body) {
    super(body.getString("message"), null, false, false);
    this.status = status;
    this.body = body;
  }

  public AdminRefusal(int status, String code, String message) {
    this(status, new JsonObject().put("code", code).put("message", message));
  }

  /**
   * @param code stable name such as {@code not_found}, for programs
   * @param message description of the error
   * @param detail possible cause or remedy
   */
  public AdminRefusal(int status, String code, String message, String detail) {
    this(status, code, message);
    body.put("detail", detail);
  }

  static AdminRefusal of(RefusedRequest refused) {
    String why = String.valueOf(refused.getMessage());
    return new AdminRefusal(refused.status, refused.code(), why);
  }

  /**
   * Returns the refusal for a failed command, including its {@code problems}; null for other
   * failures.
   */
  static @Nullable AdminRefusal of(Throwable failed) {
    if (!(failed instanceof CommandRejectedException refused)) {
      return failed instanceof AdminRefusal told ? told : null;
    }
    CommandRejectedException.CommandRejectionReason kind = refused.kind();
    AdminRefusal told =
        new AdminRefusal(kind.status, kind.code, String.valueOf(refused.getMessage()));
    told.body.put("problems", new JsonArray(refused.problems()));
    return told;
  }

  void send(HttpServerResponse response) {
    AdminResponses.send(response, status, AdminResponses.JSON_UTF_8, body.encode());
  }
}
