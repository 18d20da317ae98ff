package dev.berth.routing;

import dev.berth.routing.slots.RoutedReplica;
import org.jspecify.annotations.Nullable;

/**
 * The replicas that did not run one request, and the deployments that it left for a fallback,
 * latest first. Immutable, because the pump reads them on any thread.
 *
 * @param place a replica, or the router of a deployment
 * @param refused whether a replica certainly did not run the request
 */
record PastAttempts(Object place, AttemptEnd end, boolean refused, @Nullable PastAttempts before) {

  /** The end of an attempt. */
  enum AttemptEnd {
    /** The replica certainly did not run the request, and does not receive it again. */
    NOT_RUN,
    /** The replica had no thread; it may receive the request once that has waited. */
    OVERLOADED,
    /** The request left the deployment. */
    LEFT
  }

  static PastAttempts refusedBy(RoutedReplica replica, @Nullable PastAttempts past) {
    return new PastAttempts(replica, AttemptEnd.NOT_RUN, true, lasting(past));
  }

  static PastAttempts overloaded(RoutedReplica replica, @Nullable PastAttempts past) {
    return new PastAttempts(replica, AttemptEnd.OVERLOADED, isRefused(past), lasting(past));
  }

  static PastAttempts leaving(DeploymentRouter router, @Nullable PastAttempts past) {
    return new PastAttempts(router, AttemptEnd.LEFT, isRefused(past), lasting(past));
  }

  /** Returns the attempts without a last one that a replica refused for want of a thread. */
  static @Nullable PastAttempts lasting(@Nullable PastAttempts past) {
    return past != null && past.end == AttemptEnd.OVERLOADED ? past.before : past;
  }

  /** Returns whether a replica certainly did not run the request. */
  static boolean isRefused(@Nullable PastAttempts past) {
    return past != null && past.refused;
  }

  /** Returns whether a replica or router is among the past attempts. */
  static boolean contain(@Nullable PastAttempts past, Object place) {
    for (PastAttempts each = past; each != null; each = each.before) {
      if (each.place == place) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the next deployment for a call: the first open fallback of its own deployment, else of
   * the one that it left last, and so on. None is used twice.
   */
  static @Nullable DeploymentRouter next(RoutedCall call, @Nullable PastAttempts past) {
    DeploymentRouter next = call.router.fallbackFor(call);
    for (PastAttempts each = past; next == null && each != null; each = each.before) {
      next = each.place instanceof DeploymentRouter left ? left.fallbackFor(call) : null;
    }
    return next;
  }
}
