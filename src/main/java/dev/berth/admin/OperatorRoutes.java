package dev.berth.admin;

import static dev.berth.admin.CommandAnswers.accepted;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.ControllerCommands;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.function.BiPredicate;

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

  private final CommandAnswers answers;
  private final BiPredicate<DeploymentId, String> kill;
  private final Bodies bodies;

  /**
   * @param kill ends a replica of this instance; false when there is none of that id
   */
  OperatorRoutes(
      ControllerCommands commands, BiPredicate<DeploymentId, String> kill, Bodies bodies) {
    this.answers = new CommandAnswers(commands, CommandAnswers::refuseInJson);
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
    answers.details(context, serve -> ServeJson.of(serve).encodePrettily() + "\n");
  }

  private void deploy(RoutingContext context) {
    String application = context.pathParam("application");
    answers.deploy(context, bodies, application, "application", application);
  }

  private void delete(RoutingContext context) {
    String application = context.pathParam("application");
    answers.carryOut(
        context,
        () -> answers.once(context).delete(application),
        done -> {
          accepted(context, "delete", "application", application);
          context.response().end();
        });
  }

  private void rollback(RoutingContext context) {
    String application = context.pathParam("application");
    answers.carryOut(
        context,
        () -> answers.once(context).rollback(application),
        revision -> {
          accepted(context, "rollback", "application", application, "revision", revision);
          CommandAnswers.sendJson(context, 200, new JsonObject().put("revision", revision));
        });
  }

  private void killReplica(RoutingContext context) {
    DeploymentId deployment =
        new DeploymentId(context.pathParam("application"), context.pathParam("deployment"));
    String replica = context.pathParam("replica");
    if (kill.test(deployment, replica)) {
      accepted(context, "kill replica", "replica", replica);
      message(context, 202, "The replica ends now; another takes its place.");
    } else {
      CommandAnswers.refuseInJson(
          context,
          new CommandRefused(
              CommandRefused.Kind.NOT_FOUND,
              "replica: %s (expected: one of %s on this instance)".formatted(replica, deployment)));
    }
  }

  private void restartController(RoutingContext context) {
    answers.carryOut(
        context,
        answers.commands()::restartController,
        done -> {
          accepted(context, "restart controller");
          message(context, 200, "The controller was started anew.");
        });
  }

  private void drain(RoutingContext context) {
    answers.carryOut(
        context,
        answers.commands()::drain,
        begun -> {
          accepted(context, "drain");
          message(context, 202, "The instance drains, and ends then.");
        });
  }

  private static void message(RoutingContext context, int status, String text) {
    CommandAnswers.sendJson(context, status, new JsonObject().put("message", text));
  }
}
