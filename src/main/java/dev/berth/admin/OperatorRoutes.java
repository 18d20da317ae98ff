package dev.berth.admin;

import static dev.berth.admin.CommandAnswers.accepted;
import static dev.berth.admin.CommandAnswers.ask;
import static dev.berth.admin.CommandAnswers.once;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.ControllerCommands;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;

/**
 * What operators may ask for and Ray Serve has no word for.
 *
 * <pre>
 *   GET    /api/v1/serve                                             200, ServeJson
 *   PUT    /api/v1/applications/{app}                                200, nothing
 *   DELETE /api/v1/applications/{app}                                200, nothing
 *   POST   /api/v1/applications/{app}/rollback                       200, {"revision"}
 *   DELETE /api/v1/applications/{app}/deployments/{dep}/replicas/{id} 202, {"message"}
 *   POST   /api/v1/controller/restart                                200, {"message"}
 *   POST   /api/v1/drain                                             202, {"message"}
 * </pre>
 *
 * A refusal is 400, 404, 412 or 503 with {@code {"code", "message", "problems"}}.
 */
final class OperatorRoutes implements AdminRoutes {
  private static final String APPLICATION = "/api/v1/applications/:application";

  private final ControllerCommands commands;
  private final ReplicaKill kill;
  private final Bodies bodies;

  OperatorRoutes(ControllerCommands commands, ReplicaKill kill, Bodies bodies) {
    this.commands = commands;
    this.kill = kill;
    this.bodies = bodies;
  }

  @Override
  public void mount(Router router) {
    router.get("/api/v1/serve").handler(this::details);
    router.put(APPLICATION).handler(this::deploy);
    router.delete(APPLICATION).handler(this::delete);
    router.post(APPLICATION + "/rollback").handler(this::rollback);
    router
        .delete(APPLICATION + "/deployments/:deployment/replicas/:replica")
        .handler(this::killReplica);
    router.post("/api/v1/controller/restart").handler(this::restartController);
    router.post("/api/v1/drain").handler(this::drain);
  }

  private void details(RoutingContext context) {
    ask(commands::details)
        // Of a thousand applications it is megabytes: not on the control loop.
        .compose(
            serve ->
                context
                    .vertx()
                    .executeBlocking(() -> ServeJson.of(serve).encodePrettily() + "\n", false))
        .onComplete(
            json ->
                context
                    .response()
                    .putHeader(HttpHeaders.CONTENT_TYPE, "application/json; charset=utf-8")
                    .end(json),
            failed -> CommandAnswers.refuseInJson(context, failed));
  }

  private void deploy(RoutingContext context) {
    String application = context.pathParam("application");
    bodies
        .read(context)
        .onSuccess(
            body ->
                ask(() ->
                        body.decode(context.vertx())
                            .compose(
                                config ->
                                    once(commands, context)
                                        .deploy(application, config, ServeRoutes.file(context))))
                    .onComplete(done -> body.release())
                    .onComplete(
                        done -> {
                          accepted(context, "deploy", "application", application);
                          context.response().end();
                        },
                        failed -> CommandAnswers.refuseInJson(context, failed)));
  }

  private void delete(RoutingContext context) {
    String application = context.pathParam("application");
    ask(() -> once(commands, context).delete(application))
        .onComplete(
            done -> {
              accepted(context, "delete", "application", application);
              context.response().end();
            },
            failed -> CommandAnswers.refuseInJson(context, failed));
  }

  private void rollback(RoutingContext context) {
    String application = context.pathParam("application");
    ask(() -> once(commands, context).rollback(application))
        .onComplete(
            revision -> {
              accepted(context, "rollback", "application", application, "revision", revision);
              CommandAnswers.sendJson(context, 200, new JsonObject().put("revision", revision));
            },
            failed -> CommandAnswers.refuseInJson(context, failed));
  }

  private void killReplica(RoutingContext context) {
    DeploymentId deployment =
        new DeploymentId(context.pathParam("application"), context.pathParam("deployment"));
    String replica = context.pathParam("replica");
    ask(() -> kill.kill(deployment, replica))
        .onComplete(
            killed -> {
              if (killed) {
                accepted(context, "kill replica", "replica", replica);
                message(context, 202, "The replica ends now; another takes its place.");
              } else {
                CommandAnswers.refuseInJson(
                    context,
                    new CommandRefused(
                        CommandRefused.Kind.NOT_FOUND,
                        "replica: %s (expected: one of %s on this instance)"
                            .formatted(replica, deployment)));
              }
            },
            failed -> CommandAnswers.refuseInJson(context, failed));
  }

  private void restartController(RoutingContext context) {
    ask(commands::restartController)
        .onComplete(
            done -> {
              accepted(context, "restart controller");
              message(context, 200, "The controller was started anew.");
            },
            failed -> CommandAnswers.refuseInJson(context, failed));
  }

  private void drain(RoutingContext context) {
    ask(commands::drain)
        .onComplete(
            begun -> {
              accepted(context, "drain");
              message(context, 202, "The instance drains, and ends then.");
            },
            failed -> CommandAnswers.refuseInJson(context, failed));
  }

  private static void message(RoutingContext context, int status, String text) {
    CommandAnswers.sendJson(context, status, new JsonObject().put("message", text));
  }
}
