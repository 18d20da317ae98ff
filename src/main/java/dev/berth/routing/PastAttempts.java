package dev.berth.routing;

import dev.berth.routing.slots.RoutedReplica;
import org.jspecify.annotations.Nullable;

/**
 * The replicas that did not run one request, and the deployments that it left for a fallback,
 * latest first. Immutable, because the pump reads them on any thread.
 *
 * @param place a replica, or the router of a deployment
 * @param lasting false for a replica that had no thread; once the request has waited, it may return
 * @param refused whether a replica certainly did not run the request, and must not receive it again
 */
record PastAttempts(Object place, boolean lasting, boolean refused, @Nullable PastAttempts before) {

  /** Adds an attempt, in place of a last one that does not last. */
  static PastAttempts with(Object place, boolean lasting, @Nullable PastAttempts past) {
    boolean refused = isRefused(past) || lasting && place instanceof RoutedReplica;
    return new PastAttempts(place, lasting, refused, lastingOf(past));
  }

  static @Nullable PastAttempts lastingOf(@Nullable PastAttempts past) {
    return past == null || past.lasting ? past : past.before;
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
}
