package dev.berth.admin;

import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import dev.berth.view.ControllerCommands.DeployRequest;
import dev.berth.view.DeployOutcome;
import dev.berth.view.ServeDetails;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.impl.HttpServerConnection;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** Responses of the admin port, and the log line of an accepted command. */
public final class AdminResponses {
  private static final String UTF_8 = "; charset=utf-8";
  static final String TEXT = "text/plain" + UTF_8;
  public static final String JSON = "application/json";
  static final String JSON_UTF_8 = JSON + UTF_8;

  private static final Logger LOG = LoggerFactory.getLogger(AdminResponses.class);

  private AdminResponses() {}

  /** Returns the commands with the idempotency key of this request, if it has one. */
  static ControllerCommands once(ControllerCommands commands, RoutingContext context) {
    List<String> ids = context.request().headers().getAll(ControllerCommands.ID);
    if (ids.size() > 1) {
      throw CommandRejectedException.invalid("%s: several (expected: one)", ControllerCommands.ID);
    }
    return commands.once(ids.isEmpty() ? null : ids.get(0));
  }

  /**
   * Declares the configuration in the request body.
   *
   * @param what converts the text of the body
   */
  static Future<DeployOutcome> deploy(
      RoutingContext context,
      ControllerCommands commands,
      RequestBodyReader bodies,
      Function<String, DeployRequest> what) {
    return bodies.use(context, (bytes, text) -> once(commands, context).deploy(what.apply(text)));
  }

  /**
   * Sends all details. For a thousand applications they are megabytes, so the JSON is made off the
   * control loop.
   */
  static void details(
      RoutingContext context, ControllerCommands commands, Function<ServeDetails, String> json) {
    Vertx vertx = context.vertx();
    Future<String> read =
        commands.details().compose(serve -> vertx.executeBlocking(() -> json.apply(serve), false));
    text(context, JSON_UTF_8, read);
  }

  /**
   * Responds once a command was carried out, and logs its caller.
   *
   * @param message message for operators; null for an empty response
   */
  static void done(
      RoutingContext context,
      Future<?> carriedOut,
      int status,
      @Nullable String message,
      String command) {
    carriedOut.onComplete(
        done -> {
          accepted(context, command);
          if (message == null) {
            context.response().setStatusCode(status).end();
          } else {
            json(context, status, new JsonObject().put("message", message));
          }
        },
        context::fail);
  }

  /**
   * Logs an accepted command with its caller and its path parameters.
   *
   * @param pairs further names and values, alternating
   */
  public static void accepted(RoutingContext context, String command, Object... pairs) {
    LoggingEventBuilder line =
        LOG.atInfo()
            .addKeyValue("command", command)
            .addKeyValue("by", AdminAuthFilter.callerOf(context));
    for (Map.Entry<String, String> named : new TreeMap<>(context.pathParams()).entrySet()) {
      line = line.addKeyValue(named.getKey(), named.getValue());
    }
    for (int at = 0; at < pairs.length; at += 2) {
      line = line.addKeyValue(String.valueOf(pairs[at]), pairs[at + 1]);
    }
    line.log("command accepted");
  }

  /** Returns the items as a JSON array. */
  static <T> JsonArray array(List<T> items, Function<T, JsonObject> shown) {
    return new JsonArray(items.stream().map(shown).toList());
  }

  /** Ends a response in progress at once, even if its client reads nothing. */
  public static void abort(RoutingContext context) {
    if (context.request().version() == HttpVersion.HTTP_2) {
      context.response().reset();
    } else {
      HttpServerConnection connection = (HttpServerConnection) context.request().connection();
      AdminConnections.drop(connection.channelHandlerContext().channel());
    }
  }

  /** Sends a text that is slow to produce, and produces it on a worker thread. */
  public static void read(RoutingContext context, String type, Callable<String> reader) {
    text(context, type, context.vertx().executeBlocking(reader, false));
  }

  /** Sends a text once it is available. */
  static void text(RoutingContext context, String type, Future<String> read) {
    // the text contains names chosen by clients
    context.response().putHeader("x-content-type-options", "nosniff");
    read.onComplete(text -> send(context.response(), 200, type, text), context::fail);
  }

  public static void json(RoutingContext context, int status, JsonObject body) {
    send(context.response(), status, JSON_UTF_8, body.encode());
  }

  /** Sends a result as JSON once it is available. */
  static <T> void json(RoutingContext context, Future<T> done, Function<T, JsonObject> shown) {
    done.onComplete(each -> json(context, 200, shown.apply(each)), context::fail);
  }

  static void send(HttpServerResponse response, int status, String type, String text) {
    response.setStatusCode(status).putHeader(HttpHeaders.CONTENT_TYPE, type).end(text);
  }

  /**
   * Returns a failure handler for refusals in another form than that of the admin API.
   *
   * @param answer sends the refusal
   */
  static Handler<RoutingContext> refusing(
      BiConsumer<RoutingContext, CommandRejectedException> answer) {
    return context -> {
      if (context.failure() instanceof CommandRejectedException refused) {
        answer.accept(context, refused);
      } else {
        context.next();
      }
    };
  }
}
