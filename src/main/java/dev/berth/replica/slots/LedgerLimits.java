package dev.berth.replica.slots;

import java.time.Duration;

/**
 * The bounds of one ledger.
 *
 * @param maxTtlNanos longest time to live of a lease; asked-for times are cut to it; default 300 s
 * @param rememberNanos how long ended leases and tokens are remembered, so that refusals say which,
 *     and routers of which nothing is heard; default 60 s
 * @param rememberedMax how many of these leases and tokens at most, the oldest forgotten first;
 *     default 16 384
 * @param attemptNanos how long attempts are remembered at least, so that late duplicates do not run
 *     and who asks what became of one is told: more than a request may take to be accepted and its
 *     recall to come, twice over; default 10 s
 * @param attemptsMax places for attempts at most, 8 bytes each; with none left the oldest of a
 *     router are forgotten before their time, and granted nothing; default 2^20, which is 100 000
 *     attempts a second
 */
public record LedgerLimits(
    long maxTtlNanos, long rememberNanos, int rememberedMax, long attemptNanos, int attemptsMax) {
  /** The defaults above. */
  public static final LedgerLimits DEFAULTS =
      new LedgerLimits(
          Duration.ofSeconds(300).toNanos(),
          Duration.ofSeconds(60).toNanos(),
          16_384,
          Duration.ofSeconds(10).toNanos(),
          1 << 20);
}
