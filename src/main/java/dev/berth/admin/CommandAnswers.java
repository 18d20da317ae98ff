package dev.berth.admin;

import dev.berth.protocol.DeployOutcome;
import dev.berth.protocol.ServeDetails;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
import dev.berth.protocol.port.ControllerCommands;
import dev.berth.protocol.port.ControllerCommands.Submitted;
import io.vertx.core.Future;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * What is said of a command: one line in the log when it was accepted, and why when it was not. Ray
 * Serve's paths say that in plain text, ours in JSON.
 *
 * @param refuse says why not
 */
record CommandAnswers(ControllerCommands commands, BiConsumer<RoutingContext, Throwable> refuse) {
  private static final Logger LOG = LoggerFactory.getLogger(CommandAnswers.class);

  /** Commands that know which request gives them, if it says so. */
  ControllerCommands once(RoutingContext context) {
    List<String> ids = context.request().headers().getAll(ControllerCommands.ID);
    if (ids.size() > 1) {
      throw new CommandRefused(Kind.INVALID, ControllerCommands.ID + ": several (expected: one)");
    }
    return commands.once(ids.isEmpty() ? null : ids.get(0));
  }

  /**
   * Has a command carried out; what it throws is a failure as any other.
   *
   * @param done answers
   */
  <T> void carryOut(RoutingContext context, Supplier<Future<T>> command, Consumer<T> done) {
    Future.succeededFuture()
        .compose(now -> command.get())
        .onComplete(done::accept, failed -> refuse.accept(context, failed));
  }

  /**
   * Declares what the body says.
   *
   * @param what the body's text is made
   * @param done answers
   */
  void deploy(
      RoutingContext context,
      Bodies bodies,
      Function<String, Submitted> what,
      Consumer<DeployOutcome> done) {
    bodies
        .read(context)
        .onSuccess(
            body ->
                carryOut(
                    context,
                    () ->
                        Future.succeededFuture()
                            .compose(now -> body.decode(context.vertx()))
                            .compose(text -> once(context).deploy(what.apply(text)))
                            .onComplete(over -> body.release()),
                    done));
  }

  /** Everything: of a thousand applications it is megabytes, so not made on the control loop. */
  void details(RoutingContext context, Function<ServeDetails, String> json) {
    carryOut(
        context,
        () ->
            commands
                .details()
                .compose(serve -> context.vertx().executeBlocking(() -> json.apply(serve), false)),
        text -> send(context, 200, "application/json", text));
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
    send(context, status, "text/plain", text);
  }

  static void sendJson(RoutingContext context, int status, JsonObject body) {
    send(context, status, "application/json", body.encode());
  }

  private static void send(RoutingContext context, int status, String type, String text) {
    context
        .response()
        .setStatusCode(status)
        .putHeader(HttpHeaders.CONTENT_TYPE, type + "; charset=utf-8")
        .end(text);
  }
}
