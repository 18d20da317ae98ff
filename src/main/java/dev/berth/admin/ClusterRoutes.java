package dev.berth.admin;

import dev.berth.protocol.port.ClusterCommands;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;

/**
 * The cluster, on its control node.
 *
 * <pre>
 *   GET  /api/v1/cluster                       200, ClusterDetails
 *   POST /api/v1/cluster/nodes/{node}/drain    202, {"message"}
 *   POST /api/v1/cluster/nodes/{node}/uncordon 200, {"message"}
 * </pre>
 */
public record ClusterRoutes(ClusterCommands commands) implements AdminRoutes {
  private static final String NODE = "/api/v1/cluster/nodes/:node";

  @Override
  public void mount(Router router) {
    router
        .get("/api/v1/cluster")
        .handler(context -> Answers.json(context, commands.details(), ServeJson::of));
    router.post(NODE + "/drain").handler(this::drain);
    router.post(NODE + "/uncordon").handler(this::uncordon);
  }

  private void drain(RoutingContext context) {
    String told = "Nothing more is placed on the node, and its replicas move to others.";
    Answers.done(context, commands.drain(context.pathParam("node")), 202, told, "drain node");
  }

  private void uncordon(RoutingContext context) {
    String told = "The node takes replicas again.";
    Answers.done(context, commands.uncordon(context.pathParam("node")), 200, told, "uncordon node");
  }
}
