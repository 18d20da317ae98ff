package dev.berth.ingress;

import dev.berth.config.keys.Settings;
import dev.berth.ingress.access.AccessRoute;
import dev.berth.metrics.RouteMeters;
import dev.berth.routing.DeploymentRouter;
import org.jspecify.annotations.Nullable;

/**
 * A route with everything an event loop needs of it, resolved once.
 *
 * @param meters the loop's own
 * @param router null for requests that no deployment answers
 * @param access how its requests are logged; null when they are not
 * @param sizes of its answers, as this loop saw them
 */
record BoundRoute(
    RouteMeters meters,
    @Nullable DeploymentRouter router,
    Settings backpressure,
    @Nullable AccessRoute access,
    AnswerSizes sizes) {

  /** What its requests may take: as its deployment says, or else {@code otherwise}. */
  long timeoutNanos(long otherwise) {
    long own = router == null ? Long.MAX_VALUE : router.settings().requestTimeoutNanos();
    return own == Long.MAX_VALUE ? otherwise : own;
  }
}
