package dev.berth.cluster.http;

import dev.berth.admin.AdminRoutes;
import io.vertx.core.http.HttpMethod;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Admits operators' requests to the controller of their own cluster. Mounted before the routes that
 * it guards, on a control node. Any other request is refused with status 503 and the reason.
 *
 * @param authority of the controller on this node, by {@link #name}
 * @param closed reason why the controller refuses operators; null when it accepts them
 */
public record CommandGate(Supplier<String> authority, Supplier<@Nullable String> closed)
    implements AdminRoutes {
  /** Header of a forwarded request: the cluster and generation that the sender follows. */
  static final String AUTHORITY = "Berth-Authority";

  /** Returns the value of {@link #AUTHORITY}. */
  public static String name(String clusterId, long generation) {
    return "cluster id " + clusterId + ", generation " + generation;
  }

  @Override
  public void mount(Router router) {
    router.route().handler(this::admit);
  }

  private void admit(RoutingContext context) {
    String by = context.request().getHeader(ForwardRoutes.BY);
    String from = context.request().getHeader(AUTHORITY);
    String own = authority.get();
    if (by != null && !own.equals(from)) {
      String why = "node %s follows %s (expected: %s, of this control node)";
      throw ForwardRoutes.later(context, "another_cluster", why.formatted(by, from, own));
    }
    String reason = closed.get();
    boolean drains =
        context.request().method() == HttpMethod.POST
            && "/api/v1/drain".equals(context.normalizedPath());
    if (reason != null && !drains) {
      throw ForwardRoutes.later(context, "no_controller", reason);
    }
    context.next();
  }
}
