package dev.berth.routing;

import dev.berth.routing.slots.RoutedReplica;
import org.jspecify.annotations.Nullable;

/**
 * The replicas that certainly did not run one request, and the deployments that it left for a
 * fallback, latest first. Immutable, because the pump reads them on any thread.
 *
 * @param place a replica or a router
 * @param refused whether a replica is among them
 */
record PastAttempts(Object place, boolean refused, @Nullable PastAttempts before) {

  static PastAttempts refusedBy(RoutedReplica replica, @Nullable PastAttempts before) {
    return new PastAttempts(replica, true, before);
  }

  static PastAttempts leaving(DeploymentRouter router, @Nullable PastAttempts before) {
    return new PastAttempts(router, isRefused(before), before);
  }

  /** Returns whether a replica refused to run the request. */
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
