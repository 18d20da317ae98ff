package dev.berth.ingress;

import dev.berth.config.keys.Settings;
import dev.berth.ingress.access.AccessRoute;
import dev.berth.metrics.RouteMeters;
import dev.berth.routing.DeploymentRouter;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A route with everything an event loop needs of it, resolved once.
 *
 * @param meters the loop's own
 * @param router null for requests that no deployment answers
 * @param access how its requests are logged; null when they are not
 * @param sizes of its answers, as this loop saw them
 * @param traffic that its requests are split by; null when all go to its router
 * @param parkNanos how long one waits while the route leads nowhere; 0 when it does not
 */
record BoundRoute(
    RouteMeters meters,
    @Nullable DeploymentRouter router,
    Settings backpressure,
    @Nullable AccessRoute access,
    AnswerSizes sizes,
    @Nullable BoundTraffic traffic,
    long parkNanos) {

  /** What it counts in. */
  Set<Object> counts() {
    Set<Object> all = new HashSet<>(Set.of(meters));
    if (traffic != null) {
      traffic.sides().forEach(side -> all.add(side.meters));
      traffic.shadows().forEach(copies -> all.add(copies.meters()));
    }
    return all;
  }

  /** What its requests may take: as its deployment says, or else {@code otherwise}. */
  long timeoutNanos(long otherwise) {
    long own = router == null ? Long.MAX_VALUE : router.settings().requestTimeoutNanos();
    return own == Long.MAX_VALUE ? otherwise : own;
  }
}
