package dev.berth.routing;

import java.time.Duration;

/**
 * What a deployment's router does that can be changed live.
 *
 * @param maxQueued requests that may wait, per instance; -1 is unlimited under the instance's
 *     bounds. Default -1, as Ray Serve
 * @param queueTimeoutNanos longest wait for a slot; default 60 s
 * @param reservationTtlNanos time to live of a selection's lease; default 10 s
 * @param maxReservationTtlNanos what callers may ask for at most; default 300 s
 */
public record RouterSettings(
    int maxQueued, long queueTimeoutNanos, long reservationTtlNanos, long maxReservationTtlNanos) {
  /** The defaults above. */
  public static final RouterSettings DEFAULTS =
      new RouterSettings(
          -1,
          Duration.ofSeconds(60).toNanos(),
          Duration.ofSeconds(10).toNanos(),
          Duration.ofSeconds(300).toNanos());

  public RouterSettings {
    if (maxQueued < -1 || maxQueued == 0) {
      throw new IllegalArgumentException("maxQueued: " + maxQueued + " (expected: -1 or >= 1)");
    }
  }

  public RouterSettings withMaxQueued(int max) {
    return new RouterSettings(max, queueTimeoutNanos, reservationTtlNanos, maxReservationTtlNanos);
  }
}
