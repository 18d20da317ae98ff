package dev.berth.ingress;

import dev.berth.ingress.access.AccessRoute;
import dev.berth.ingress.split.ShadowTarget;
import dev.berth.metrics.RouteMeters;
import dev.berth.metrics.RouteTemplates;
import dev.berth.routing.DeploymentRouter;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Route with all objects that an event loop needs for it, resolved once. Confined to the event
 * loop.
 *
 * @param meters of this loop
 * @param access access log of the route; null if its requests are not logged
 * @param templates meters by route template
 * @param sizes recent response sizes seen by this loop
 * @param prefix of the route, without the root path
 * @param sides targets of a split or of a dialect, in its order
 * @param shadows targets of request copies
 */
record ResolvedRoute(
    String prefix,
    IngressRoute to,
    RouteMeters meters,
    RouteTemplates templates,
    @Nullable AccessRoute access,
    ResponseSizeEstimator sizes,
    List<ResolvedRoute> sides,
    List<ShadowTarget> shadows) {
  static final long NO_TIMEOUT = -1;

  /**
   * Maximum timeout in seconds. A longer one counts as none, so that sums of times cannot overflow.
   */
  private static final double MAX_TIMEOUT_S = TimeUnit.DAYS.toSeconds(365);

  /** Creates a route without a split. */
  ResolvedRoute(
      String prefix,
      IngressRoute to,
      RouteMeters meters,
      RouteTemplates templates,
      @Nullable AccessRoute access) {
    this(prefix, to, meters, templates, access, new ResponseSizeEstimator(), List.of(), List.of());
  }

  /** Returns the router of the deployment, or null if no deployment serves the route. */
  @Nullable DeploymentRouter router() {
    return to.router();
  }

  /** Returns the meters of the route, its sides and its shadows. */
  Stream<Object> counts() {
    return Stream.of(
            Stream.of(meters),
            templates.all().stream(),
            sides.stream().flatMap(ResolvedRoute::counts),
            shadows.stream().map(ShadowTarget::meters))
        .flatMap(each -> each);
  }

  /**
   * Returns the timeout of a request in nanoseconds. A client's header overrides the {@code
   * request_timeout_s} of the deployment, the application or the instance.
   *
   * @param header the client's {@code x-request-timeout-seconds}
   * @param otherwise timeout of the instance
   */
  long timeoutNanos(@Nullable String header, long otherwise) {
    DeploymentRouter router = to.router();
    long own = router == null ? Long.MAX_VALUE : router.settings().requestTimeoutNanos();
    return timeoutOf(header, own == Long.MAX_VALUE ? otherwise : own);
  }

  /**
   * Parses a client's timeout. As in Ray Serve's proxy, a value of 0 or below disables the timeout,
   * and a value that is not a number is ignored.
   */
  static long timeoutOf(@Nullable String header, long defaultNanos) {
    if (header == null) {
      return defaultNanos;
    }
    double seconds;
    try {
      seconds = Double.parseDouble(header.trim());
    } catch (NumberFormatException notANumber) {
      return defaultNanos;
    }
    if (Double.isNaN(seconds)) {
      return defaultNanos;
    }
    return seconds <= 0 || seconds > MAX_TIMEOUT_S
        ? NO_TIMEOUT
        : Math.max(1, (long) (seconds * 1e9));
  }
}
