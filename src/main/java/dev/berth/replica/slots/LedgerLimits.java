package dev.berth.replica.slots;

import java.time.Duration;

/**
 * The limits of one ledger.
 *
 * @param maxTtlNanos maximum time to live of a lease; longer requests are shortened to it; default
 *     300 s
 * @param rememberNanos retention time of ended leases and tokens, so that refusals state their
 *     reason; also the time without attempts after which a router loop is forgotten; default 60 s
 * @param rememberedMax maximum of these leases and tokens; the oldest is forgotten first; default
 *     16 384
 * @param attemptNanos minimum retention time of attempts; default 10 s. During this time a late
 *     duplicate does not run, and a router can query the state of an attempt. The time exceeds
 *     twice the sum of the accept time of a request and the arrival time of its recall.
 * @param attemptsMax maximum of entries for attempts, 8 bytes each; default 2^20, enough for 10^5
 *     attempts per second. At the limit the ledger forgets the oldest attempts of a router loop
 *     early, and grants nothing to their duplicates.
 */
public record LedgerLimits(
    long maxTtlNanos, long rememberNanos, int rememberedMax, long attemptNanos, int attemptsMax) {
  /** Limits with the defaults of all components. */
  public static final LedgerLimits DEFAULTS =
      new LedgerLimits(
          Duration.ofSeconds(300).toNanos(),
          Duration.ofSeconds(60).toNanos(),
          16_384,
          Duration.ofSeconds(10).toNanos(),
          1 << 20);
}
