package dev.berth.admin;

import dev.berth.net.http.RefusedRequest;
import dev.berth.view.CommandRefused;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * How the admin API says no: {@code {"code", "message", "detail"}}. Programs read the code, which
 * stays; people read the message, and the detail when there is one. Sent, or thrown by a handler:
 * then the server sends it. Expected, so without a stack.
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
   * @param code what programs compare, {@code not_found}
   * @param message what is wrong
   * @param detail why it may be so, or what helps
   */
  public AdminRefusal(int status, String code, String message, String detail) {
    this(status, code, message);
    body.put("detail", detail);
  }

  static AdminRefusal of(RefusedRequest refused) {
    String why = String.valueOf(refused.getMessage());
    return new AdminRefusal(refused.status(), refused.code(), why);
  }

  /** That of a command, with {@code problems} beside; null for what failed otherwise. */
  static @Nullable AdminRefusal of(Throwable failed) {
    if (!(failed instanceof CommandRefused refused)) {
      return failed instanceof AdminRefusal told ? told : null;
    }
    CommandRefused.Kind kind = refused.kind();
    AdminRefusal told =
        new AdminRefusal(kind.status, kind.code, String.valueOf(refused.getMessage()));
    told.body.put("problems", new JsonArray(refused.problems()));
    return told;
  }

  void send(HttpServerResponse response) {
    Answers.send(response, status, Answers.JSON_UTF_8, body.encode());
  }
}
