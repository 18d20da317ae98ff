package dev.berth.ingress;

import dev.berth.ingress.access.AccessRoute;
import dev.berth.ingress.split.ShadowTarget;
import dev.berth.metrics.RouteMeters;
import dev.berth.routing.DeploymentRouter;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
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
  static final long NO_TIMEOUT = -1;

  /** Longer than this is no bound, and keeps sums of times from overflowing. */
  private static final double MAX_TIMEOUT_S = TimeUnit.DAYS.toSeconds(365);

  /** One by itself, which splits nothing. */
  BoundRoute(IngressRoute to, RouteMeters meters, @Nullable AccessRoute access) {
    this(to, meters, access, new AnswerSizes(), List.of(), List.of());
  }

  /** Null for requests that no deployment answers. */
  @Nullable DeploymentRouter router() {
    return to.router();
  }

  /** What it counts in. */
  Stream<Object> counts() {
    return Stream.of(
            Stream.of(meters),
            sides.stream().map(BoundRoute::meters),
            shadows.stream().map(ShadowTarget::meters))
        .flatMap(each -> each);
  }

  /**
   * Returns how long a request may take, in nanoseconds: the {@code request_timeout_s} of its
   * deployment, its application or the instance, unless its client says otherwise.
   *
   * @param header the client's {@code x-request-timeout-seconds}
   * @param otherwise that of the instance
   */
  long timeoutNanos(@Nullable String header, long otherwise) {
    DeploymentRouter router = to.router();
    long own = router == null ? Long.MAX_VALUE : router.settings().requestTimeoutNanos();
    return timeoutOf(header, own == Long.MAX_VALUE ? otherwise : own);
  }

  /**
   * Source: Ray Serve's proxy: a value that is not positive disables the timeout, one that is no
   * number is ignored.
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
