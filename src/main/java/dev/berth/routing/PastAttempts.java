package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.routing.slots.RoutedReplica;
import org.jspecify.annotations.Nullable;

/**
 * The replicas that did not run or answer one request, and the deployments that it left for a
 * fallback, latest first. Immutable, because the pump reads them on any thread.
 *
 * @param place a replica, or the router of a deployment
 * @param lasting false for a replica that had no thread; once the request has waited, it may return
 * @param refused whether a replica must not receive the request again
 * @param retryAfterSeconds time after which a replica may run the request; -1 when unknown
 * @param unknown failure of the last replica that may have run the request; null if none may
 */
record PastAttempts(
    Object place,
    boolean lasting,
    boolean refused,
    int retryAfterSeconds,
    @Nullable BerthException unknown,
    @Nullable PastAttempts before) {

  /** Adds an attempt, in place of a last one that does not last. */
  static PastAttempts with(Object place, boolean lasting, @Nullable PastAttempts past) {
    PastAttempts before = lastingOf(past);
    boolean refused = before != null && before.refused;
    return new PastAttempts(place, lasting, refused, -1, unknownOf(before), before);
  }

  /**
   * Adds a replica that must not receive the request again.
   *
   * @param unknown its failure if it may have run the request; else null
   */
  static PastAttempts without(
      RoutedReplica by,
      int retryAfterSeconds,
      @Nullable BerthException unknown,
      @Nullable PastAttempts past) {
    PastAttempts before = lastingOf(past);
    BerthException last = unknown == null ? unknownOf(before) : unknown;
    return new PastAttempts(by, true, true, retryAfterSeconds, last, before);
  }

  static @Nullable PastAttempts lastingOf(@Nullable PastAttempts past) {
    return past == null || past.lasting ? past : past.before;
  }

  /** Returns whether a replica must not receive the request again. */
  static boolean isRefused(@Nullable PastAttempts past) {
    return past != null && past.refused;
  }

  /** Returns the failure of the last replica that may have run the request; null if none may. */
  static @Nullable BerthException unknownOf(@Nullable PastAttempts past) {
    return past == null ? null : past.unknown;
  }

  /** Returns the least time that a replica has stated; -1 unless each one has. */
  static int retryAfterSeconds(@Nullable PastAttempts past) {
    int least = -1;
    for (PastAttempts each = past; each != null; each = each.before) {
      if (each.place instanceof RoutedReplica && each.lasting) {
        if (each.retryAfterSeconds < 0) {
          return -1;
        }
        least = least < 0 ? each.retryAfterSeconds : Math.min(least, each.retryAfterSeconds);
      }
    }
    return least;
  }

  /** Returns whether a replica or router is among the past attempts. */
  static boolean contain(@Nullable PastAttempts past, Object place) {
    for (PastAttempts each = past; each != null; each = each.before) {
      if (each.place == place
          || (each.place instanceof RoutedReplica tried // a lost one may join again
              && place instanceof RoutedReplica replica
              && tried.info.address().equals(replica.info.address()))) {
        return true;
      }
    }
    return false;
  }
}
