package dev.berth.web;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Deployment;
import java.util.Objects;

/** Factory of deployments that serve several routes. */
public final class WebDeployment {
  private WebDeployment() {}

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
}
