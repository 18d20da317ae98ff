package dev.berth.ingress;

import dev.berth.api.DeploymentId;
import dev.berth.config.Backpressure;
import dev.berth.config.LogEncoding;
import dev.berth.config.keys.Settings;
import dev.berth.dialect.mcp.McpRouteRules;
import dev.berth.ingress.edge.CostRule;
import dev.berth.ingress.edge.EdgeRules;
import dev.berth.routing.DeploymentRouter;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Target of a route.
 *
 * @param application owner of the route
 * @param router of the only or the first deployment; null while the route has no target and parks
 *     its requests
 * @param backpressure response settings for requests that this deployment refuses
 * @param accessLog log encoding; null if its requests are not logged
 * @param traffic split or shadows of several deployments; null if one serves alone
 * @param parkNanos maximum wait of a request without a target; 0 if requests are not parked
 */
public record IngressRoute(
    String application,
    @Nullable DeploymentRouter router,
    Settings backpressure,
    @Nullable LogEncoding accessLog,
    @Nullable RouteTraffic traffic,
    long parkNanos,
    RouteRules rules) {
  private static final RouteRules NO_RULES = new RouteRules(null, null, null, null);

  /**
   * Rules of the requests of a route.
   *
   * @param dialect choice of the deployment by the model in the body; null without one
   * @param mcp rules of requests to servers of MCP; null for others
   * @param edge rules for browsers; null for none
   * @param cost rule for the slots of a request; null for one slot
   */
  record RouteRules(
      @Nullable DialectRoute dialect,
      @Nullable McpRouteRules mcp,
      @Nullable EdgeRules edge,
      @Nullable CostRule cost) {}

  /** Creates a route to one deployment. */
  public IngressRoute(
      String application,
      DeploymentRouter router,
      Settings backpressure,
      @Nullable LogEncoding accessLog) {
    this(application, router, backpressure, accessLog, null, 0, NO_RULES);
  }

  /** Returns whether requests may go to a deployment, the models of a dialect aside. */
  boolean leadsTo(DeploymentId deployment) {
    return (router != null && router.deployment().equals(deployment))
        || (traffic != null && traffic.sides().stream().anyMatch(side -> side.leadsTo(deployment)));
  }

  /** Creates a route without a target. */
  public static IngressRoute nowhere(long parkNanos) {
    return new IngressRoute("", null, Backpressure.DEFAULTS, null, null, parkNanos, NO_RULES);
  }

  /** Returns the name of the deployment; empty without a target, or with a dialect. */
  String deploymentName() {
    return router == null || dialect() != null ? "" : router.deployment().name();
  }

  /** Creates a route to several deployments. */
  public static IngressRoute to(String application, RouteTraffic traffic) {
    IngressRoute first = traffic.sides().get(0);
    return new IngressRoute(
        application, first.router, first.backpressure, first.accessLog, traffic, 0, NO_RULES);
  }

  /** Creates a route to the deployments of the models of an LLM API. */
  public static IngressRoute to(String application, DialectRoute dialect) {
    IngressRoute first = dialect.sides().get(0);
    LogEncoding log =
        dialect.sides().stream()
            .map(IngressRoute::accessLog)
            .filter(Objects::nonNull)
            .findFirst()
            .orElse(null);
    return new IngressRoute(
        application,
        first.router,
        first.backpressure,
        log,
        null,
        0,
        new RouteRules(dialect, null, null, null));
  }

  /** Returns the choice of a model's deployment; null without one. */
  @Nullable DialectRoute dialect() {
    return rules.dialect;
  }

  /** Returns the rules of requests to servers of MCP; null for others. */
  @Nullable McpRouteRules mcp() {
    return rules.mcp;
  }

  /** Returns the rules for browsers; null for none. */
  @Nullable EdgeRules edge() {
    return rules.edge;
  }

  /** Returns the same route for servers of MCP; null for no rules. */
  public IngressRoute withMcp(@Nullable McpRouteRules mcp) {
    return with(new RouteRules(rules.dialect, mcp, rules.edge, rules.cost));
  }

  /** Returns the same route with rules for browsers; null for none. */
  public IngressRoute withEdge(@Nullable EdgeRules edge) {
    return with(new RouteRules(rules.dialect, rules.mcp, edge, rules.cost));
  }

  /** Returns the rule for the slots of a request; null for one slot. */
  @Nullable CostRule cost() {
    return rules.cost;
  }

  /** Returns the same route with a rule for the slots of a request; null for one slot. */
  public IngressRoute withCost(@Nullable CostRule cost) {
    return with(new RouteRules(rules.dialect, rules.mcp, rules.edge, cost));
  }

  private IngressRoute with(RouteRules changed) {
    return new IngressRoute(
        application, router, backpressure, accessLog, traffic, parkNanos, changed);
  }
}
