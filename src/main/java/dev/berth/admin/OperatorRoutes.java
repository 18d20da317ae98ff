package dev.berth.admin;

import static dev.berth.admin.CommandAnswers.accepted;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.ControllerCommands;
import dev.berth.protocol.port.ControllerCommands.Submitted;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * What operators may ask for and Ray Serve has no word for.
 *
 * <pre>
 *   GET    /api/v1/serve                                             200, ServeJson
 *   PUT    /api/v1/applications[?prune=all][&revision=N][&dry_run=true] 200, DeployOutcome
 *   PUT    /api/v1/applications/{app}[?dry_run=true]                 200, DeployOutcome
 *   DELETE /api/v1/applications/{app}                                200, nothing
 *   GET    /api/v1/applications/{app}/history                        200, {"revisions"}
 *   POST   /api/v1/applications/{app}/rollback[?to=N][&dry_run=true] 200, {"revision"}
 *   DELETE /api/v1/applications/{app}/deployments/{dep}/replicas/{id} 202, {"message"}
 *   POST   /api/v1/controller/restart                                200, {"message"}
 *   POST   /api/v1/drain                                             202, {"message"}
 * </pre>
 *
 * A refusal is 400, 404, 412 or 503 with {@code {"code", "message", "problems"}}.
 */
final class OperatorRoutes implements AdminRoutes {
  private static final String DRY_RUN = "dry_run";
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
    router.put("/api/v1/applications").handler(context -> deploy(context, null));
    router.put(APPLICATION).handler(context -> deploy(context, context.pathParam("application")));
    router.get(APPLICATION + "/history").handler(this::history);
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

  private void deploy(RoutingContext context, @Nullable String only) {
    List<String> known = only == null ? List.of("prune", "revision", DRY_RUN) : List.of(DRY_RUN);
    if (QueryParameters.hasUnknown(context, known)) {
      return;
    }
    answers.deploy(
        context,
        bodies,
        config ->
            new Submitted(
                only,
                config,
                context.request().getHeader(ControllerCommands.FILE),
                QueryParameters.is(context, "prune", "all"),
                QueryParameters.number(context, "revision"),
                QueryParameters.is(context, DRY_RUN, "true")),
        outcome -> {
          if (!context.queryParams().contains(DRY_RUN)) {
            Object[] about = only == null ? new Object[0] : new Object[] {"application", only};
            accepted(context, "deploy", about);
          }
          CommandAnswers.sendJson(context, 200, ServeJson.of(outcome));
        });
  }

  private void history(RoutingContext context) {
    answers.carryOut(
        context,
        () -> answers.commands().history(context.pathParam("application")),
        all -> {
          JsonArray revisions = new JsonArray();
          all.forEach(each -> revisions.add(ServeJson.of(each)));
          CommandAnswers.sendJson(context, 200, new JsonObject().put("revisions", revisions));
        });
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
    if (QueryParameters.hasUnknown(context, List.of("to", DRY_RUN))) {
      return;
    }
    boolean dryRun = context.queryParams().contains(DRY_RUN);
    answers.carryOut(
        context,
        () ->
            answers
                .once(context)
                .rollback(
                    application,
                    QueryParameters.number(context, "to"),
                    QueryParameters.is(context, DRY_RUN, "true")),
        revision -> {
          if (!dryRun) {
            accepted(context, "rollback", "application", application, "revision", revision);
          }
          CommandAnswers.sendJson(
              context, 200, new JsonObject().put(dryRun ? "to" : "revision", revision));
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
