package dev.berth.admin;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.Meters;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import dev.berth.view.ControllerCommands.DeployRequest;
import dev.berth.view.TrafficView;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.Locale;
import java.util.function.BiPredicate;
import java.util.function.Supplier;

/**
 * Ray Serve's REST API, as its own commands use it.
 *
 * <pre>
 *   GET    /api/ray/version                                           200, Ray's version and ours
 *   GET    /api/serve/applications/[?api_type=imperative|declarative] 200, ServeInstanceDetails
 *   PUT    /api/serve/applications/                                   200, nothing; 400, problems
 *   DELETE /api/serve/applications/                                   200, nothing
 *   POST   /api/v1/applications/{app}/deployments/{dep}/scale         200, 400, 404, 412, 503
 * </pre>
 *
 * Operations without an equivalent in Ray Serve are in {@link OperatorRoutes}.
 *
 * <p>Source: {@code serve_head.py} of Ray 2.60. Without the final slash Ray responds with 404,
 * Berth with 308 to the path with the slash.
 */
public final class ServeRoutes implements AdminRoutes {
  /** Version of the implemented REST API; Ray's commands require at least 1.12. */
  static final String RAY_VERSION = "2.60.0";

  /** Version of the API itself, as in Ray 2.60. */
  private static final String API_VERSION = "4";

  private static final String SCALING =
      "Scaling request received. Deployment will get scaled asynchronously.";

  /** Path of the whole configuration. */
  public static final String APPLICATIONS = "/api/serve/applications/";

  private final ControllerCommands commands;
  private final RequestBodyReader bodies = RequestBodyReader.ofDeclarations();
  private final OperatorRoutes ours;
  private final TrafficRoutes traffic;
  private final RayDetails shape;
  private final String version;
  private final String session;

  /**
   * @param kill ends a replica of this instance, on the control loop, as if it had died; returns
   *     false for an unknown id
   * @param http view of the ingress
   * @param blocked blocked event loops of this instance
   * @param view traffic splits of the routes
   * @param version version of Berth
   * @param session session name, different for each start of the instance
   */
  public ServeRoutes(
      ControllerCommands commands,
      BiPredicate<DeploymentId, String> kill,
      TrafficView view,
      HttpView http,
      Supplier<List<BlockedLoop>> blocked,
      Meters meters,
      String version,
      String session) {
    this.commands = commands;
    this.ours = new OperatorRoutes(commands, kill, bodies, blocked);
    this.traffic = new TrafficRoutes(view, commands, bodies);
    this.shape = new RayDetails(http);
    this.version = version;
    this.session = session;
    bodies.show(meters);
  }

  @Override
  public void mount(Router router) {
    router.get("/api/ray/version").handler(this::version);
    Handler<RoutingContext> inText = refusingInText();
    router.get(APPLICATIONS).handler(this::details).failureHandler(inText);
    router.put(APPLICATIONS).handler(this::deploy).failureHandler(inText);
    router.delete(APPLICATIONS).handler(this::deleteAll).failureHandler(inText);
    router
        .route("/api/serve/applications")
        .method(HttpMethod.GET)
        .method(HttpMethod.PUT)
        .method(HttpMethod.DELETE)
        .handler(ServeRoutes::addSlash);
    router
        .post("/api/v1/applications/:application/deployments/:deployment/scale")
        .handler(this::scale)
        .failureHandler(AdminResponses.refusing(ServeRoutes::refuseScale));
    ours.mount(router);
    traffic.mount(router);
  }

  private void version(RoutingContext context) {
    JsonObject told =
        new JsonObject()
            .put("version", API_VERSION)
            .put("ray_version", RAY_VERSION)
            .put("ray_commit", "berth " + version)
            .put("session_name", session);
    AdminResponses.json(context, 200, told);
  }

  private static void addSlash(RoutingContext context) {
    String query = context.request().query();
    context
        .response()
        .setStatusCode(308) // keeps the method and the body
        .putHeader(HttpHeaders.LOCATION, query == null ? APPLICATIONS : APPLICATIONS + '?' + query)
        .end();
  }

  // --- applications ---

  private void details(RoutingContext context) {
    String asked = context.queryParams().get("api_type");
    String source = asked == null || asked.isEmpty() ? null : asked.toLowerCase(Locale.ROOT);
    if (source != null && !RayDetails.SOURCES.contains(source)) {
      String all = String.join(", ", RayDetails.SOURCES);
      String why = "Invalid 'api_type' value: '%s'. Must be one of: %s".formatted(asked, all);
      AdminResponses.send(context.response(), 400, AdminResponses.TEXT, why);
      return;
    }
    AdminResponses.details(context, commands, serve -> shape.of(serve, source).encode());
  }

  private void deploy(RoutingContext context) {
    String file = context.request().getHeader(ControllerCommands.FILE);
    Future<?> declared =
        AdminResponses.deploy(
            context,
            commands,
            bodies,
            text -> new DeployRequest(null, text, file, true, null, false));
    AdminResponses.done(context, declared, 200, null, "deploy");
  }

  private void deleteAll(RoutingContext context) {
    Future<Void> deleted = AdminResponses.once(commands, context).deleteAll();
    AdminResponses.done(context, deleted, 200, null, "delete all");
  }

  /**
   * Returns a handler that sends refused commands in Ray Serve's form: every problem, one line
   * each.
   */
  public static Handler<RoutingContext> refusingInText() {
    return AdminResponses.refusing(ServeRoutes::refuseInText);
  }

  private static void refuseInText(RoutingContext context, CommandRejectedException refused) {
    int status = refused.kind().status;
    AdminResponses.send(
        context.response(), status, AdminResponses.TEXT, String.valueOf(refused.getMessage()));
  }

  // --- scale ---

  private void scale(RoutingContext context) {
    bodies
        .use(context, (bytes, text) -> scale(context, ScaleBody.of(bytes.length(), text)))
        .onComplete(
            done -> {
              Object number = done.replicas() == null ? done.state() : done.replicas();
              AdminResponses.accepted(context, "scale", "replicas", number);
              JsonObject answer = new JsonObject().put("message", SCALING);
              AdminResponses.json(
                  context, 200, done.pauses() ? answer.put("autoscaling", done.state()) : answer);
            },
            context::fail);
  }

  /** Carries out a scale command. Returns its effective form. */
  private Future<ScaleBody> scale(RoutingContext context, ScaleBody asked) {
    String application = context.pathParam("application");
    String deployment = context.pathParam("deployment");
    Integer replicas = asked.replicas();
    ControllerCommands once = AdminResponses.once(commands, context);
    return asked.pauses() || replicas == null
        ? once.pause(application, deployment, replicas)
            .map(paused -> paused ? asked : new ScaleBody(replicas, false))
        : once.scale(application, deployment, replicas).map(asked);
  }

  private static void refuseScale(RoutingContext context, CommandRejectedException refused) {
    String error =
        refused.kind() == CommandRejectedException.CommandRejectionReason.NOT_FOUND
            ? "Application or Deployment not found"
            : refused.getMessage();
    AdminResponses.json(context, refused.kind().status, new JsonObject().put("error", error));
  }
}
