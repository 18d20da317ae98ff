package dev.berth.ingress;

import dev.berth.ingress.access.AccessRoute;
import dev.berth.ingress.split.ShadowTarget;
import dev.berth.metrics.RouteMeters;
import dev.berth.routing.DeploymentRouter;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A route with everything an event loop needs of it, resolved once.
 *
 * @param meters the loop's own
 * @param access how its requests are logged; null when they are not
 * @param sizes of its answers, as this loop saw them
 * @param sides that its requests are split among, in the order of the policy's
 * @param shadows that get copies of them
 */
record BoundRoute(
    IngressRoute to,
    RouteMeters meters,
    @Nullable AccessRoute access,
    AnswerSizes sizes,
    List<BoundRoute> sides,
    List<ShadowTarget> shadows) {

  /** One by itself, which splits nothing. */
  BoundRoute(IngressRoute to, RouteMeters meters, @Nullable AccessRoute access) {
    this(to, meters, access, new AnswerSizes(), List.of(), List.of());
  }

  /** Null for requests that no deployment answers. */
  @Nullable DeploymentRouter router() {
    return to.router();
  }

  /** What it counts in. */
  Set<Object> counts() {
    Set<Object> all = new HashSet<>(Set.of(meters));
    sides.forEach(side -> all.add(side.meters));
    shadows.forEach(copies -> all.add(copies.meters()));
    return all;
  }

  /** What its requests may take: as its deployment says, or else {@code otherwise}. */
  long timeoutNanos(long otherwise) {
    DeploymentRouter router = to.router();
    long own = router == null ? Long.MAX_VALUE : router.settings().requestTimeoutNanos();
    return own == Long.MAX_VALUE ? otherwise : own;
  }
}
