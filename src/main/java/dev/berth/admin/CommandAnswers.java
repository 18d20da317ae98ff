package dev.berth.admin;

import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.ControllerCommands;
import io.vertx.core.Future;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * What is said of a command: one line in the log when it was accepted, and why when it was not. Ray
 * Serve's paths say that in plain text, ours in JSON.
 */
final class CommandAnswers {
  private static final Logger LOG = LoggerFactory.getLogger(CommandAnswers.class);

  private CommandAnswers() {}

  /** Commands that know which request gives them, if it says so. */
  static ControllerCommands once(ControllerCommands commands, RoutingContext context) {
    return commands.once(context.request().getHeader(ControllerCommands.ID));
  }

  /** What it throws is a failure as any other. */
  static <T> Future<T> ask(Supplier<Future<T>> command) {
    return Future.succeededFuture().compose(now -> command.get());
  }

  /**
   * Logs who had what done.
   *
   * @param pairs names and values of what it is about, in turn
   */
  static void accepted(RoutingContext context, String command, Object... pairs) {
    LoggingEventBuilder line =
        LOG.atInfo().addKeyValue("command", command).addKeyValue("by", AdminGate.callerOf(context));
    for (int at = 0; at < pairs.length; at += 2) {
      line = line.addKeyValue(String.valueOf(pairs[at]), pairs[at + 1]);
    }
    line.log("command accepted");
  }

  static int statusOf(CommandRefused refused) {
    return switch (refused.kind()) {
      case INVALID -> 400;
      case NOT_FOUND -> 404;
      case PRECONDITION -> 412;
      case UNAVAILABLE -> 503;
    };
  }

  /** Every problem, one line each. */
  static void refuseInText(RoutingContext context, Throwable failed) {
    if (failed instanceof CommandRefused refused) {
      sendText(context, statusOf(refused), String.join("\n", refused.problems()));
    } else {
      context.fail(failed);
    }
  }

  /** As {@link JsonErrors}, with {@code problems} beside. */
  static void refuseInJson(RoutingContext context, Throwable failed) {
    if (failed instanceof CommandRefused refused) {
      String code =
          switch (refused.kind()) {
            case INVALID -> "invalid";
            case NOT_FOUND -> "not_found";
            case PRECONDITION -> "precondition_failed";
            case UNAVAILABLE -> "unavailable";
          };
      sendJson(
          context,
          statusOf(refused),
          new JsonObject()
              .put("code", code)
              .put("message", String.join("\n", refused.problems()))
              .put("problems", new JsonArray(refused.problems())));
    } else {
      context.fail(failed);
    }
  }

  static void sendText(RoutingContext context, int status, String text) {
    context
        .response()
        .setStatusCode(status)
        .putHeader(HttpHeaders.CONTENT_TYPE, "text/plain; charset=utf-8")
        .end(text);
  }

  static void sendJson(RoutingContext context, int status, JsonObject body) {
    context
        .response()
        .setStatusCode(status)
        .putHeader(HttpHeaders.CONTENT_TYPE, "application/json; charset=utf-8")
        .end(body.toBuffer());
  }
}
