package dev.berth.admin;

import dev.berth.view.ClusterCommands;
import dev.berth.view.ClusterDetails;
import dev.berth.view.CommandRejectedException;
import io.vertx.core.Future;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Routes of the cluster, on its control node.
 *
 * <pre>
 *   GET  /api/v1/cluster                       200, ClusterDetails
 *   POST /api/v1/cluster/nodes/{node}/drain    202, {"message"}
 *   POST /api/v1/cluster/nodes/{node}/uncordon 200, {"message"}
 *   POST /api/v1/cluster/take?upstream={key}   200, {"message"}
 * </pre>
 */
public record ClusterRoutes(ClusterCommands commands) implements AdminRoutes {
  private static final String CLUSTER = "/api/v1/cluster";
  private static final String NODE = CLUSTER + "/nodes/:node";

  /**
   * Returns the route of the members as last known to a node that is not the control node.
   *
   * @param lastKnown returns null while the control node is reachable, which then responds itself
   */
  public static AdminRoutes withoutControl(Supplier<@Nullable ClusterDetails> lastKnown) {
    return router -> router.get(CLUSTER).handler(context -> tell(context, lastKnown.get()));
  }

  private static void tell(RoutingContext context, @Nullable ClusterDetails known) {
    if (known == null) {
      context.next();
    } else {
      AdminResponses.json(context, 200, ServeJson.of(known));
    }
  }

  /** Mounts the route that works while the controller accepts no commands. */
  public void mountStatus(Router router) {
    router
        .get(CLUSTER)
        .handler(context -> AdminResponses.json(context, commands.details(), ServeJson::of));
  }

  @Override
  public void mount(Router router) {
    mountStatus(router);
    router.post(NODE + "/drain").handler(this::drain);
    router.post(NODE + "/uncordon").handler(this::uncordon);
    router.post(CLUSTER + "/take").handler(this::take);
  }

  private void take(RoutingContext context) {
    String upstream = context.queryParams().get("upstream");
    String told = "The slots of silent owners are granted again.";
    AdminResponses.done(
        context,
        upstream == null
            ? Future.failedFuture(
                CommandRejectedException.invalid("upstream: missing (expected: its url and id)"))
            : commands.take(upstream),
        200,
        told,
        "take upstream");
  }

  private void drain(RoutingContext context) {
    String told = "No new replicas are placed on the node, and its replicas move to other nodes.";
    AdminResponses.done(
        context, commands.drain(context.pathParam("node")), 202, told, "drain node");
  }

  private void uncordon(RoutingContext context) {
    String told = "The node accepts replicas again.";
    AdminResponses.done(
        context, commands.uncordon(context.pathParam("node")), 200, told, "uncordon node");
  }
}
