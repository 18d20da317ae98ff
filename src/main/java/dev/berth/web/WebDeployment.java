package dev.berth.web;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Deployment;
import dev.berth.api.RequestContext;
import io.vertx.core.internal.http.HttpServerRequestInternal;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.Objects;

/** Factory of deployments that serve HTTP by routes. */
public final class WebDeployment {
  private WebDeployment() {}

  /**
   * Creates a deployment that a Router of vertx-web serves, with one replica and default settings:
   *
   * <pre>{@code
   * WebDeployment.router("shop", (router, replica) -> {
   *   router.get("/items/:id").handler(routing -> routing.end(routing.pathParam("id")));
   * });
   * }</pre>
   *
   * <p>Each request holds a slot until the Router has ended its response. Its routes are relative
   * to the application's {@code route_prefix}: a request for {@code /shop/items/1} matches {@code
   * /items/:id} if the prefix is {@code /shop}, as below a sub-router that is mounted there.
   *
   * @param name unique within the application
   * @param builder adds the routes for each replica
   */
  public static Deployment router(String name, RouterBuilder builder) {
    return Deployment.of(name, replica -> RouterHandler.create(replica, builder));
  }

  /**
   * Creates a deployment of typed routes that never block, with one replica and default settings.
   * Functions return values or futures of them.
   *
   * @param name unique within the application
   * @param setup declares the routes of each replica
   */
  public static Deployment routes(String name, RouteSetup setup) {
    Objects.requireNonNull(setup, "setup");
    return Deployment.of(
        name, replica -> (AsyncHandler) RouteDispatcher.create(setup, replica)::serve);
  }

  /**
   * Creates a deployment as {@link #routes} does, whose functions return values and may block.
   *
   * @param name unique within the application
   * @param setup declares the routes of each replica
   */
  public static Deployment blockingRoutes(String name, RouteSetup setup) {
    Objects.requireNonNull(setup, "setup");
    return Deployment.of(
        name, replica -> (BlockingHandler) RouteDispatcher.create(setup, replica)::serveBlocking);
  }

  /**
   * Adds typed routes to a Router of {@link #router}. Functions never block, and templates are
   * relative to the application's {@code route_prefix}. Requests of other paths continue with the
   * next route of the Router. Failures continue with its failure handlers.
   *
   * @param setup declares the routes
   * @throws Exception of the setup
   */
  public static void mount(Router router, WebReplica replica, RouteSetup setup) throws Exception {
    RouteDispatcher routes = RouteDispatcher.create(setup, replica);
    router.route().handler(routing -> requestOf(routing).serve(routes, routing));
  }

  /**
   * Returns the context of a request, for calls of other deployments on behalf of it: {@code
   * WebDeployment.context(routing).handle("prices")}.
   *
   * @throws IllegalArgumentException when no {@link #router} of this class serves the request
   */
  public static RequestContext context(RoutingContext routing) {
    return requestOf(routing).berth;
  }

  private static RouterRequest requestOf(RoutingContext routing) {
    if (((HttpServerRequestInternal) routing.request()).metric() instanceof RouterRequest request) {
      return request;
    }
    throw new IllegalArgumentException(
        "request: of an HTTP server (expected: of WebDeployment.router)");
  }
}
