package dev.berth.admin;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import dev.berth.view.ControllerCommands.DeployRequest;
import dev.berth.view.DeployOutcome;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Operator routes without an equivalent in Ray Serve.
 *
 * <pre>
 *   GET    /api/v1/serve                                             200, ServeJson
 *   PUT    /api/v1/applications[?prune=all][&revision=N][&dry_run=true] 200, DeployOutcome
 *   PUT    /api/v1/applications/{app}[?dry_run=true]                 200, DeployOutcome
 *   DELETE /api/v1/applications/{app}                                200, nothing
 *   GET    /api/v1/applications/{app}/history                        200, {"revisions"}
 *   GET    /api/v1/applications/{app}/deployments/{dep}/autoscaling  200, last autoscaling decision
 *   POST   /api/v1/applications/{app}/rollback[?to=N][&dry_run=true] 200, {"revision"}
 *   DELETE /api/v1/applications/{app}/deployments/{dep}/replicas/{id} 202, {"message"}
 *   POST   /api/v1/controller/restart                                200, {"message"}
 *   POST   /api/v1/drain                                             202, {"message"}
 * </pre>
 *
 * A refusal is 400, 404, 412 or 503 with {@code {"code", "message", "problems"}}.
 *
 * @param kill ends a replica of this instance; returns false for an unknown id
 * @param blocked the event loops of this instance that run no tasks
 */
record OperatorRoutes(
    ControllerCommands commands,
    BiPredicate<DeploymentId, String> kill,
    RequestBodyReader bodies,
    Supplier<List<BlockedLoop>> blocked)
    implements AdminRoutes {
  private static final String DRY_RUN = "dry_run";
  private static final String APPLICATION = "/api/v1/applications/:application";

  @Override
  public void mount(Router router) {
    router.get("/api/v1/serve").handler(this::details);
    router.put("/api/v1/applications").handler(context -> deploy(context, null));
    router.put(APPLICATION).handler(context -> deploy(context, context.pathParam("application")));
    router.get(APPLICATION + "/history").handler(this::history);
    router.get(APPLICATION + "/deployments/:deployment/autoscaling").handler(this::autoscaling);
    router.delete(APPLICATION).handler(this::delete);
    router.post(APPLICATION + "/rollback").handler(this::rollback);
    router
        .delete(APPLICATION + "/deployments/:deployment/replicas/:replica")
        .handler(this::killReplica);
    router.post("/api/v1/controller/restart").handler(this::restartController);
    AdminRoutes.drain(commands::drain).mount(router);
  }

  private void details(RoutingContext context) {
    AdminResponses.details(
        context,
        commands,
        serve ->
            ServeJson.of(serve)
                    .put(
                        "blocked_loops",
                        AdminResponses.array(
                            blocked.get(), loop -> ServeJson.of(loop).put("text", loop.text())))
                    .encodePrettily()
                + "\n");
  }

  private void deploy(RoutingContext context, @Nullable String only) {
    QueryParameters query =
        only == null
            ? QueryParameters.of(context, true, "prune", "revision", DRY_RUN)
            : QueryParameters.of(context, true, DRY_RUN);
    String file = context.request().getHeader(ControllerCommands.FILE);
    boolean prunes = query.is("prune", "all");
    Long revision = query.number("revision", 0, Long.MAX_VALUE);
    boolean dryRun = query.is(DRY_RUN, "true");
    Function<String, DeployRequest> what =
        config -> new DeployRequest(only, config, file, prunes, revision, dryRun);
    Future<DeployOutcome> deployed = AdminResponses.deploy(context, commands, bodies, what);
    if (!dryRun) {
      deployed.onSuccess(outcome -> AdminResponses.accepted(context, "deploy"));
    }
    AdminResponses.json(context, deployed, ServeJson::of);
  }

  private void history(RoutingContext context) {
    AdminResponses.json(
        context,
        commands.history(context.pathParam("application")),
        all -> new JsonObject().put("revisions", AdminResponses.array(all, ServeJson::of)));
  }

  private void autoscaling(RoutingContext context) {
    Future<JsonObject> found =
        commands
            .autoscaling(context.pathParam("application"), context.pathParam("deployment"))
            .compose(json -> context.vertx().executeBlocking(json::get, false));
    AdminResponses.json(context, found, json -> json);
  }

  private void delete(RoutingContext context) {
    String application = context.pathParam("application");
    Future<Void> deleted = AdminResponses.once(commands, context).delete(application);
    AdminResponses.done(context, deleted, 200, null, "delete");
  }

  private void rollback(RoutingContext context) {
    String application = context.pathParam("application");
    QueryParameters query = QueryParameters.of(context, true, "to", DRY_RUN);
    boolean dryRun = query.is(DRY_RUN, "true");
    Long to = query.number("to", 0, Long.MAX_VALUE);
    Future<Long> back = AdminResponses.once(commands, context).rollback(application, to, dryRun);
    if (!dryRun) {
      back.onSuccess(made -> AdminResponses.accepted(context, "rollback", "revision", made));
    }
    String key = dryRun ? "to" : "revision";
    AdminResponses.json(context, back, revision -> new JsonObject().put(key, revision));
  }

  private void killReplica(RoutingContext context) {
    DeploymentId deployment =
        new DeploymentId(context.pathParam("application"), context.pathParam("deployment"));
    String replica = context.pathParam("replica");
    if (!kill.test(deployment, replica)) {
      throw CommandRejectedException.notFound(
          "replica: %s (expected: one of %s on this instance)", replica, deployment);
    }
    String told = "The replica stops now; another one replaces it.";
    AdminResponses.done(context, Future.succeededFuture(), 202, told, "kill replica");
  }

  private void restartController(RoutingContext context) {
    String told = "The controller was restarted.";
    AdminResponses.done(context, commands.restartController(), 200, told, "restart controller");
  }
}
